"""The classes of a release as boxes over an original's values, and which rows they cover.

Rows are many and classes are many; a grid over the two columns that tell most leaves few classes to
try for each row.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.boxes import Boxes, read_boxes
from tclose.data.encode.cells import Cells
from tclose.data.encode.classes import Classes
from tclose.hierarchy import Hierarchy
from tclose.kernels.boxes.covering import BoxGrid, ClassBoxes

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
