"""Released values held against an original table: which of its values and rows they cover.

The original's values of a column stand in an order in which nearly everything that is released is
one run of places: the number line, or the leaves of the hierarchy (a missing value last). A
released value is then a few half-open runs, and any sum over what it covers is a difference of
prefix sums, however many values there are. Rows are many and classes are many; a grid over the two
columns that tell most leaves few classes to try for each row.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.cells import Cells
from tclose.data.encode.classes import Classes
from tclose.data.encode.columns import NUMBER, Dictionary
from tclose.data.encode.labels import (
    ANYTHING,
    MISSING,
    SET,
    Interval,
    cover_test,
    covers_missing,
    read_interval,
    read_position,
    set_members,
    unit_of,
)
from tclose.hierarchy import Hierarchy
from tclose.kernels.classes.boxes import BoxGrid, ClassBoxes

HUGE = 10**300
LARGEST_GRID = 30_000_000
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Run = tuple[int, int]


@dataclass(frozen=True)
class Boxes:
    """One column: what every released value covers of the original's values.

    `rank[code]` is the place of a value of the original's dictionary (a missing one last). The runs
    of released value g are `low[start[g]:start[g + 1]]` to `high[…]`; `ends[g]` are its two ends on
    the number line, within what the original holds (NaN where it has none). `number` has the
    position of each place, `exact` says which released values are single numbers.

    >>> import pyarrow as pa
    >>> ages, _ = Dictionary.encode(pa.chunked_array([[20, 30, 40]]))
    >>> some = read_boxes("age", ["[20, 35]", "*", "30"], ages)
    >>> some.width.tolist(), some.total(np.array([1, 10, 100])).tolist()
    ([2, 3, 1], [11, 111, 10])
    """

    name: str
    values: int
    rank: Ints
    start: Ints
    low: Ints
    high: Ints
    ends: Floats
    exact: NDArray[np.bool_]
    number: Floats | None
    has_missing: bool
    tree: Hierarchy | None = None
    node: Ints | None = None
    """The node of the tree that each released value is (−1: none)."""

    @property
    def known(self) -> int:
        """How many values the original has, a missing one not counted."""
        return self.values - self.has_missing

    @property
    def on_a_line(self) -> bool:
        """Whether the places run along the number line and no hierarchy says otherwise."""
        return self.number is not None and self.tree is None

    @cached_property
    def owner(self) -> Ints:
        """The released value of each run."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    @cached_property
    def width(self) -> Ints:
        """How many of the original's values each released value covers."""
        return self.total(np.ones(self.values, dtype=np.int64)).astype(np.int64)

    def total(self, amount: NDArray[np.number]) -> NDArray[np.number]:
        """The sum over all that each released value covers of an amount per place."""
        prefix = np.concatenate(([0], np.cumsum(amount)))
        result = np.zeros(len(self.start) - 1, dtype=prefix.dtype)
        np.add.at(result, self.owner, prefix[self.high] - prefix[self.low])
        return result

    def covers(self, label: Ints, place: Ints) -> NDArray[np.bool_]:
        """Whether each released value covers the place beside it."""
        if not len(self.low):
            return np.zeros(len(label), dtype=bool)
        begin = self.owner * (self.values + 1) + self.low
        at = np.searchsorted(begin, label * (self.values + 1) + place, "right") - 1
        at = np.maximum(at, 0)
        inside = (place >= self.low[at]) & (place < self.high[at])
        result: NDArray[np.bool_] = (self.owner[at] == label) & inside
        return result


def read_boxes(
    name: str,
    labels: Sequence[str | None],
    dictionary: Dictionary,
    tree: Hierarchy | None = None,
    *,
    central: bool = False,
) -> Boxes:
    """Reads released values; None is a missing one.

    With `central` a number stands for a whole class (its mean, say), so that one which no row of
    the original has is taken to be the nearest that a row has.
    """
    reader = _Reader(dictionary, tree, central=central)
    runs = [reader.runs(label) for label in labels]
    start = np.cumsum([0, *(len(some) for some in runs)])
    flat = np.array([run for some in runs for run in some], dtype=np.int64).reshape(-1, 2)
    ends = np.array([reader.ends(label) for label in labels], dtype=np.float64).reshape(-1, 2)
    exact = np.array([reader.is_number(label) for label in labels], dtype=bool)
    node = None
    if tree is not None:
        node = tree.find("" if label is None else label for label in labels).astype(np.int64)
    return Boxes(
        name=name,
        values=len(dictionary),
        rank=reader.rank,
        start=start.astype(np.int64),
        low=flat[:, 0],
        high=flat[:, 1],
        ends=ends,
        exact=exact,
        number=reader.number,
        has_missing=dictionary.has_missing,
        tree=tree,
        node=node,
    )


