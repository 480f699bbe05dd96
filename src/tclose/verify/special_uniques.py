"""Special uniques: rows that are unique in the table by a few columns already (SUDA2)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb, prod

import numpy as np

from tclose.arrays import Flags, Ints
from tclose.data.binding import BoundTable
from tclose.distance.histogram import group_codes

MOST_COLUMNS = 3
"""The largest number of columns that an attacker is assumed to know."""


@dataclass(frozen=True)
class SpecialUniqueCounts:
    """How many rows are unique in 1, 2, … columns but in none fewer, and the highest score."""

    rows: tuple[int, ...]
    highest_score: int

    @property
    def columns(self) -> int:
        """The largest number of columns that was looked at."""
        return len(self.rows)

    @property
    def sentence(self) -> str:
        """The counts as a sentence."""
        return (
            f"{sum(self.rows):,} rows are unique in {self.columns} columns or fewer "
            f"(special uniques, highest SUDA2 score {self.highest_score:,})"
        )


@dataclass(frozen=True)
class SpecialUniques:
    """Per class: the fewest columns by which its only row is unique (0: none), and its score."""

    fewest: Ints
    score: Ints
    most: int
    """The largest number of columns that was looked at."""

    def count(self) -> SpecialUniqueCounts:
        """The numbers without the classes."""
        rows = np.bincount(self.fewest, minlength=self.most + 1)[1:]
        return SpecialUniqueCounts(tuple(rows.tolist()), int(self.score.max(initial=0)))


def find_table_uniques(bound: BoundTable, most_looks: int) -> SpecialUniques | None:
    """The special uniques of a table; None for one column, or where they are too many to seek."""
    classes, columns = bound.classes, len(bound.classes.quasi)
    most = min(MOST_COLUMNS, columns - 1)
    looks = classes.count * sum(comb(columns, size) for size in range(1, most + 1))
    if most < 1 or looks > most_looks:
        return None
    return find_special_uniques(classes.key, classes.class_rows, most)


def find_special_uniques(key: Ints, rows: Ints, most: int) -> SpecialUniques:
    """Finds the minimal sample uniques of every row (SUDA2: Manning, Haglin, Keane 2008).

    A set of columns is minimal if it makes a row unique and no part of it does. Its score is
    Π_{i=s}^{M} (A - i) for s of A columns, with M the largest size looked at (Elliot 2000): the
    fewer columns, the more sets contain it. A row's score is the sum over its sets.

    >>> found = find_special_uniques(np.array([[0, 0, 0], [0, 1, 1], [1, 1, 0]]), np.ones(3), 2)
    >>> found.fewest.tolist(), found.score.tolist()
    ([1, 1, 1], [3, 3, 3])
    """
    columns = key.shape[1]
    fewest, score = np.zeros((2, len(key)), dtype=np.int64)
    single = np.asarray(rows) == 1
    covered: dict[frozenset[int], Flags] = {}
    for size in range(1, most + 1):
        worth = prod(columns - i for i in range(size, most + 1))
        for some in combinations(range(columns), size):
            group, _ = group_codes([key[:, at] for at in some])
            within = np.bincount(group, rows)[group]
            unique = single & (within == 1)
            parts = [covered[frozenset(some) - {at}] for at in some] if size > 1 else []
            minimal = unique & ~np.any(parts, axis=0) if parts else unique
            covered[frozenset(some)] = unique
            fewest[minimal & (fewest == 0)] = size
            score[minimal] += worth
    return SpecialUniques(fewest, score, most)
