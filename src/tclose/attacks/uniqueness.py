"""Uniqueness: in the population, by estimates, and in the table, by a few columns already."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from tclose.arrays import Flags, Ints
from tclose.attacks.finding import Finding, Number, rank_worst, report_classes
from tclose.data.binding import BoundTable
from tclose.distance.histogram import group_codes
from tclose.verify.uniqueness import estimate_table

MOST_COLUMNS = 3
"""The largest number of columns that an attacker is assumed to know."""
MOST_LOOKS = 100_000_000
"""The largest number of classes × sets of columns to look at."""


@dataclass(frozen=True)
class SpecialUniques:
    """Per class: the fewest columns by which its only row is unique (0: none), and its score."""

    fewest: Ints
    score: Ints


def find_uniqueness(release: BoundTable) -> Iterator[Finding]:
    """Yields rows that are estimated to be unique in the population, and special uniques."""
    classes = release.classes
    estimated = estimate_table(release)
    if estimated is not None:
        numbers: dict[str, Number] = {
            "sample uniques": estimated.sample_uniques,
            "population": estimated.population_size,
            "estimated uniques of the population": estimated.estimate,
            "by Zayatz": estimated.zayatz,
            "by Pitman": estimated.pitman,
            "by the slide negative binomial": estimated.slide_negative_binomial,
        }
        alone = rank_worst(classes.size == 1, classes.size)
        affected = round(estimated.rows_at_risk)
        sentence = f"{estimated.sentence}."
        yield Finding(
            "population uniqueness", None, sentence, affected, classes.n_rows, alone, numbers
        )
    columns = len(classes.quasi)
    most = min(MOST_COLUMNS, columns - 1)
    sets = sum(1 for size in range(1, most + 1) for _ in combinations(range(columns), size))
    if most >= 1 and sets * classes.count <= MOST_LOOKS:
        found = find_special_uniques(classes.key, classes.class_rows, most)
        by_size = {
            f"rows unique by {size} column{'' if size == 1 else 's'}": int(
                np.count_nonzero(found.fewest == size)
            )
            for size in range(1, most + 1)
        }
        yield report_classes(
            "special uniques", None, classes, found.fewest > 0,
            lambda rows: f"{rows} are already unique in {most} columns or fewer: someone who knows "
            "these columns can find them.",
            f"No row is unique in {most} columns or fewer.",
            {**by_size, "highest score": int(found.score.max(initial=0))},
            harm=found.score,
        )  # fmt: skip


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
    return SpecialUniques(fewest, score)