def find_covered(label: str, values: Sequence[str], tree: Hierarchy | None) -> NDArray[np.bool_]:
    """Which raw values lie under a released one: by its form, or below it in the hierarchy.

    >>> find_covered("[20, 30]", ["19", "20", "30"], None).tolist()
    [False, True, True]
    """
    below: set[str] = set()
    if tree is not None and tree.contains(label):
        below = {tree.labels[int(leaf)] for leaf in tree.leaves_below(tree.index(label))}
    fits = cover_test(label)
    return np.array([value in below or fits(value) for value in values], dtype=np.bool_)


class _Reader:
    """Reads the released values of one column against the original's dictionary."""

    def __init__(self, dictionary: Dictionary, tree: Hierarchy | None, *, central: bool) -> None:
        self.dictionary, self.tree, self.central = dictionary, tree, central
        self.known, self.values = dictionary.known, len(dictionary)
        order = np.arange(self.known)
        self.leaf: Ints | None = None
        self.knows_all = True
        if tree is not None:
            found = tree.find(self.labels).astype(np.int64)
            self.knows_all = bool((found >= 0).all())
            node = np.where(found < 0, tree.root, found)
            order = np.argsort(node, kind="stable")
            self.leaf = np.sort(node)
        self.rank = np.empty(self.known + 1, dtype=np.int64)
        self.rank[order] = np.arange(self.known)
        self.rank[-1] = self.known
        self.code = {label: at for at, label in enumerate(self.labels)}
        positions = dictionary.positions
        tame = positions is not None and not dictionary.has_infinity
        self.line = [p for p in positions or [] if abs(p) < HUGE] if tame else []
        self.number: Floats | None = None
        if self.known and len(self.line) == self.known:
            self.number = np.array([float(self.line[at]) for at in order])
        else:
            self.line = []
        self.unit = self._unit()

    @property
    def labels(self) -> tuple[str, ...]:
        return self.dictionary.labels

    def _unit(self) -> tuple[str, str] | None:
        """What stands around the numbers of the column, where it has numbers with a unit."""
        if self.dictionary.kind != "number" or NUMBER.match(self.labels[0]):
            return None
        return unit_of(self.labels[0])

    def runs(self, label: str | None) -> list[Run]:
        """What a released value covers, as half-open runs of places."""
        if label is None:
            return [(self.known, self.values)] if self.values > self.known else []
        if label == ANYTHING:
            return [(0, self.values)] if self.values else []
        if self.tree is not None and self.tree.contains(label):
            if self.knows_all or self.tree.index(label) >= self.tree.root:
                return self._below(self.tree.index(label))
            # A tree made from released values alone does not know the people of a population.
            return self._find_runs(label)
        if label in self.code:
            return self._join_runs([self.code[label]])
        if self.line and self.tree is None and (interval := self._interval(label)) is not None:
            return self._between(interval)
        if found := SET.match(label):
            return self._members(set_members(found[1]), with_missing=covers_missing(label))
        if "*" in label or read_interval(label) is not None:
            return self._find_runs(label)
        return self._point(label)

    def _find_runs(self, label: str) -> list[Run]:
        return self._join_runs(np.flatnonzero(find_covered(label, self.labels, self.tree)).tolist())

    def _members(self, names: Sequence[str], *, with_missing: bool) -> list[Run]:
        names = [name for name in names if not (with_missing and name == MISSING)]
        codes = [self.code[name] for name in names if name in self.code]
        gap = with_missing and self.values > self.known
        return self._join_runs([*codes, self.known] if gap else codes)

    def _point(self, label: str) -> list[Run]:
        """A number that is written otherwise in the original, or stands for a class."""
        at = self._number(label)
        if at is None:
            return []
        if self.tree is None:
            found = self._between(Interval(at, at, True, True))
            if found or not self.central:
                return found
        if not self.central:
            return []
        return self._join_runs([min(range(self.known), key=lambda code: abs(self.line[code] - at))])

    def _below(self, node: int) -> list[Run]:
        """The values under a node of the tree: its leaves are a run, and so are their places."""
        assert self.tree is not None and self.leaf is not None
        if node >= self.tree.root:
            return [(0, self.known)] if self.known else []
        below = self.tree.leaves_below(node)
        low, high = np.searchsorted(self.leaf, [below[0], below[-1] + 1])
        return [(int(low), int(high))] if low < high else []

    def _between(self, interval: Interval) -> list[Run]:
        low, high = 0, self.known
        if interval.low is not None:
            cut = bisect_left if interval.with_low else bisect_right
            low = cut(self.line, interval.low)
        if interval.high is not None:
            cut = bisect_right if interval.with_high else bisect_left
            high = cut(self.line, interval.high)
        return [(low, high)] if low < high else []

    def _interval(self, label: str) -> Interval | None:
        """The interval that a label writes in the unit of the column, if it writes one."""
        found = read_interval(label)
        return found if found is not None and found.unit == self.unit else None

    def _number(self, label: str) -> Fraction | None:
        if not self.line or (self.dictionary.kind == "date" and NUMBER.match(label)):
            return None  # the year 2024 is not a day
        return read_position(label, self.unit)

    def _join_runs(self, codes: Sequence[int]) -> list[Run]:
        """Codes as runs of places."""
        places = np.unique(self.rank[np.array(codes, dtype=np.int64)])
        breaks = np.flatnonzero(np.diff(places) > 1) + 1
        edges = [0, *breaks.tolist(), len(places)]
        return [(int(places[a]), int(places[b - 1]) + 1) for a, b in pairwise(edges) if a < b]

    def is_number(self, label: str | None) -> bool:
        """Whether a released value is one number (or date)."""
        return (label is not None and label in self.code) or self._single(label) is not None

    def _single(self, label: str | None) -> Fraction | None:
        if label is None or label == ANYTHING or self._interval(label) is not None:
            return None
        if self.tree is not None and self.tree.contains(label):
            return None  # a group, even if it looks like a number
        return self._number(label)

    def ends(self, label: str | None) -> tuple[float, float]:
        """The ends of a released value on the number line, not beyond the original's own."""
        if not self.line or label is None:
            return np.nan, np.nan
        assert self.number is not None
        least, most = float(self.number.min()), float(self.number.max())
        if label in self.code:
            at = float(self.line[self.code[label]])
            return at, at
        if (single := self._single(label)) is not None:
            at = float(single)
            return at, at
        if (interval := self._interval(label)) is not None:
            low = least if interval.low is None else float(interval.low)
            high = most if interval.high is None else float(interval.high)
            return min(max(low, least), most), max(min(high, most), least)
        inside = [self.number[a:b] for a, b in self.runs(label)]
        covered_numbers = np.concatenate(inside) if inside else np.empty(0)
        if not len(covered_numbers):
            return np.nan, np.nan
        return float(covered_numbers.min()), float(covered_numbers.max())


