"""The default search: many quick passes of hybrid cuts, the best of them improved until time is up.

1. Strict Mondrian, and as many top-down passes of hybrid cuts (`deal`) as a share of the time fits.
2. The best, improved in turns: destroy and repair (`repair`), swaps and moves (`exchange`), and
   departures of single cells where rows may be left out (`leave`).

Every state on the way keeps the promise, so it can be stopped at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.search import cuts as kernels
from tclose.search import deal as dealing
from tclose.search import exchange as exchanging
from tclose.search import repair as repairing
from tclose.search.budget import Budget, Clock, rehearsal
from tclose.search.chance import make_chance
from tclose.search.cuts import GAIN, Work
from tclose.search.deal import LADDER
from tclose.search.leave import leave_out
from tclose.search.mondrian import grow_tree
from tclose.search.outcome import Outcome, Trial, numbered
from tclose.search.problem import Problem
from tclose.search.settle import settled
from tclose.search.tables import Tables

Ints = NDArray[np.int64]

CYCLES = 4
STARTS = 64
STARTING = 0.15
"""The share of the time that goes into first passes."""
REPAIRING = 0.8
"""The share of a cycle that goes into destroy and repair; the rest into swaps."""
TRIES = 12
TIGHT_FIRST, TIGHT_LATER = 3.0, 0.3
"""How much a used-up closeness counts against a cut, in first passes and in repairs."""
EFFORT = 100_000
"""Cells that are cut between two looks at the clock."""


def hybrid(problem: Problem, budget: Budget) -> Outcome:
    """The least loss that was found in the time given."""
    Clock(budget).tell("compiling, once", now=True)
    rehearsed = _Run(problem.excerpt(), Clock(rehearsal(budget)))
    rehearsed.start()
    rehearsed.improve(0)
    run = _Run(problem, Clock(budget))
    run.start()
    for cycle in range(CYCLES):
        if run.clock.over("improving"):
            break
        run.improve(cycle)
    return settled(
        problem, run.best, run.clock, method="hybrid", uses_sensitive=True, tried=tuple(run.tried)
    )


@dataclass
class _Run:
    """One search: the best partition so far, and the memory that the kernels share."""

    problem: Problem
    clock: Clock
    best: Ints = field(init=False)
    least: float = np.inf
    tried: list[Trial] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.best = np.zeros(self.problem.cells, dtype=np.int64)
        self._offer("one class", self.best)

    @cached_property
    def tab(self) -> Tables:
        return self.problem.tables()

    @cached_property
    def work(self) -> Work:
        return kernels.make_work(self.tab)

    @property
    def seed(self) -> int:
        return self.clock.budget.seed

    def start(self) -> None:
        """Strict cuts, then top-down passes of hybrid cuts; the best is kept."""
        tree = grow_tree(GAIN, self.problem.cells, self.tab, self.work, self.clock)
        self._offer("strict cuts", numbered(tree.label))
        rounds = self.clock.budget.rounds
        for turn in range(STARTS if rounds is None else min(4, rounds)):
            if self.clock.over("first passes", STARTING):
                return
            self._offer("hybrid cuts", self._pass(turn))

    def _pass(self, turn: int) -> Ints:
        """One top-down pass; what is uncut when time is up stays as it is."""
        cells = self.problem.cells
        deal, slate = dealing.make_deal(self.tab, self.seed, 100 + turn), dealing.make_slate(cells)
        slate.ids[:] = np.arange(cells)
        dealing.begin(cells, self.tab, deal, slate)
        while slate.mark[0] > 0:
            if self.clock.over("first passes"):
                dealing.give_up(deal, slate)
                break
            dealing.carve(
                EFFORT, TRIES, True, TIGHT_FIRST,
                self.tab, self.work, deal, LADDER, slate,
            )  # fmt: skip
        label = np.empty(cells, dtype=np.int64)
        ends = slate.ends[: slate.mark[2]]
        label[slate.ids] = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        return numbered(label)

    def improve(self, cycle: int) -> None:
        """One cycle: repairs, departures if rows may be left out, swaps."""
        begun = self.clock.share
        share = (1.0 - begun) / (CYCLES - cycle)
        self._repair(cycle, begun + REPAIRING * share)
        if self.clock.budget.suppression and cycle < CYCLES - 1:
            self._leave(cycle)
        self._exchange(cycle, begun + share)

    def _repair(self, cycle: int, until: float) -> None:
        self.problem.refer(self.tab, self.best)
        state = repairing.load(self.tab, self.best, self.work)
        deal = dealing.make_deal(self.tab, self.seed, 1000 + cycle)
        slate, arms = dealing.make_slate(self.problem.cells), repairing.make_arms()

        def shake() -> float:
            return float(repairing.shake(
                50, TIGHT_LATER, arms, self.tab, state, self.work, deal, LADDER, slate
            ))  # fmt: skip

        self._repeat("destroying and repairing", shake, until, self.clock.budget.rounds)
        self._offer("destroy and repair", repairing.unload(state, self.problem.cells))

    def _exchange(self, cycle: int, until: float) -> None:
        if not exchanging.affordable(self.tab, self.best):
            return
        self.problem.refer(self.tab, self.best)
        state = exchanging.load(self.tab, self.best)
        chance = make_chance(self.seed, 2000 + cycle)
        rounds = self.clock.budget.rounds

        def visit() -> float:
            return float(exchanging.exchange(5000, 60, state, self.tab, chance))

        self._repeat("swapping", visit, until, None if rounds is None else max(rounds // 10, 1))
        self._offer("swaps and moves", exchanging.unload(state))

    def _leave(self, cycle: int) -> None:
        if not exchanging.affordable(self.tab, self.best):
            return
        room = int(self.clock.budget.suppression * self.problem.rows)
        found = leave_out(self.problem, self.tab, self.best, room, self.seed + cycle)
        if found is not None and found.max(initial=-1) >= 0:
            self._offer("rows left out", found)

    def _repeat(
        self, step: str, act: Callable[[], float], until: float, rounds: int | None
    ) -> None:
        """Acts until the time or the rounds of this step are used up."""
        cost = self.problem.rows * max(len(self.problem.columns), 1)
        done = 0
        while not self.clock.over(step, until) and (rounds is None or done < rounds):
            saved = act()
            done += 1
            if self.clock.loss is not None:
                self.clock.loss -= saved / cost

    def _offer(self, step: str, label: Ints) -> None:
        """Keeps a partition if it is the best so far."""
        loss = self.problem.loss(label).overall
        self.tried.append(Trial(step, loss, self.clock.used))
        if loss < self.least:
            self.best, self.least = label, loss
        self.clock.loss = self.least
