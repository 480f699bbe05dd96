"""Which persons have rows in which cell, so that each is counted once in any union of cells.

Numbers of persons do not add up: somebody in two classes is one person of their union. So every
number is counted from the pairs (cell, person) themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tclose.arrays import Ints
from tclose.distance.histogram import Histogram, group_codes


@dataclass(frozen=True)
class Persons:
    """The pairs of a cell and a person who has a row in it, each once.

    >>> some = Persons(np.array([0, 0, 1]), np.array([4, 7, 7]))
    >>> some.everyone, some.scattered, some.sizes(np.array([0, 0]), 1).tolist()
    (2, True, [2])
    """

    cell: Ints
    who: Ints
    whole: int | None = None
    """The number of persons in the whole table, where these are only some of them."""

    @cached_property
    def everyone(self) -> int:
        """The number of persons in the whole table."""
        return len(np.unique(self.who)) if self.whole is None else self.whole

    @cached_property
    def scattered(self) -> bool:
        """Whether somebody has rows in several cells."""
        return len(np.unique(self.who)) < len(self.who)

    def are_rows(self, rows: Ints) -> bool:
        """Whether each person has one row, where cells have so many rows."""
        each = np.bincount(self.cell, minlength=len(rows))
        return self.whole is None and not self.scattered and np.array_equal(each, rows)

    def of_cells(self, cells: Ints, count: int) -> Persons:
        """Returns the persons of some of `count` cells, which are renumbered in the order given."""
        place = np.full(count, -1, dtype=np.int64)
        place[cells] = np.arange(len(cells))
        kept = np.flatnonzero(place[self.cell] >= 0)
        return Persons(place[self.cell[kept]], self.who[kept], self.whole)

    def sizes(self, owner: Ints, groups: int) -> Ints:
        """Counts the persons of each group of cells; `owner[cell]` is its group, −1 for none."""
        group = owner[self.cell]
        first = _find_first(group, self.who)
        return np.bincount(group[first], minlength=groups).astype(np.int64)

    def histogram(self, owner: Ints, code: Ints, groups: int, values: int) -> Histogram:
        """Counts how many persons of each group have each value in one of its cells."""
        group, value = owner[self.cell], code[self.cell]
        first = _find_first(group, value, self.who)
        once = np.ones(len(first), dtype=np.int64)
        return Histogram.from_cells(group[first], value[first], once, classes=groups, values=values)

    def shares(self, code: Ints, unit: int) -> Ints:
        """Returns [cells]: each person's `unit`, divided among their cells that have the same code.

        In any union of cells nobody counts for more than the unit.
        """
        alike, _ = group_codes([code[self.cell], self.who])
        each = np.maximum(unit // np.bincount(alike), 1)
        return np.bincount(self.cell, each[alike], len(code)).astype(np.int64)


def _find_first(owner: Ints, *others: Ints) -> Ints:
    """Finds where each combination occurs first; entries with group −1 are left out."""
    kept = np.flatnonzero(owner >= 0)
    first: Ints = kept[group_codes([column[kept] for column in (owner, *others)])[1]]
    return first
