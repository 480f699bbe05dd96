"""What each class is released as, column by column: intervals, ancestors, sets, or centroids.

| column | released as |
|---|---|
| numbers, dates | `[lowest, highest]`, or the value itself where a class has only one |
| with a hierarchy | the lowest common ancestor's label |
| other categories | `{a, b, c}` in the order of their values, or the value itself |
| missing and other values mixed | `*`; in a set, `(missing)` is one more member |
| nothing but missing values | missing |

Members of a set that hold `,`, `{`, `}`, quotes or outer blanks are written in double quotes, as
JSON writes strings. `tclose.data.encode.labels` reads all of these back.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict

from tclose.data.binding import BoundTable
from tclose.data.encode.columns import NUMBER, UNIT, Dictionary
from tclose.data.encode.labels import ANYTHING, MISSING
from tclose.utility.loss import ColumnLoss, Quasi, ends

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Released:
    """One column's released value for every class (None: missing)."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    column: str
    kind: str
    values: tuple[str | None, ...]


def merge_equal(columns: Sequence[Released]) -> tuple[tuple[Released, ...], list[int]]:
    """Released values in which classes released alike are one, and the new number of each class.

    >>> merge_equal([Released("q", "set", ("a", "b", "a"))])[1]
    [0, 1, 0]
    """
    rows = list(zip(*(released.values for released in columns), strict=True))
    number = {row: at for at, row in enumerate(dict.fromkeys(rows))}
    merged = tuple(
        Released(released.column, released.kind, tuple(row[at] for row in number))
        for at, released in enumerate(columns)
    )
    return merged, [number[row] for row in rows]


def released_values(
    bound: BoundTable, quasi: Quasi, label: Ints, *, recoding: str = "local"
) -> tuple[Released, ...]:
    """What every class is released as: locally recoded, or by the centroid that is asked for."""
    classes = int(label.max(initial=-1)) + 1
    kept = np.flatnonzero(label >= 0)
    result = []
    for at, column in enumerate(quasi.columns):
        writer = Writer(column, bound.cells.dictionaries[column.name])
        codes, owner, weight = quasi.codes[kept, at], label[kept], bound.cells.rows[kept]
        if recoding == "local":
            values = writer.local(codes, owner, classes)
        else:
            values = writer.central(codes, owner, weight, classes, recoding)
        kind = column.kind if recoding == "local" else recoding
        result.append(Released(column.name, kind, tuple(values)))
    return tuple(result)


class Writer:
    """Writes the labels of one column: `texts` and `last` are those of its codes."""

    def __init__(self, column: ColumnLoss, dictionary: Dictionary) -> None:
        self.column = column
        self.known = column.values - column.has_missing
        self.kind = dictionary.kind
        self.positions = dictionary.places[0]
        self.texts, self.last = _texts(column, dictionary)

    def local(self, codes: Ints, owner: Ints, classes: int) -> list[str | None]:
        """The narrowest label of each class."""
        if self.column.kind == "set":
            return self._sets(codes, owner, classes)
        low, high = ends(codes, owner, classes, self.column.values)
        return [self._span(int(a), int(b)) for a, b in zip(low, high, strict=True)]

    def _span(self, low: int, high: int) -> str | None:
        if low >= self.known:
            return None
        if high >= self.known:
            return ANYTHING
        tree = self.column.hierarchy
        if low == high and self.texts[low] == self.last[low]:
            return self.texts[low]
        if tree is None:
            return f"[{self.texts[low]}, {self.last[high]}]"
        return tree.labels[tree.lca([int(self.column.place[low]), int(self.column.place[high])])]

    def _sets(self, codes: Ints, owner: Ints, classes: int) -> list[str | None]:
        pairs = np.unique(owner * self.column.values + codes)
        members: list[list[int]] = [[] for _ in range(classes)]
        for pair in pairs.tolist():
            members[pair // self.column.values].append(pair % self.column.values)
        return [self._set(inside) for inside in members]

    def _set(self, members: Sequence[int]) -> str | None:
        if len(members) == 1:
            return None if members[0] >= self.known else self.texts[members[0]]
        known = sorted(
            (at for at in members if at < self.known), key=lambda at: self.column.place[at]
        )
        names = [set_member(self.texts[at]) for at in known]
        names += [MISSING] * (len(members) - len(known))
        return "{" + ", ".join(names) + "}"

    def central(
        self, codes: Ints, owner: Ints, weight: Ints, classes: int, how: str
    ) -> list[str | None]:
        """Mean or median of numbers, the median of dates, the commonest value of all else."""
        order = np.lexsort((codes, owner))
        bounds = np.searchsorted(owner[order], np.arange(classes + 1))
        result: list[str | None] = []
        for start, stop in pairwise(bounds):
            some = order[start:stop]
            inside = codes[some] < self.known
            mine, theirs = codes[some][inside], weight[some][inside]
            result.append(self._centre(mine, theirs, how) if len(mine) else None)
        return result

    def _centre(self, codes: Ints, weight: Ints, how: str) -> str:
        on_a_line = self.column.kind == "interval" and how in ("mean", "median")
        if on_a_line and how == "mean" and self.kind == "number":
            pairs = zip(codes.tolist(), weight.tolist(), strict=True)
            total = sum((self.positions[code] * w for code, w in pairs), Fraction(0))
            return self._number(total / int(weight.sum()))
        if on_a_line:
            half = np.searchsorted(np.cumsum(weight), weight.sum() / 2)
            return self.texts[int(codes[half])]
        counts = np.bincount(codes, weight, self.known)
        return self.texts[int(np.argmax(counts))]

    def _number(self, value: Fraction) -> str:
        """A number in the unit of the column's values."""
        unit = None if NUMBER.match(self.texts[0]) else UNIT.match(self.texts[0])
        before, after = (unit[1], unit[3]) if unit else ("", "")
        return f"{before}{float(value):.12g}{after}"


def set_member(text: str) -> str:
    """A value as a set writes it.

    >>> set_member("flu"), set_member("a, b")
    ('flu', '"a, b"')
    """
    plain = text and text == text.strip() and not set(text) & set(',{}"') and text != MISSING
    return text if plain else json.dumps(text, ensure_ascii=False)


def _texts(column: ColumnLoss, dictionary: Dictionary) -> tuple[list[str], list[str]]:
    """The text of each code; where several texts are the same number, its first and its last."""
    if column.kind == "tree" and column.hierarchy is not None:
        leaves = [column.hierarchy.labels[int(leaf)] for leaf in column.place]
        return leaves, leaves
    if column.kind == "set" or dictionary.positions is None:
        texts = [dictionary.labels[int(code)] for code in column.place]
        return texts, texts
    place, rank = dictionary.places
    first, last = [""] * len(place), [""] * len(place)
    for at, text in zip(reversed(rank.tolist()), reversed(dictionary.labels), strict=True):
        first[at] = text
    for at, text in zip(rank.tolist(), dictionary.labels, strict=True):
        last[at] = text
    return first, last
