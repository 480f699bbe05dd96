"""What every search returns: a class for each cell, what was tried, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tclose.search.budget import Stopped

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Trial:
    """One thing that was tried: what, what it lost, and after how many seconds."""

    step: str
    loss: float
    seconds: float


@dataclass(frozen=True)
class Cuts:
    """A tree of cuts as plain numbers, so that other rows can be sent down the same way.

    Node 0 is the root. A row goes to `left` where its code in `column` is at most `code`, else to
    `right`; a leaf has column −1 and names its class in `left`.
    """

    column: tuple[int, ...]
    code: tuple[int, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]

    def classify(self, codes: Ints) -> Ints:
        """The class of each row of codes.

        >>> Cuts((0, -1, -1), (3, 0, 0), (1, 0, 1), (2, 0, 0)).classify(np.array([[3], [4]]))
        array([0, 1])
        """
        column, code = np.array(self.column), np.array(self.code)
        left, right = np.array(self.left), np.array(self.right)
        at = np.zeros(len(codes), dtype=np.int64)
        while (inner := column[at] >= 0).any():
            some = at[inner]
            low = codes[inner, column[some]] <= code[some]
            at[inner] = np.where(low, left[some], right[some])
        return left[at].astype(np.int64)


@dataclass(frozen=True)
class Outcome:
    """A partition of the cells that keeps the promise."""

    label: Ints
    """The class of each cell, numbered by first cell; −1 where it is left out."""
    loss: float
    method: str
    stopped: Stopped
    tried: tuple[Trial, ...]
    uses_sensitive: bool
    """Whether cells with equal quasi-identifiers may be in different classes."""
    cuts: Cuts | None = None
    levels: tuple[int, ...] | None = None
    """Full-domain recoding: the level that every value of each column is recoded to (0: raw). A
    class's value is then the hierarchy's node at that level, and `loss` is that of those nodes."""
    bound: float | None = None
    """A loss that no outcome of the kind searched for can be below, where one was proven."""
    measure: str = "iyengar"
    """The loss that was made least, in whose terms `bound` is."""
    value: float | None = None
    """What the outcome loses by that measure, where it is not `loss` itself."""
    why: str = ""
    """Why this method's outcome was chosen, where there was a choice."""

    @property
    def gap(self) -> float | None:
        """How far from the least loss the outcome may be, as a share of its own; 0 if proved."""
        if self.bound is None:
            return None
        value = self.loss if self.value is None else self.value
        return max(0.0, 1.0 - self.bound / value) if value > 0 else 0.0

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.label.max(initial=-1)) + 1

    def restored(self, order: Ints) -> Outcome:
        """The outcome for cells that were searched in another order: cell order[i] came i-th."""
        label = np.empty_like(self.label)
        label[order] = self.label
        named = numbered(label)
        if self.cuts is None:
            return replace(self, label=named)
        rank = np.empty(self.classes, dtype=np.int64)
        rank[label] = named
        cuts = self.cuts
        left = tuple(
            int(rank[at]) if column < 0 else at
            for column, at in zip(cuts.column, cuts.left, strict=True)
        )
        return replace(self, label=named, cuts=replace(cuts, left=left))


def numbered(label: Ints) -> Ints:
    """Classes renumbered by first cell, so that equal partitions are equal bytes.

    >>> numbered(np.array([7, -1, 3, 7])).tolist()
    [0, -1, 1, 0]
    """
    result = np.full(len(label), -1, dtype=np.int64)
    kept = np.flatnonzero(label >= 0)
    named = label[kept]
    if int(named.max(initial=0)) > 4 * len(label):
        named = np.unique(named, return_inverse=True)[1]
    first = np.full(int(named.max(initial=-1)) + 1, len(label), dtype=np.int64)
    first[named[::-1]] = kept[::-1]
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    result[kept] = rank[named]
    return result