@dataclass(frozen=True)
class Covering:
    """The classes of a release as boxes over the values of an original table.

    `key[c, q]` is the released value of class c in column q.
    """

    columns: tuple[Boxes, ...]
    key: Ints

    def places(self, cells: Cells) -> Ints:
        """The places of every cell of the original: cells × columns."""
        return np.stack([column.rank[cells.codes[column.name]] for column in self.columns], axis=1)

    def width(self) -> Ints:
        """How many values each class covers in each column."""
        each = [column.width[self.key[:, at]] for at, column in enumerate(self.columns)]
        return np.stack(each, axis=1)

    @cached_property
    def boxes(self) -> ClassBoxes:
        """The classes and the runs of places that their values cover, for the kernels."""
        first = np.cumsum([0, *(len(column.start) for column in self.columns)])
        runs = np.cumsum([0, *(len(column.low) for column in self.columns)])
        start = [column.start + at for column, at in zip(self.columns, runs[:-1], strict=True)]
        return ClassBoxes(
            self.key,
            first[:-1],
            np.concatenate(start),
            np.concatenate([column.low for column in self.columns]),
            np.concatenate([column.high for column in self.columns]),
        )

    @cached_property
    def grid(self) -> BoxGrid:
        """Which classes are worth trying for a row, by its places in the two columns (or the one)
        whose values tell most."""
        share = [
            float(column.width[self.key[:, at]].mean()) / max(column.values, 1)
            for at, column in enumerate(self.columns)
        ]
        order = np.argsort(share, kind="stable")
        first, second = int(order[0]), -1
        n_second = 1
        if len(order) > 1:
            width = self.width()[:, order[:2]].astype(np.float64)
            pairs = math.prod(self.columns[at].values for at in order[:2])
            if width.prod(axis=1).sum() <= LARGEST_GRID and pairs <= LARGEST_GRID:
                second = int(order[1])
                n_second = self.columns[second].values
        return BoxGrid(self.boxes, first, second, self.columns[first].values, n_second)

    def count_rows_covered(self, cells: Cells) -> Ints:
        """How many rows of a table of raw values each class covers."""
        return np.asarray(self.grid.add_rows(self.places(cells), cells.rows.astype(np.int64)))


def cover_classes(
    classes: Classes,
    original: Cells,
    trees: Mapping[str, Hierarchy],
    *,
    central: bool = False,
    nominal: Collection[str] = (),
) -> Covering:
    """The classes of a release over the values of an original that has the same columns.

    `nominal` columns are names, even where they are written in digits.
    """
    columns = []
    for name in classes.quasi:
        labels: list[str | None] = [*classes.dictionaries[name].labels, None]
        made = read_boxes(
            name, labels, original.dictionaries[name], trees.get(name), central=central
        )
        columns.append(replace(made, number=None) if name in nominal else made)
    return Covering(tuple(columns), classes.key)
