"""Natural supersets: boxes over the quasi-identifiers that cut through no class.

A box gives each quasi-identifier what a class could be released as: a range of numbers, a node of
the hierarchy, a set of categories. It is *natural* if every class lies wholly inside or wholly
outside it: it then holds exactly the rows that fit it, and anybody can see which these are. A
superset is described by classes whose smallest common box it is, so that no value has to be named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tclose.arrays import Flags, Ints
from tclose.hierarchy.tree import Hierarchy

NOTHING = 2**62
"""The lowest rank of a class whose only value is a missing one; its highest rank is −1."""


@dataclass(frozen=True)
class ColumnExtent:
    """The released values of every class in one quasi-identifier."""

    low: Ints
    """[classes]: the lowest rank on the number line, or the first leaf of the hierarchy."""
    high: Ints
    missing: Flags
    """[classes]: whether the class may contain a missing value."""
    members: Flags | None = None
    """[classes, values]: for sets of categories, the values in the set; replaces the ranks."""
    tree: Hierarchy | None = None

    def enclose(self, some: Ints) -> tuple[Flags, Flags]:
        """Flags the classes inside the smallest range around some, and the classes outside it."""
        missing = bool(self.missing[some].any())
        low, high = int(self.low[some].min()), int(self.high[some].max())
        if self.tree is not None and low <= high:
            node = int(self.tree.lca_of_ranges(np.array([low]), np.array([high]))[0])
            low = int(self.tree.first_below[node])
            high = low + int(self.tree.size_below[node]) - 1
            missing |= node == self.tree.root  # the root may stand for a missing value too
        inside = ~self.missing | missing
        apart = ~(self.missing & missing)
        if self.members is not None:
            union = self.members[some].any(axis=0)
            inside &= ~self.members[:, ~union].any(axis=1)
            return inside, apart & ~self.members[:, union].any(axis=1)
        shows_none = self.low > self.high
        inside &= shows_none | ((self.low >= low) & (self.high <= high))
        return inside, apart & (shows_none | (self.high < low) | (self.low > high))

    def choose_spans(self, some: Ints) -> list[int]:
        """Chooses a few of some classes, with the same smallest range as all of them."""
        chosen = [int(some[np.argmax(self.missing[some])])]
        if self.members is None:
            return [*chosen, int(some[np.argmin(self.low[some])]),
                    int(some[np.argmax(self.high[some])])]  # fmt: skip
        todo = self.members[some].any(axis=0) & ~self.members[chosen[0]]
        while todo.any():
            best = int(some[np.argmax(self.members[some][:, todo].sum(axis=1))])
            chosen.append(best)
            todo &= ~self.members[best]
        return chosen


@dataclass(frozen=True)
class ClassExtents:
    """The released values of every class in all quasi-identifiers."""

    columns: tuple[ColumnExtent, ...]

    def find_members(self, spans: Ints) -> Ints | None:
        """Lists the classes in the smallest box around some; None if it cuts through a class."""
        each = [column.enclose(spans) for column in self.columns]
        inside = np.all([inside for inside, _ in each], axis=0)
        apart = np.any([apart for _, apart in each], axis=0)
        return np.flatnonzero(inside) if (inside | apart).all() else None

    def group_alike(self) -> Ints:
        """Numbers the classes so that those with equal released values have equal numbers."""
        shown: list[Ints] = []
        for column in self.columns:
            shown.append(column.missing.astype(np.int64))
            if column.members is None:
                shown += [column.low, column.high]
            else:
                shown.append(np.unique(column.members, axis=0, return_inverse=True)[1].ravel())
        return np.unique(np.stack(shown, axis=1), axis=0, return_inverse=True)[1].ravel()

    def choose_spans(self, members: Ints) -> Ints:
        """Chooses a few of some classes, with the same smallest box as all of them."""
        return np.unique([each for column in self.columns for each in column.choose_spans(members)])


@dataclass(frozen=True)
class Supersets:
    """The superset of each class that the class is said to be close to."""

    of_class: Ints
    """[classes]: the number of its superset; −1 where none is named."""
    members: tuple[Ints | None, ...]
    """The classes of each superset; None where its box cuts through a class."""

    def rename(self, number: Ints) -> Supersets:
        """Renumbers the classes: class c becomes number[c]."""
        of_class = np.empty_like(self.of_class)
        of_class[number] = self.of_class
        members = [None if each is None else np.sort(number[each]) for each in self.members]
        return replace(self, of_class=of_class, members=tuple(members))


def list_natural(extents: ClassExtents, groups: Sequence[Ints]) -> list[Ints]:
    """Lists the classes in the smallest box of each group; skips boxes that cut through a class."""
    found = (extents.find_members(group) for group in groups)
    different = {each.tobytes(): each for each in found if each is not None}
    return list(different.values())
