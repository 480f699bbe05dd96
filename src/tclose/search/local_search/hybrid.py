"""The default search: many quick passes of stratified splits, the best improved until time is up.

1. Strict Mondrian, as many top-down passes of stratified splits as a share of the budget fits, and
   one such pass within the classes of a full-domain cover.
2. The best, improved in turns: destroy and repair, swaps and moves of single cells, and suppression
   of rows where that is allowed.

Every state on the way keeps the constraints, so it can be stopped at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.base.random import RandomStream
from tclose.kernels.partition.destroy_and_repair import DestroyAndRepair
from tclose.kernels.partition.state import PartitionState, fits_code_cells
from tclose.kernels.partition.swaps import CellSwaps
from tclose.kernels.splitting.node import NodeWorkspace
from tclose.kernels.splitting.partitioner import Partitioner
from tclose.kernels.splitting.split_tree import SplitTree
from tclose.kernels.splitting.stratified_split import StratifiedSplitter
from tclose.search.best import Best
from tclose.search.budget import Budget, Clock
from tclose.search.full_domain.covering import covered
from tclose.search.local_search.suppression import suppress_rows
from tclose.search.mondrian.mondrian import cuts_of, grow
from tclose.search.outcome import Outcome, numbered
from tclose.search.problem import Problem

Ints = NDArray[np.int64]

CYCLES = 4
STARTS = 64
STARTING = 0.15
"""The share of the budget that goes into first passes."""
COVERING = 0.04
"""The share of the budget that goes into a cover, and"""
PRICE = 0.7
"""what a row costs that it leaves for later."""
MOST_COVERED = 500_000
"""Cells that a cover is tried for."""
REPAIRING = 0.8
"""The share of a cycle that goes into destroy and repair; the rest into swaps."""
TRIES = 12
TIGHT_FIRST, TIGHT_LATER = 3.0, 0.3
"""How much a used-up closeness counts against a cut, in first passes and in repairs."""
EFFORT = 100_000
"""Cells that are cut between two looks at the clock."""
PASS, STEP, LOOK = 8e-9, 1.2e-8, 3.3e-7
"""Seconds of an ordinary core per step of first passes, of repairs, and per look for a place."""


def hybrid(problem: Problem, budget: Budget, start: Ints | None = None) -> Outcome:
    """The least loss that was found in the time given.

    `start` is a partition that keeps the promise, such as one found for a stricter promise.
    """
    run = Run(problem, Clock(budget))
    if start is not None:
        run.offer("a stricter partition", numbered(start))
    run.start()
    for cycle in range(CYCLES):
        if run.least == 0.0 or run.clock.over("improving"):
            break
        run.improve(cycle)
    return run.settled("hybrid")


@dataclass
class Run(Best):
    """One search: the best partition so far, and the memory that the kernels share."""

    @cached_property
    def workspace(self) -> NodeWorkspace:
        """Memory that nodes are split in."""
        return NodeWorkspace(self.table)

    def start(self) -> None:
        """Strict cuts, top-down passes of hybrid cuts, a cover cut further; the best is kept."""
        tree = SplitTree(self.workspace, "free")
        grow(tree, self.clock)
        self.offer("strict cuts", numbered(tree.label), together=True, cuts=cuts_of(tree))
        for turn in range(STARTS):
            if self.least == 0.0 or self.clock.over("first passes", STARTING):
                return
            self.offer("hybrid cuts", self.split_top_down(None, 100 + turn))
            if turn == 0:
                self._cover()

    def _cover(self) -> None:
        """Full-domain classes that are cheap, each cut further, and the rest likewise."""
        begun = self.clock.share
        if begun >= COVERING or self.problem.cells > MOST_COVERED:
            return
        found = covered(self.problem, self.clock, PRICE, begun + COVERING)
        self.offer("full-domain cover", found, together=True)
        if not self.clock.over("first passes", STARTING):
            self.offer("hybrid cuts in the cover", self.split_top_down(found, 99))

    def split_top_down(self, label: Ints | None, stream: int) -> Ints:
        """One top-down pass of stratified splits, of all cells or within each class of a partition.

        Nodes that wait when time is up stay as they are.
        """
        splitter = StratifiedSplitter(self.workspace, RandomStream(self.seed, stream))
        partitioner = Partitioner(splitter)
        partitioner.begin_all(label)
        while partitioner.n_waiting > 0:
            if self.clock.over("first passes"):
                partitioner.give_up()
            else:
                steps = partitioner.split_some(
                    EFFORT, tries=TRIES, plainly=True, tightness=TIGHT_FIRST
                )
                self.spend(PASS * steps)
        return numbered(partitioner.labels())

    def improve(self, cycle: int) -> None:
        """One cycle: repairs, suppression if rows may be suppressed, swaps."""
        begun = self.clock.share
        share = (1.0 - begun) / (CYCLES - cycle)
        self.destroy_and_repair(cycle, begun + REPAIRING * share)
        if cycle < CYCLES - 1:
            self.suppress(cycle)
        self.swap(cycle, begun + share)

    def destroy_and_repair(self, cycle: int, until: float) -> None:
        """Splits pools of neighbouring classes anew until a share of the budget is spent."""
        self.problem.refer_to_released(self.table, self.best)
        state = PartitionState(self.table, self.best, members=True)
        splitter = StratifiedSplitter(self.workspace, RandomStream(self.seed, 1000 + cycle))
        repairs = DestroyAndRepair(state, Partitioner(splitter))

        def step() -> tuple[float, float]:
            saved, steps = repairs.improve(50, TIGHT_LATER)
            return saved, STEP * steps

        self._repeat("destroying and repairing", step, until)
        self.offer("destroy and repair", numbered(state.label))

    def swap(self, cycle: int, until: float) -> None:
        """Swaps and moves cells until a share of the budget is spent."""
        if not fits_code_cells(self.table, self.best):
            return
        self.problem.refer_to_released(self.table, self.best)
        state = PartitionState(self.table, self.best, histograms=True, code_cells=True)
        swaps = CellSwaps(state, RandomStream(self.seed, 2000 + cycle))

        def step() -> tuple[float, float]:
            saved, looks = swaps.improve(5000, 60)
            return saved, LOOK * looks

        self._repeat("swapping", step, until)
        self.offer("swaps and moves", numbered(state.label))

    def suppress(self, cycle: int) -> None:
        """Suppresses rows that cost more than they are worth, as far as that is allowed."""
        allowed = self.clock.budget.suppression
        if not allowed or not fits_code_cells(self.table, self.best):
            return
        room = int(allowed * self.problem.rows)
        found = suppress_rows(self.problem, self.table, self.best, room, self.seed + cycle)
        self.spend(LOOK * self.problem.cells)
        if found is not None and found.max(initial=-1) >= 0:
            self.offer("rows left out", found)

    def _repeat(self, step: str, act: Callable[[], tuple[float, float]], until: float) -> None:
        """Acts until the share of the budget that this step may have is spent."""
        cost = self.problem.rows * max(len(self.problem.columns), 1)
        while not self.clock.over(step, until):
            saved, effort = act()
            self.spend(effort)
            if self.clock.loss is not None:
                self.clock.loss -= saved / cost
