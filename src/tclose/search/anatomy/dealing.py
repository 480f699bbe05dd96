"""Groups of rows whose quasi-identifiers do not matter: as many as the promise allows.

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

Both only propose. A group is kept if the compiled rules accept it exactly; broken ones are united
with others, and the requirements themselves have the last word, so no row is ever left out. Ties
along an order are broken by chance: who of those with one value is in which group says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.errors import UsageError
from tclose.kernels.chance import make_chance
from tclose.kernels.tables import CURVE, Tables
from tclose.search.anatomy.halving import halve_groups, judge_groups
from tclose.search.budget import Budget, Clock, Stopped, rehearsal
from tclose.search.by_construction.construct import by_rows
from tclose.search.by_construction.unite import united
from tclose.search.exact_judge import Judge
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
"""Sound groups that broken ones may be united with, for each of them."""
ROOM = 20_000_000
"""Entries of the histograms that uniting keeps at once."""
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


def dealt_groups(problem: Problem, budget: Budget) -> Groups:
    """Small groups of rows that keep the promise, whatever their quasi-identifiers.

    Equal problems and seeds give equal groups. Raises UsageError where even one group of all rows
    breaks the promise.
    """
    Clock(budget).tell("compiling, once", now=True)
    rows = by_rows(problem)
    _Dealing(rows.excerpt(), Clock(rehearsal(budget))).best()
    clock = Clock(budget)
    mixed = np.random.default_rng(budget.seed).permutation(rows.cells)
    dealing = _Dealing(rows.reordered(mixed), clock)
    label = _settled(dealing.problem, dealing.best())
    clock.tell("done", now=True)
    placed = np.empty_like(label)
    placed[mixed] = label
    return Groups(numbered(placed), "dealing", clock.stopped, tuple(dealing.tried))


class _Dealing:
    """One search: every row is a cell of its own, in random order."""

    def __init__(self, problem: Problem, clock: Clock) -> None:
        self.problem = problem
        self.clock = clock
        self.tried: list[Trial] = []
        bare = problem.tables(ordered=True)
        none = np.zeros((problem.cells, 0), dtype=np.int32)
        self.tab: Tables = bare._replace(
            codes=none, column=np.zeros((5, 0), np.int64), loss=np.zeros(0)
        )
        self.along = np.argsort(self.tab.order[CURVE], axis=1, kind="stable")
        self.hist = np.zeros((2, len(self.tab.rules.count)), dtype=np.int64)
        self.scratch = np.zeros(2 * self.tab.rules.node.shape[1] + 2, dtype=np.int64)
        self.chance = make_chance(clock.budget.seed, 7000)

    def best(self) -> Ints:
        """The labels with the most groups of all that were tried."""
        found = np.zeros(self.problem.cells, dtype=np.int64)
        for at, (order, groups) in enumerate(self._promising()):
            if at > 0 and self.clock.over("dealing"):
                break
            label = self.halved(self.mended(self.dealt(order, groups)))
            self._note(f"{groups} groups dealt", label)
            if label.max() > found.max():
                found = label
        return found

    def _promising(self) -> list[tuple[int, int]]:
        """Orders and numbers of groups, those first of which most groups keep the promise."""
        rows, k = self.problem.cells, max(self.problem.constraints.k, 1)
        scores: list[tuple[int, int, int]] = []
        for order in range(len(self.along)):
            size, best = float(k), 0
            while True:
                groups = max(int(rows / size), 1)
                broken = self.broken(self.dealt(order, groups))
                sound = groups - int(broken.sum())
                scores.append((sound, order, groups))
                best = max(best, sound)
                if groups == 1 or groups <= best or self.clock.over("sizing"):
                    break
                size = max(size * LARGER, size + 1)
        scores.sort(key=lambda one: (-one[0], one[1], one[2]))
        likely = [(order, groups) for _, order, groups in scores[:FINISHED]]
        return [*likely, *((0, start) for start in STARTS if start * k <= rows)]

    def dealt(self, order: int, groups: int) -> Ints:
        """The rows along an order, dealt to so many groups."""
        label = np.empty(self.problem.cells, dtype=np.int64)
        label[self.along[order]] = np.arange(self.problem.cells) % groups
        return label

    def broken(self, label: Ints) -> NDArray[np.bool_]:
        """Which groups break a compiled rule."""
        groups = int(label.max()) + 1
        first = np.append(0, np.cumsum(np.bincount(label, minlength=groups)))
        fails = np.zeros(groups, dtype=np.bool_)
        member = np.argsort(label, kind="stable")
        judge_groups(first, member, self.tab, self.hist, self.scratch, fails)
        self.clock.spend(LOOK * (len(label) + groups * self.hist.shape[1]))
        return fails

    def mended(self, label: Ints) -> Ints:
        """Broken groups united with others until the compiled rules accept all."""
        fails = self.broken(label)
        while fails.any() and len(fails) > 1:
            chosen = fails.copy()
            room = max(ROOM // self.hist.shape[1], 2)
            partners = max(min(PARTNERS * int(fails.sum()) + PARTNERS, room), 1)
            chosen[np.flatnonzero(~fails)[:partners]] = True
            rows = np.flatnonzero(chosen[label])
            some = self.tab._replace(
                codes=self.tab.codes[rows],
                weight=self.tab.weight[rows],
                mass=np.ascontiguousarray(self.tab.mass[:, rows]),
                slot=self.tab.slot[rows],
            )
            made, _, looks = united(numbered(label[rows]), np.arange(len(rows)), some)
            label = label.copy()
            label[rows] = made + len(fails)
            label = numbered(label)
            self.clock.spend(LOOK * (len(rows) + looks * self.hist.shape[1]))
            before, fails = len(fails), self.broken(label)
            if len(fails) == before:
                break
        return label

    def halved(self, label: Ints) -> Ints:
        """Every group in halves, as long as both keep the promise."""
        rows = len(label)
        along = np.stack([order[np.argsort(label[order], kind="stable")] for order in self.along])
        starts = np.append(0, np.cumsum(np.bincount(label)))
        stack = np.zeros((rows + 1, 2), dtype=np.int64)
        groups = len(starts) - 1
        stack[:groups, 0], stack[:groups, 1] = starts[:-1], starts[1:]
        mate, colour = np.full((2, rows), -1, dtype=np.int64), np.full(rows, -1, dtype=np.int64)
        result = np.zeros(rows, dtype=np.int64)
        looks = halve_groups(
            groups, stack, along, mate, colour, np.zeros(rows, dtype=np.int64), self.chance,
            self.tab, self.hist, self.scratch, result,
        )  # fmt: skip
        self.clock.spend(LOOK * looks)
        return numbered(result)

    def _note(self, step: str, label: Ints) -> None:
        self.tried.append(Trial(step, 1.0 / (int(label.max()) + 1), self.clock.used))


def _settled(problem: Problem, label: Ints) -> Ints:
    """The last word of the requirements themselves: what they refuse is united until they do not.

    Broken groups are united two by two, the last odd one with twice as many sound ones each time.
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
