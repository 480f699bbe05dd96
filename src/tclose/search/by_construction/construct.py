"""From quotas to classes: records taken near each other, cells made whole, constraints kept, swaps.

The rows of all cells lie along a space-filling curve, in a bucket for each fragment. A class is
seeded by the first record left, and filled by its quotas with the records that widen its box least.
A cell is released whole, so its rows come together in the class that has most of them; classes that
fail then are merged with neighbours, decided exactly. What closeness is left is spent by swaps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from tclose.arrays import Ints
from tclose.kernels.records.filling import MatchingFilling, QuotaFilling
from tclose.search.by_construction.emd_bounds import EmdConstraints, find_emd_constraints
from tclose.search.by_construction.quotas import Quotas
from tclose.search.curve import rank_along_curve
from tclose.search.local_search.hybrid import LocalSearch
from tclose.search.merging import Merge, merge_failing
from tclose.search.outcome import Budget, Clock, Outcome
from tclose.search.problem import SearchProblem, number_classes

GOLDEN = 0.6180339887498949
LEAST_REACH = 16
"""Neighbours on the curve that are looked at on either side, however little time there is."""
CHUNK = 4_000_000
"""Looks at records between two looks at the clock."""
LOOK = 3e-8
"""Seconds of an ordinary core per look at a record."""
ROW, UNION = 2e-6, 2e-9
"""Seconds per row to lay rows out or bring cells together, and per value and look for a merge."""


def split_into_rows(problem: SearchProblem) -> SearchProblem:
    """The problem with every cell split into single rows, which may go to different classes."""
    order = np.repeat(np.arange(problem.n_cells), problem.rows)
    single = problem.reorder(order)
    ones = np.ones(len(order), dtype=np.int64)
    return replace(single, rows=ones, classes=replace(single.classes, cell_rows=ones))


def construct(
    method: str, build: Callable[[Construction], None], problem: SearchProblem, budget: Budget
) -> Outcome:
    """Builds classes, swaps cells unless nothing is to be polished, and finalizes the best."""
    made = Construction(problem, Clock(budget))
    made.spend(ROW * problem.n_rows)
    build(made)
    if made.polish and made.best.max() > 0:
        made.swap(4000)
    return made.finalize(method)


class Construction(LocalSearch):
    """One search by construction: what all tries share, and the best class labels so far."""

    @cached_property
    def closeness(self) -> EmdConstraints:
        """The closeness that is required."""
        return find_emd_constraints(self.problem, self.table.constraints.arrays)

    @property
    def polish(self) -> bool:
        """Whether more may be done than is published."""
        return self.clock.budget.polish

    @property
    def k(self) -> int:
        """The least size of a class."""
        return max(self.problem.constraints.k, 1)

    @cached_property
    def curve(self) -> Ints:
        """The rank of each cell on the space-filling curve."""
        return rank_along_curve(self.problem.codes, self.problem.rows)

    @cached_property
    def cell(self) -> Ints:
        """The cell of each row, rows in the order of the curve."""
        order = np.argsort(self.curve)
        return np.repeat(order, self.problem.rows[order])

    def choose_reach(self, buckets: int, share: float) -> int:
        """How many neighbours on the curve to look at within a share of the budget."""
        rows = self.problem.n_rows
        if not self.polish:
            return rows
        looks = share * self.clock.budget.expected / LOOK
        if rows * rows / (2 * buckets) <= looks:
            return rows
        return max(LEAST_REACH, int(looks / (2 * rows)))

    def fill_from_fragments(self, step: str, fragment: Ints, quotas: Quotas, reach: int) -> None:
        """Offers classes by quotas, from the fragment of each tuple."""
        self.fill_from_buckets(step, fragment[self.closeness.tuple_of][self.cell], quotas, reach)

    def order_rows(self, rank: Ints) -> Ints:
        """The rows by the rank of their tuples; equal ones by turns along the curve."""
        key = rank[self.closeness.tuple_of][self.cell]
        return np.lexsort([np.arange(len(key)) * GOLDEN % 1.0, key])

    def assign_runs(self, rank: Ints, rows: Ints) -> Ints:
        """The run of each row, where runs of so many rows follow each other along the ranks."""
        return np.repeat(np.arange(len(rows)), rows)[np.argsort(self.order_rows(rank))]

    def fill_from_buckets(self, step: str, bucket: Ints, quotas: Quotas, reach: int) -> None:
        """Offers classes by quotas, from the bucket of each row, rows in the order of the curve."""
        scattered = np.argsort(np.arange(quotas.classes) * GOLDEN % 1.0, kind="stable")
        kind = quotas.kind[scattered]  # every stretch of classes has a fair share of all kinds
        filling = QuotaFilling(self.table, bucket, self.cell, quotas.counts, kind)
        self.fill_all(step, quotas.classes, reach, filling)
        self.offer(step, self.merge_classes(filling.label))

    def fill_all(
        self, step: str, classes: int, reach: int, filling: QuotaFilling | MatchingFilling
    ) -> None:
        """Fills all classes, a few at a time; when time is up, the rest as quickly as can be."""
        done, many = 0, 1
        while done < classes:
            reach = 1 if self.clock.is_over(step) else reach
            looks = filling.fill(done, min(done + many, classes), reach)
            self.spend(LOOK * looks)
            done += many
            many = max(1, min(classes, many * CHUNK // max(looks, 1)))

    def merge_classes(self, label: Ints, merge: Merge = merge_failing) -> Ints:
        """The classes of cells, each in that of most of its rows, merged where they fail."""
        self.spend(ROW * len(label))
        whole = number_classes(join_rows(label, self.cell, self.problem.n_cells))
        return merge(whole, self.curve, self.table, self.is_hurried).label

    def is_hurried(self, looks: int) -> bool:
        """Counts looks at classes that might be merged; says whether the rest has to be brief. Each
        look may add up two histograms and the rows."""
        self.spend(UNION * looks * (self.table.constraints.n_slots + 1))
        return self.clock.is_over("merging")


def join_rows(label: Ints, cell: Ints, cells: int) -> Ints:
    """The class of each cell: the one that most of its rows are in, of several the first.

    >>> join_rows(np.array([0, 1, 1, 2]), np.array([0, 0, 0, 1]), 2).tolist()
    [1, 2]
    """
    classes = int(label.max()) + 1
    pair, count = np.unique(cell * classes + label, return_counts=True)
    order = np.lexsort((pair, -count, pair // classes))
    first = np.searchsorted(pair[order] // classes, np.arange(cells))
    chosen: Ints = pair[order][first] % classes
    return chosen
