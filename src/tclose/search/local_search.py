"""The default search: many quick passes of stratified splits, the best improved until time is up.

1. Strict Mondrian, as many top-down passes of stratified splits as a share of the budget fits, and
   one such pass within the classes of a full-domain cover.
2. The best, improved in turns: destroy and repair, swaps and moves of single cells, and suppression
   of rows where that is allowed.

`cover` starts from full-domain covers instead (`full_domain.covering`): what some levels publish
cheaply, then the rest, each cut and improved likewise. Every state on the way keeps the
constraints, so both can be stopped at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.base.random import RandomStream
from tclose.kernels.partition.local_search import CellSwaps, DestroyAndRepair
from tclose.kernels.partition.state import PartitionState, fits_code_cells
from tclose.kernels.partition.suppression import CellSuppression
from tclose.kernels.splitting.node import NodeWorkspace
from tclose.kernels.splitting.partitioner import Partitioner, StratifiedSplitter
from tclose.kernels.splitting.split import SplitTree
from tclose.search.curve import rank_along_curve
from tclose.search.full_domain.covering import cover_cells
from tclose.search.judge import Best
from tclose.search.merging import merge_failing
from tclose.search.mondrian import read_cuts, split_all
from tclose.search.outcome import Budget, Clock, Outcome, number_classes
from tclose.search.problem import SearchProblem

Ints = NDArray[np.int64]

CYCLES = 4
STARTS = 64
STARTING = 0.15
"""The share of the budget that goes into first passes."""
HYBRID_COVERING, HYBRID_PRICE = 0.04, 0.7
"""The share of the budget that goes into a cover, and what a row costs that it leaves for later."""
MOST_COVERED = 500_000
"""Cells that a cover is tried for."""
COVERING, PRICES = 0.3, (0.7, 0.5, 0.9, 0.6, 0.8)
"""The same for `cover`, which tries several prices one after another."""
REPAIRING = 0.8
"""The share of a cycle that goes into destroy and repair; the rest into swaps."""
TRIES = 12
RETURNS = 200
"""Classes that a suppressed cell is tried in, to return."""
TIGHT_FIRST, TIGHT_LATER = 3.0, 0.3
"""How much a used-up closeness counts against a cut, in first passes and in repairs."""
EFFORT = 100_000
"""Cells that are cut between two looks at the clock."""
PASS, STEP, LOOK = 8e-9, 1.2e-8, 3.3e-7
"""Seconds of an ordinary core per step of first passes, of repairs, and per look for a place."""


def hybrid(problem: SearchProblem, budget: Budget, start: Ints | None = None) -> Outcome:
    """The least loss that was found in the time given.

    `start` is a partition that keeps the promise, such as one found for a stricter promise.
    """
    run = LocalSearch(problem, Clock(budget))
    if start is not None:
        run.offer("a stricter partition", number_classes(start))
    run.start()
    for cycle in range(CYCLES):
        if run.least == 0.0 or run.clock.is_over("improving"):
            break
        run.improve(cycle)
    return run.finalize("hybrid")


def cover(problem: SearchProblem, budget: Budget) -> Outcome:
    """The best full-domain cover, refined for as long as there is time."""
    run = LocalSearch(problem, Clock(budget))
    for turn, price in enumerate(PRICES):
        if run.clock.is_over("covering", COVERING):
            break
        found = cover_cells(problem, run.clock, price, COVERING)
        run.offer(f"cover at {price}", found, together=True)
        if not run.clock.is_over("cutting the cover", COVERING):
            run.offer("hybrid cuts in it", run.split_top_down(found, 3000 + turn))
    for cycle in range(CYCLES):
        if run.clock.is_over("improving"):
            break
        run.improve(cycle)
    return run.finalize("cover")


@dataclass
class LocalSearch(Best):
    """One search: the best partition so far, and the memory that the kernels share."""

    @cached_property
    def workspace(self) -> NodeWorkspace:
        """Memory that nodes are split in."""
        return NodeWorkspace(self.table)

    def start(self) -> None:
        """Strict cuts, top-down passes of hybrid cuts, a cover cut further; the best is kept."""
        tree = SplitTree(self.workspace, "free")
        split_all(tree, self.clock)
        self.offer("strict cuts", number_classes(tree.label), together=True, cuts=read_cuts(tree))
        for turn in range(STARTS):
            if self.least == 0.0 or self.clock.is_over("first passes", STARTING):
                return
            self.offer("hybrid cuts", self.split_top_down(None, 100 + turn))
            if turn == 0:
                self._cover()

    def _cover(self) -> None:
        """Full-domain classes that are cheap, each cut further, and the rest likewise."""
        begun = self.clock.share
        if begun >= HYBRID_COVERING or self.problem.n_cells > MOST_COVERED:
            return
        found = cover_cells(self.problem, self.clock, HYBRID_PRICE, begun + HYBRID_COVERING)
        self.offer("full-domain cover", found, together=True)
        if not self.clock.is_over("first passes", STARTING):
            self.offer("hybrid cuts in the cover", self.split_top_down(found, 99))

    def split_top_down(self, label: Ints | None, stream: int) -> Ints:
        """One top-down pass of stratified splits, of all cells or within each class of a partition.

        Nodes that wait when time is up stay as they are.
        """
        partitioner = self._make_partitioner(stream)
        partitioner.begin_all(label)
        while partitioner.n_waiting > 0:
            if self.clock.is_over("first passes"):
                partitioner.give_up()
            else:
                steps = partitioner.split_some(
                    EFFORT, tries=TRIES, plainly=True, tightness=TIGHT_FIRST
                )
                self.spend(PASS * steps)
        return number_classes(partitioner.labels())

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
        repairs = DestroyAndRepair(state, self._make_partitioner(1000 + cycle))
        self._repeat(
            "destroying and repairing", lambda: repairs.improve(50, TIGHT_LATER), STEP, until
        )
        self.offer("destroy and repair", number_classes(state.label))

    def swap(self, cycle: int, until: float) -> None:
        """Swaps and moves cells until a share of the budget is spent."""
        if not fits_code_cells(self.table, self.best):
            return
        self.problem.refer_to_released(self.table, self.best)
        state = PartitionState(self.table, self.best, histograms=True, code_cells=True)
        swaps = CellSwaps(state, RandomStream(self.seed, 2000 + cycle))
        self._repeat("swapping", lambda: swaps.improve(5000, 60), LOOK, until)
        self.offer("swaps and moves", number_classes(state.label))

    def suppress(self, cycle: int) -> None:
        """Suppresses rows that cost more than they are worth, as far as that is allowed."""
        allowed = self.clock.budget.suppression
        if not allowed or not fits_code_cells(self.table, self.best):
            return
        found = self._suppress_batch(int(allowed * self.problem.n_rows), self.seed + cycle)
        self.spend(LOOK * self.problem.n_cells)
        if found is not None and found.max(initial=-1) >= 0:
            self.offer("rows left out", found)

    def _suppress_batch(self, room: int, seed: int) -> Ints | None:
        """One batch of returns and suppressions, with at most `room` rows suppressed in all.

        Suppressed rows change the released distribution, by which every class is judged, and no
        requirement is monotone under that (`docs/mathematics.md` 2.3). So the reference is counted
        anew after the batch, and classes that then fail are merged with neighbours. None where the
        rows that are left cannot keep the constraints.
        """
        problem, table = self.problem, self.table
        problem.refer_to_released(table, self.best)
        state = PartitionState(table, self.best, histograms=True, code_cells=True)
        suppression = CellSuppression(state, room)
        order = np.random.default_rng(seed).permutation(len(self.best))
        suppression.reinstate(order, RETURNS, RandomStream(seed, 3))
        members = np.argsort(state.label, kind="stable")
        members = members[state.label[members] >= 0]
        ends = np.searchsorted(state.label[members], np.arange(state.capacity), side="right")
        suppression.trim(members, ends)
        suppression.suppress(order)
        found = state.label.copy()
        problem.refer_to_released(table, found)
        merged = merge_failing(found, rank_along_curve(problem.codes, problem.rows), table)
        return merged.label if merged.all_keep else None

    def _make_partitioner(self, stream: int) -> Partitioner:
        return Partitioner(StratifiedSplitter(self.workspace, RandomStream(self.seed, stream)))

    def _repeat(
        self, step: str, improve: Callable[[], tuple[float, float]], cost: float, until: float
    ) -> None:
        """Improves until the share of the budget that this step may have is spent.

        `improve` returns the loss saved and the steps taken, each of which takes `cost` seconds.
        """
        scale = self.problem.n_rows * max(len(self.problem.columns), 1)
        while not self.clock.is_over(step, until):
            saved, steps = improve()
            self.spend(cost * steps)
            if self.clock.loss is not None:
                self.clock.loss -= saved / scale
