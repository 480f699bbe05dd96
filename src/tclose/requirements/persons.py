"""Who has a row in which cell: several rows of one person are counted once, wherever they meet.

Numbers of persons do not add up: whoever is in two classes is one person of their union. So every
number is counted from the pairs (cell, person) themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tclose.arrays import Ints
from tclose.distance import Histogram
from tclose.distance.histogram import group_codes


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
    """Where these are not all persons of a table: how many that has."""

    @cached_property
    def everyone(self) -> int:
        """How many persons there are, in the whole table."""
        return len(np.unique(self.who)) if self.whole is None else self.whole

    @cached_property
    def scattered(self) -> bool:
        """Whether somebody has rows in several cells."""
        return len(np.unique(self.who)) < len(self.who)

    def of_cells(self, cells: Ints, count: int) -> Persons:
        """The persons of some of `count` cells, which are numbered anew in the order given."""
        place = np.full(count, -1, dtype=np.int64)
        place[cells] = np.arange(len(cells))
        kept = np.flatnonzero(place[self.cell] >= 0)
        return Persons(place[self.cell[kept]], self.who[kept], self.whole)

    def sizes(self, owner: Ints, groups: int) -> Ints:
        """How many persons each group of cells has; `owner[cell]` is its group, −1: none."""
        group = owner[self.cell]
        first = _find_first(group, self.who)
        return np.bincount(group[first], minlength=groups).astype(np.int64)

    def histogram(self, owner: Ints, code: Ints, groups: int, values: int) -> Histogram:
        """How many persons of each group have each value of its cells."""
        group, value = owner[self.cell], code[self.cell]
        first = _find_first(group, value, self.who)
        once = np.ones(len(first), dtype=np.int64)
        return Histogram.from_cells(group[first], value[first], once, classes=groups, values=values)

    def shares(self, code: Ints, unit: int) -> Ints:
        """[cells]: every person as `unit`, divided among those of their cells that have one code.

        Whatever cells are taken together, nobody counts for more than the unit there.
        """
        alike, _ = group_codes([code[self.cell], self.who])
        each = np.maximum(unit // np.bincount(alike), 1)
        return np.bincount(self.cell, each[alike], len(code)).astype(np.int64)


def _find_first(owner: Ints, *others: Ints) -> Ints:
    """Where each combination occurs first; those whose group is −1 are left out."""
    kept = np.flatnonzero(owner >= 0)
    first: Ints = kept[group_codes([column[kept] for column in (owner, *others)])[1]]
    return first
