"""The classes of a release as boxes over an original's values, and which rows they cover.

Rows are many and classes are many; a grid over the two columns that tell most leaves few classes to
try for each row.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.boxes import Boxes, boxes_of
from tclose.data.encode.cells import Cells
from tclose.data.encode.classes import Classes
from tclose.distance.kernel import compiled
from tclose.hierarchy import Hierarchy

LARGEST_GRID = 30_000_000

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Covering:
    """The classes of a release as boxes over the values of an original table.

    `key[c, q]` is the released value of class c in column q.
    """

    columns: tuple[Boxes, ...]
    key: Ints

    def places(self, cells: Cells) -> Ints:
        """The places of every cell of the original: cells × columns."""
        return np.stack([one.rank[cells.codes[one.name]] for one in self.columns], axis=1)

    def width(self) -> Ints:
        """How many values each class covers in each column."""
        each = [one.width[self.key[:, at]] for at, one in enumerate(self.columns)]
        return np.stack(each, axis=1)

    @cached_property
    def flat(self) -> tuple[Ints, Ints, Ints, Ints]:
        """For kernels: where each column's values begin in `start`; starts, lows, highs of runs."""
        begin = np.cumsum([0, *(len(one.start) for one in self.columns)])
        runs = np.cumsum([0, *(len(one.low) for one in self.columns)])
        start = [one.start + at for one, at in zip(self.columns, runs[:-1], strict=True)]
        return (
            begin[:-1].astype(np.int64),
            np.concatenate(start).astype(np.int64),
            np.concatenate([one.low for one in self.columns]),
            np.concatenate([one.high for one in self.columns]),
        )

    @cached_property
    def grid(self) -> tuple[int, int, int, Ints, Ints]:
        """For kernels: which classes are worth trying for a row, by its places in two columns.

        The columns (the second may be −1: none) whose values tell most, how many places the second
        has, and for each pair of places the classes that cover it there.
        """
        share = [
            float(one.width[self.key[:, at]].mean()) / max(one.values, 1)
            for at, one in enumerate(self.columns)
        ]
        order = np.argsort(share, kind="stable")
        first, second = int(order[0]), -1
        wide = 1
        if len(order) > 1:
            width = self.width()[:, order[:2]].astype(np.float64)
            pairs = math.prod(self.columns[at].values for at in order[:2])
            if width.prod(axis=1).sum() <= LARGEST_GRID and pairs <= LARGEST_GRID:
                second = int(order[1])
                wide = self.columns[second].values
        places = self.columns[first].values * wide
        start = np.zeros(places + 1, dtype=np.int64)
        _fill(self.key, *self.flat, first, second, wide, start, np.zeros(0, dtype=np.int64))
        start = np.cumsum(start)
        near = np.empty(int(start[-1]), dtype=np.int64)
        if len(near):
            _fill(self.key, *self.flat, first, second, wide, start.copy(), near)
        return first, second, wide, start, near

    def rows_covered(self, cells: Cells) -> Ints:
        """How many rows of a table of raw values each class covers."""
        result = np.zeros(len(self.key), dtype=np.int64)
        weight = cells.rows.astype(np.int64)
        _add(self.places(cells), self.key, *self.flat, *self.grid, weight, result)
        return result


@compiled
def holds(
    places: Any, t: Any, key: Any, c: Any, begin: Any, run_start: Any, low: Any, high: Any
) -> Any:
    """Whether class c covers row t: some run of its value in every column does."""
    for q in range(key.shape[1]):
        at = begin[q] + key[c, q]
        hit = False
        for run in range(run_start[at], run_start[at + 1]):
            if low[run] <= places[t, q] < high[run]:
                hit = True
                break
        if not hit:
            return False
    return True


@compiled
def spot(places: Any, t: Any, first: Any, second: Any, wide: Any) -> Any:
    """Where in the grid row t lies."""
    p = places[t, first] * wide
    if second >= 0:
        p += places[t, second]
    return p


@compiled
def _fill(
    key: Any, begin: Any, run_start: Any, low: Any, high: Any, first: Any, second: Any, wide: Any,
    start: Any, near: Any,
) -> None:  # fmt: skip
    """Counts the classes of each pair of places into `start[1:]`, or (with room) lists them."""
    for c in range(len(key)):
        at = begin[first] + key[c, first]
        for run in range(run_start[at], run_start[at + 1]):
            for p in range(low[run], high[run]):
                if second < 0:
                    if len(near) > 0:
                        near[start[p]] = c
                        start[p] += 1
                    else:
                        start[p + 1] += 1
                    continue
                other = begin[second] + key[c, second]
                for part in range(run_start[other], run_start[other + 1]):
                    for q in range(p * wide + low[part], p * wide + high[part]):
                        if len(near) > 0:
                            near[start[q]] = c
                            start[q] += 1
                        else:
                            start[q + 1] += 1


@compiled
def _add(
    places: Any, key: Any, begin: Any, run_start: Any, low: Any, high: Any, first: Any,
    second: Any, wide: Any, start: Any, near: Any, weight: Any, result: Any,
) -> None:  # fmt: skip
    """Adds the weight of every row to all classes that cover it."""
    for t in range(len(places)):
        p = spot(places, t, first, second, wide)
        for i in range(start[p], start[p + 1]):
            if holds(places, t, key, near[i], begin, run_start, low, high):
                result[near[i]] += weight[t]


def covering_of(
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
        made = boxes_of(name, labels, original.dictionaries[name], trees.get(name), central=central)
        columns.append(replace(made, number=None) if name in nominal else made)
    return Covering(tuple(columns), classes.key)
