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

from tclose.arrays import Flags, Floats, Ints
from tclose.data.encode.cells import Cells
from tclose.data.encode.columns import NUMBER, Dictionary
from tclose.data.encode.labels import (
    ANYTHING,
    Interval,
    cover_test,
    is_label,
    read_interval,
    read_position,
    read_set,
    unit_of,
)
from tclose.distance.histogram import Counts, add_by_group
from tclose.hierarchy.tree import Hierarchy
from tclose.kernels.classes.boxes import BoxGrid, ClassBoxes
from tclose.requirements.classes import Classes

LARGEST_GRID = 30_000_000
Run = tuple[int, int]


@dataclass(frozen=True)
class Boxes:
    """One column: the original values that every released value covers.

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
    exact: Flags
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

    def total(self, amount: Counts) -> Counts:
        """The sum over all that each released value covers of an amount per place."""
        prefix = np.concatenate(([0], np.cumsum(amount)))
        return add_by_group(prefix[self.high] - prefix[self.low], self.owner, len(self.start) - 1)

    def covers(self, label: Ints, place: Ints) -> Flags:
        """Whether each released value covers the paired place."""
        if not len(self.low):
            return np.zeros(len(label), dtype=bool)
        begin = self.owner * (self.values + 1) + self.low
        at = np.searchsorted(begin, label * (self.values + 1) + place, "right") - 1
        at = np.maximum(at, 0)
        inside = (place >= self.low[at]) & (place < self.high[at])
        result: Flags = (self.owner[at] == label) & inside
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
    runs, ends, exact = zip(*(reader.read(label) for label in labels), strict=True)
    flat = np.array([run for some in runs for run in some], dtype=np.int64).reshape(-1, 2)
    node = None
    if tree is not None:
        node = tree.find("" if label is None else label for label in labels).astype(np.int64)
    return Boxes(
        name=name,
        values=len(dictionary),
        rank=reader.rank,
        start=np.cumsum([0, *(len(some) for some in runs)], dtype=np.int64),
        low=flat[:, 0],
        high=flat[:, 1],
        ends=np.array(ends, dtype=np.float64),
        exact=np.array(exact, dtype=bool),
        number=reader.number,
        has_missing=dictionary.has_missing,
        tree=tree,
        node=node,
    )


def find_covered(label: str, values: Sequence[str], tree: Hierarchy | None) -> Flags:
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
        self.tree, self.central = tree, central
        self.labels, self.is_date = dictionary.labels, dictionary.kind == "date"
        self.known, self.values = dictionary.known, len(dictionary)
        self.node = np.arange(self.known)
        """The node of each place in the tree; one that the tree does not know is at its root."""
        self.knows_all = True
        order = self.node
        if tree is not None:
            found = tree.find(self.labels).astype(np.int64)
            self.knows_all = bool((found >= 0).all())
            node = np.where(found < 0, tree.root, found)
            order = np.argsort(node, kind="stable")
            self.node = node[order]
        self.rank = np.empty(self.known + 1, dtype=np.int64)
        self.rank[order] = np.arange(self.known)
        self.rank[-1] = self.known
        self.code = {label: at for at, label in enumerate(self.labels)}
        self.line = dictionary.line or []
        self.number = np.array([float(self.line[at]) for at in order]) if self.line else None
        self.unit = None
        if self.line and dictionary.kind == "number" and not NUMBER.match(self.labels[0]):
            self.unit = unit_of(self.labels[0])

    def read(self, label: str | None) -> tuple[list[Run], tuple[float, float], bool]:
        """What a released value covers, as half-open runs of places; its ends on the number line,
        clipped to the original's range; and whether it is a single number or date.
        """
        runs, single = self._runs(label), self._single(label)
        is_number = single is not None or label in self.code
        if self.number is None or label is None:
            return runs, (np.nan, np.nan), is_number
        if single is not None:
            return runs, (float(single), float(single)), is_number
        least, most = float(self.number.min()), float(self.number.max())
        if (interval := self._interval(label)) is not None:
            low = least if interval.low is None else float(interval.low)
            high = most if interval.high is None else float(interval.high)
            return runs, (min(max(low, least), most), max(min(high, most), least)), is_number
        inside = np.concatenate([np.empty(0), *(self.number[a:b] for a, b in runs)])
        ends = (float(inside.min()), float(inside.max())) if len(inside) else (np.nan, np.nan)
        return runs, ends, is_number

    def _runs(self, label: str | None) -> list[Run]:
        if label is None:
            return _run(self.known, self.values)
        if label == ANYTHING:
            return _run(0, self.values)
        if self.tree is not None and self.tree.contains(label):
            if self.knows_all or self.tree.index(label) >= self.tree.root:
                return self._below(self.tree.index(label))
            # A tree made from released values alone does not know the people of a population.
            return self._find_runs(label)
        if label in self.code:
            return self._join_runs([self.code[label]])
        if self.line and self.tree is None and (interval := self._interval(label)) is not None:
            return self._between(interval)
        if found := read_set(label):
            codes = [self.code[name] for name in found.members if name in self.code]
            for name in found.members:  # of a table that was generalized before
                if name not in self.code and is_label(name):
                    codes += np.flatnonzero(find_covered(name, self.labels, self.tree)).tolist()
            gap = range(self.known, self.values if found.with_missing else 0)
            return self._join_runs([*codes, *gap])
        if "*" in label or read_interval(label) is not None:
            return self._find_runs(label)
        return self._point(label)

    def _find_runs(self, label: str) -> list[Run]:
        return self._join_runs(np.flatnonzero(find_covered(label, self.labels, self.tree)).tolist())

    def _point(self, label: str) -> list[Run]:
        """The place of a number written differently in the original, or of a central value."""
        at = self._number(label)
        if at is None:
            return []
        found = [] if self.tree is not None else self._between(Interval(at, at, True, True))
        if found or not self.central:
            return found
        return self._join_runs([min(range(self.known), key=lambda code: abs(self.line[code] - at))])

    def _below(self, node: int) -> list[Run]:
        """The values under a node of the tree: its leaves are a run, and so are their places."""
        assert self.tree is not None
        if node >= self.tree.root:
            return _run(0, self.known)
        below = self.tree.leaves_below(node)
        low, high = np.searchsorted(self.node, [below[0], below[-1] + 1])
        return _run(int(low), int(high))

    def _between(self, interval: Interval) -> list[Run]:
        low, high = 0, self.known
        if interval.low is not None:
            low = (bisect_left if interval.with_low else bisect_right)(self.line, interval.low)
        if interval.high is not None:
            high = (bisect_right if interval.with_high else bisect_left)(self.line, interval.high)
        return _run(low, high)

    def _interval(self, label: str) -> Interval | None:
        """The interval that a label writes in the unit of the column, if it writes one."""
        found = read_interval(label)
        return found if found is not None and found.unit == self.unit else None

    def _number(self, label: str) -> Fraction | None:
        if not self.line or (self.is_date and NUMBER.match(label)):
            return None  # the year 2024 is not a day
        return read_position(label, self.unit)

    def _single(self, label: str | None) -> Fraction | None:
        """The one number that a released value is."""
        if label in self.code:
            return self.line[self.code[label]] if self.line else None
        if label is None or label == ANYTHING or self._interval(label) is not None:
            return None
        if self.tree is not None and self.tree.contains(label):
            return None  # a group, even if it looks like a number
        return self._number(label)

    def _join_runs(self, codes: Sequence[int]) -> list[Run]:
        """Codes as runs of places."""
        places = np.unique(self.rank[np.array(codes, dtype=np.int64)])
        breaks = np.flatnonzero(np.diff(places) > 1) + 1
        edges = [0, *breaks.tolist(), len(places)]
        return [(int(places[a]), int(places[b - 1]) + 1) for a, b in pairwise(edges) if a < b]


def _run(low: int, high: int) -> list[Run]:
    return [(low, high)] if low < high else []


@dataclass(frozen=True)
class Covering:
    """The classes of a release as boxes over the values of an original table."""

    columns: tuple[Boxes, ...]
    key: Ints
    """[classes, columns]: the released value."""

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
        """An index from a row's places in one or two columns to the classes that may cover it."""
        values = np.array([column.values for column in self.columns])
        order = np.argsort(self.width().mean(axis=0) / np.maximum(values, 1), kind="stable")
        first, second, n_second = int(order[0]), -1, 1
        if len(order) > 1:
            pairs = self.width()[:, order[:2]].astype(np.float64).prod(axis=1).sum()
            if max(pairs, math.prod(values[order[:2]].tolist())) <= LARGEST_GRID:
                second, n_second = int(order[1]), int(values[order[1]])
        return BoxGrid(self.boxes, first, second, int(values[first]), n_second)


def cover_classes(
    classes: Classes,
    original: Cells,
    trees: Mapping[str, Hierarchy],
    *,
    central: bool = False,
    nominal: Collection[str] = (),
) -> Covering:
    """The classes of a release over an original's values; `nominal` columns are never numbers."""
    columns = []
    for name in classes.quasi:
        labels: list[str | None] = [*classes.dictionaries[name].labels, None]
        made = read_boxes(
            name, labels, original.dictionaries[name], trees.get(name), central=central
        )
        columns.append(replace(made, number=None) if name in nominal else made)
    return Covering(tuple(columns), classes.key)
