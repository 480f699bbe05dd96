"""Groups of rows whose quasi-identifiers do not matter: as many as the policy allows.

A form that publishes exact quasi-identifiers loses nothing by mixing them, so its groups need only
be close in their sensitive values, and the smaller they are the more they tell.

- **Dealing.** Rows lie along an order of sensitive values and go to the groups in turn. By the
  dealing lemma (`quotas`) every run is shared out to within one row, so along one ordered attribute
  EMD < 1/r in groups of r rows, and a value of at most a share 1/l of the rows is at most once in
  groups of l (Xiao and Tao's condition for Anatomy).
- **Halving.** Pair the rows of a group along one order, and again along another. The two matchings
  together are paths and even cycles, so they can be coloured with two colours such that every pair
  is parted: both halves then have every prefix of both orders to within half a row. Hence two
  attributes are as good as one, EMD < 2/r in both.

Both only propose. A group is kept if the constraints accept it exactly; failing ones are merged
with others, and the requirements themselves have the last word, so no row is ever left out. Ties
along an order are broken by chance: who of those with one value is in which group says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.errors import UsageError
from tclose.kernels.base.random import RandomStream
from tclose.kernels.records.halving import GroupHalving
from tclose.search.budget import Budget, Clock, Stopped
from tclose.search.by_construction.construct import split_into_rows
from tclose.search.compile.coded_table import make_coded_table, select_cells
from tclose.search.exact_judge import Judge
from tclose.search.merging import merge_failing
from tclose.search.outcome import Trial, numbered
from tclose.search.problem import Problem

Ints = NDArray[np.int64]

LARGER = 1.08
"""Sizes of groups are tried in steps of this factor."""
FINISHED = 12
"""How many of the most promising sizes are carried through."""
STARTS = (1, 3, 5, 7, 9, 11, 13, 15)
"""Halving also begins with so few groups: their sizes end between those of powers of two."""
PARTNERS = 8
"""Groups that failing ones may be merged with, for each of them."""
ROOM = 20_000_000
"""Entries of the histograms that merging keeps at once."""
LOOK = 3e-8
"""Seconds of an ordinary core for each row looked at."""


@dataclass(frozen=True)
class Groups:
    """A group for every row; rows stand in the order of their cells."""

    label: Ints
    """Numbered from 0 by first row."""
    method: str
    stopped: Stopped
    tried: tuple[Trial, ...]
    """What was tried; in place of a loss, the mean size of its groups as a share of all rows."""

    @property
    def count(self) -> int:
        """How many groups there are."""
        return int(self.label.max(initial=-1)) + 1


def deal_groups(problem: Problem, budget: Budget) -> Groups:
    """Small groups of rows that keep the requirements, whatever their quasi-identifiers.

    Equal problems and seeds give equal groups. Raises UsageError where even one group of all rows
    fails.
    """
    rows = split_into_rows(problem)
    clock = Clock(budget)
    mixed = np.random.default_rng(budget.seed).permutation(rows.cells)
    dealing = _Dealing(rows.reordered(mixed), clock)
    label = _finalize(dealing.problem, dealing.find_best())
    clock.tell("done", now=True)
    in_order = np.empty_like(label)
    in_order[mixed] = label
    return Groups(numbered(in_order), "dealing", clock.stopped, tuple(dealing.tried))


class _Dealing:
    """One search: every row is a cell of its own, in random order."""

    def __init__(self, problem: Problem, clock: Clock) -> None:
        self.problem = problem
        self.clock = clock
        self.tried: list[Trial] = []
        no_codes = np.zeros((problem.cells, 0), dtype=np.int64)
        self.table = make_coded_table((), no_codes, problem.weight, problem.constraints)
        self.along = np.argsort(self.table.arrays.order_rank, axis=1, kind="stable")
        self.halving = GroupHalving(self.table, RandomStream(clock.budget.seed, 7000))
        self.slots = self.table.constraints.n_slots

    def find_best(self) -> Ints:
        """The labels with the most groups of all that were tried."""
        found = np.zeros(self.problem.cells, dtype=np.int64)
        for at, (order, groups) in enumerate(self._promising()):
            if at > 0 and self.clock.over("dealing"):
                break
            label = self.halve(self.merge_failing(self.deal(order, groups)))
            self._note(f"{groups} groups dealt", label)
            if label.max() > found.max():
                found = label
        return found

    def _promising(self) -> list[tuple[int, int]]:
        """Orders and numbers of groups, those first of which most groups keep the constraints."""
        rows, k = self.problem.cells, max(self.problem.constraints.k, 1)
        scores: list[tuple[int, int, int]] = []
        for order in range(len(self.along)):
            size, best = float(k), 0
            while True:
                groups = max(int(rows / size), 1)
                fails = self.find_failing(self.deal(order, groups))
                good = groups - int(fails.sum())
                scores.append((good, order, groups))
                best = max(best, good)
                if groups == 1 or groups <= best or self.clock.over("sizing"):
                    break
                size = max(size * LARGER, size + 1)
        scores.sort(key=lambda score: (-score[0], score[1], score[2]))
        likely = [(order, groups) for _, order, groups in scores[:FINISHED]]
        return [*likely, *((0, start) for start in STARTS if start * k <= rows)]

    def deal(self, order: int, groups: int) -> Ints:
        """The rows along an order, dealt to so many groups."""
        label = np.empty(self.problem.cells, dtype=np.int64)
        label[self.along[order]] = np.arange(self.problem.cells) % groups
        return label

    def find_failing(self, label: Ints) -> NDArray[np.bool_]:
        """Which groups fail by the constraints."""
        groups = int(label.max()) + 1
        first = np.append(0, np.cumsum(np.bincount(label, minlength=groups)))
        self.clock.spend(LOOK * (len(label) + groups * self.slots))
        return self.halving.find_failing(first, np.argsort(label, kind="stable"))

    def merge_failing(self, label: Ints) -> Ints:
        """Failing groups merged with others until the constraints accept all."""
        fails = self.find_failing(label)
        while fails.any() and len(fails) > 1:
            chosen = fails.copy()
            room = max(ROOM // self.slots, 2)
            partners = max(min(PARTNERS * int(fails.sum()) + PARTNERS, room), 1)
            chosen[np.flatnonzero(~fails)[:partners]] = True
            rows = np.flatnonzero(chosen[label])
            chosen_table = select_cells(self.table, rows)
            merged = merge_failing(numbered(label[rows]), np.arange(len(rows)), chosen_table)
            label = label.copy()
            label[rows] = merged.label + len(fails)
            label = numbered(label)
            self.clock.spend(LOOK * (len(rows) + merged.looks * self.slots))
            before, fails = len(fails), self.find_failing(label)
            if len(fails) == before:
                break
        return label

    def halve(self, label: Ints) -> Ints:
        """Every group in halves, as long as both keep the constraints."""
        along = np.stack([order[np.argsort(label[order], kind="stable")] for order in self.along])
        first = np.append(0, np.cumsum(np.bincount(label)))
        halves, looks = self.halving.halve(first, along)
        self.clock.spend(LOOK * looks)
        return numbered(halves)

    def _note(self, step: str, label: Ints) -> None:
        self.tried.append(Trial(step, 1.0 / (int(label.max()) + 1), self.clock.used))


def _finalize(problem: Problem, label: Ints) -> Ints:
    """The last word of the requirements themselves: what they refuse is merged until they do not.

    Failing groups are merged two by two, the last odd one with twice as many others each time.
    """
    judge, requirements, many = Judge(problem), problem.constraints.requirements, 1
    while (broken := judge.failing(label, requirements)).any():
        if len(broken) == 1:
            raise UsageError(
                "the promise cannot be kept: even the whole table as one group breaks it",
                where="policy",
                hint="see what the whole table attains, and promise no more than that",
            )
        owner = np.arange(len(broken))
        bad, good = np.flatnonzero(broken), np.flatnonzero(~broken)
        pairs = len(bad) // 2
        owner[bad[1 : 2 * pairs : 2]] = bad[0 : 2 * pairs : 2]
        if len(bad) % 2:
            partners = good[:many] if len(good) else bad[:1]
            owner[partners] = bad[-1]
        while (owner[owner] != owner).any():
            owner = owner[owner]
        label, many = numbered(owner[label]), 2 * many
    return label
