"""A release beside the table that it was made from: all that a measure of utility looks at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.data.alignment import Alignment, align
from tclose.data.binding import BoundTable
from tclose.distance.histogram import Counts

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Pair(Alignment):
    """An original and its release, both bound to one policy.

    `linked` says which cell of the original each released row comes from, where that is known: the
    measures are then exact. Elsewhere a released value is taken to stand for the original's values
    that it covers, in the shares that they have in the whole table.
    """

    @property
    def rows(self) -> int:
        """How many rows the original has."""
        return self.original.cells.n_rows

    @property
    def left_out(self) -> int:
        """How many of them the release lacks."""
        return self.rows - self.release.cells.n_rows

    @property
    def size(self) -> Counts:
        """The rows of each class."""
        return self.release.classes.class_rows

    @cached_property
    def counts(self) -> tuple[Ints, ...]:
        """For each column, how many rows of the original have the value of each place."""
        result = []
        for boxes in self.covering.columns:
            rows = np.zeros(boxes.values + 1, dtype=np.int64)
            codes = boxes.rank[self.original.cells.codes[boxes.name]]
            np.add.at(rows, codes, self.original.cells.rows)
            result.append(rows[: boxes.values])
        return tuple(result)

    @cached_property
    def label_rows(self) -> tuple[Ints, ...]:
        """For each column, how many released rows have each released value."""
        result = []
        for at, boxes in enumerate(self.covering.columns):
            rows = np.zeros(len(boxes.start) - 1, dtype=np.int64)
            np.add.at(rows, self.covering.key[:, at], self.size)
            result.append(rows)
        return tuple(result)

    @cached_property
    def pairs(self) -> tuple[Ints, Ints, Ints]:
        """Where linked: the original's cell, the class and the number of rows of each pair."""
        assert self.linked is not None
        return (
            self.linked.first,
            self.release.classes.cell_class[self.linked.second],
            self.linked.rows,
        )

    @cached_property
    def unlinked(self) -> Ints:
        """How many rows of each cell of the original were left out (where linked)."""
        assert self.linked is not None
        rest = self.original.cells.rows.copy()
        np.subtract.at(rest, self.linked.first, self.linked.rows)
        return rest


def pair_of(original: BoundTable, release: BoundTable, *, key: str | None = None) -> Pair:
    """Holds a release against its original (see `tclose.data.encode.alignment.beside`)."""
    found = align(original, release, key)
    return Pair(found.original, found.release, found.covering, found.linked)
