"""The default search: many quick passes of stratified splits, the best improved until time is up.

1. Strict Mondrian, as many top-down passes of stratified splits as a share of the budget fits, and
   one such pass within the classes of a full-domain cover.
2. The best, improved in turns: destroy and repair, swaps and moves of single cells, and suppression
   of rows where that is allowed.

For (n, t)-closeness the table is first split into regions, each of which is then such a search.
`cover` starts from full-domain covers instead. Every state on the way keeps the constraints, so
both can be stopped at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from tclose.arrays import Ints
from tclose.kernels.base.random import RandomStream
from tclose.kernels.base.table import CodedTable
from tclose.kernels.partition.local_search import CellSuppression, CellSwaps, DestroyAndRepair
from tclose.kernels.partition.state import PartitionState, fits_code_cells
from tclose.kernels.splitting.partitioner import Partitioner
from tclose.kernels.splitting.split import NodeWorkspace, SplitTree
from tclose.search.curve import rank_along_curve
from tclose.search.full_domain.covering import cover_cells
from tclose.search.merging import merge_failing
from tclose.search.mondrian import mondrian, read_cuts, split_all
from tclose.search.outcome import Budget, Clock, Cuts, Outcome, Trial, finalize
from tclose.search.problem import SearchProblem, number_classes
from tclose.search.supersets import (
    REGIONS,
    Region,
    list_partitions,
    name_regions,
    search_regions,
    split_into_regions,
)

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
FIRST_REGIONS = 0.3
"""The share of the budget that goes into finding out how large regions should be."""
REPAIRING = 0.8
"""The share of a cycle that goes into destroy and repair; the rest into swaps."""
TRIES = 12
RETURNS = 200
"""Classes that a suppressed cell is tried in, to return."""
TIGHT_FIRST, TIGHT_LATER = 3.0, 0.3
"""How much a used-up closeness counts against a cut, in first passes and in repairs."""
EFFORT = 10_000_000
"""Steps of cutting between two looks at the clock: about a tenth of a second."""
PASS, STEP, LOOK = 8e-9, 1.2e-8, 3.3e-7
"""Seconds of an ordinary core per step of first passes, of repairs, and per look for a place."""


def hybrid(problem: SearchProblem, budget: Budget, start: Ints | None = None) -> Outcome:
    """The least loss that was found in the time given. `start` is a partition that keeps the
    promise, such as one found for a stricter promise."""
    if problem.constraints.supersets:
        return RegionSearch(problem, budget).run(start)
    run = LocalSearch(problem, Clock(budget))
    if start is not None:
        run.offer("a stricter partition", number_classes(start))
    run.start()
    return run.improve_all("hybrid")


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
    return run.improve_all("cover")


class LocalSearch:
    """One search: a budget that is being spent, and the best partition so far.

    It begins with all cells as one class, or with the widest that limits allow. `together` says
    that the best was made without parting cells with equal quasi-identifiers; `cuts` are those that
    lead to it, where strict cuts do.
    """

    def __init__(self, problem: SearchProblem, clock: Clock) -> None:
        self.problem, self.clock = problem, clock
        self.seed = clock.budget.seed
        self.tried: list[Trial] = []
        self.least = np.inf
        self.offer("one class", problem.blocks, together=True)

    @cached_property
    def table(self) -> CodedTable:
        """The problem as the kernels read it."""
        return self.problem.make_coded_table()

    @cached_property
    def workspace(self) -> NodeWorkspace:
        """Memory that nodes are split in."""
        return NodeWorkspace(self.table)

    def spend(self, effort: float) -> None:
        """Counts work on the cells, which is slower where their arrays do not fit the caches."""
        self.clock.spend(effort * min(max(self.problem.n_cells / 50_000, 1.0) ** 0.45, 5.0))

    def offer(
        self, step: str, label: Ints, *, together: bool = False, cuts: Cuts | None = None
    ) -> None:
        """Keeps a partition if it is the best so far."""
        loss = self.problem.cost(label)
        self.tried.append(Trial(step, loss, self.clock.used))
        if loss < self.least:
            self.best, self.least, self.together, self.cuts = label, loss, together, cuts
        self.clock.loss = self.least

    def finalize(self, method: str) -> Outcome:
        """The best, judged by the requirements themselves."""
        return finalize(
            self.problem, self.best, self.clock, method=method,
            uses_sensitive=not self.together, tried=tuple(self.tried), cuts=self.cuts,
        )  # fmt: skip

    def start(self) -> None:
        """Strict cuts, top-down passes of hybrid cuts, a cover cut further; the best is kept."""
        tree = SplitTree(self.workspace, "free")
        split_all(tree, self.clock)
        self.offer("strict cuts", number_classes(tree.label), together=True, cuts=read_cuts(tree))
        for turn in range(STARTS):
            if self.least == 0.0 or self.clock.is_over("first passes", STARTING):
                return
            whole = self.problem.blocks if self.problem.limited else None
            self.offer("hybrid cuts", self.split_top_down(whole, 100 + turn))
            begun, few = self.clock.share, self.problem.n_cells <= MOST_COVERED
            if turn == 0 and begun < HYBRID_COVERING and few and whole is None:
                self._cover(begun + HYBRID_COVERING)

    def _cover(self, until: float) -> None:
        """Full-domain classes that are cheap, each cut further, and the rest likewise."""
        found = cover_cells(self.problem, self.clock, HYBRID_PRICE, until)
        self.offer("full-domain cover", found, together=True)
        if not self.clock.is_over("first passes", STARTING):
            self.offer("hybrid cuts in the cover", self.split_top_down(found, 99))

    def split_top_down(self, label: Ints | None, stream: int) -> Ints:
        """One top-down pass of stratified splits, of all cells or within each class of a partition.
        Nodes that wait when time is up stay as they are."""
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

    def improve_all(self, method: str) -> Outcome:
        """Improves until the budget is spent; then the best."""
        self.improve()
        return self.finalize(method)

    def improve(self) -> None:
        """Cycles of repairs, suppression if rows may be suppressed, and swaps."""
        for cycle in range(CYCLES):
            if self.least == 0.0 or self.clock.is_over("improving"):
                break
            begun = self.clock.share
            share = (1.0 - begun) / (CYCLES - cycle)
            self.destroy_and_repair(cycle, begun + REPAIRING * share)
            if cycle < CYCLES - 1:
                self.suppress(cycle)
            self.swap(2000 + cycle, LOOK, begun + share)

    def destroy_and_repair(self, cycle: int, until: float) -> None:
        """Splits pools of neighbouring classes anew until a share of the budget is spent."""
        state = self._make_state(members=True)
        repairs = DestroyAndRepair(state, self._make_partitioner(1000 + cycle))
        self._repeat(
            "destroying and repairing", lambda: repairs.improve(50, TIGHT_LATER), STEP, until
        )
        self.offer("destroy and repair", number_classes(state.label))

    def swap(self, stream: int, cost: float, until: float = 1.0) -> None:
        """Swaps and moves cells until a share of the budget is spent; a look takes `cost`."""
        if not fits_code_cells(self.table, self.best):
            return
        state = self._make_state(histograms=True, code_cells=True)
        swaps = CellSwaps(state, RandomStream(self.seed, stream))
        self._repeat("swapping", lambda: swaps.improve(5000, 60), cost, until)
        self.offer("swaps and moves", number_classes(state.label))

    def suppress(self, cycle: int) -> None:
        """One batch of returns and suppressions of cells that cost more than they are worth.

        Suppressed rows change the released distribution, by which every class is judged, and no
        requirement is monotone under that (`mathematics.md` 2.3). So the reference is counted
        anew after the batch, and classes that then fail are merged with neighbours. Nothing comes
        of it where the rows that are left cannot keep the constraints.
        """
        problem, table, seed = self.problem, self.table, self.seed + cycle
        allowed = self.clock.budget.suppression
        if not allowed or not fits_code_cells(table, self.best):
            return
        state = self._make_state(histograms=True, code_cells=True)
        suppression = CellSuppression(state, int(allowed * problem.n_rows))
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
        self.spend(LOOK * problem.n_cells)
        if merged.all_keep and merged.label.max(initial=-1) >= 0:
            self.offer("rows left out", merged.label)

    def _make_state(self, **parts: bool) -> PartitionState:
        self.problem.refer_to_released(self.table, self.best)
        return PartitionState(self.table, self.best, **parts)

    def _make_partitioner(self, stream: int) -> Partitioner:
        return Partitioner(self.workspace, RandomStream(self.seed, stream))

    def _repeat(
        self, step: str, improve: Callable[[], tuple[float, float]], cost: float, until: float
    ) -> None:
        """Improves until the share of the budget that this step may have is spent. `improve`
        returns the loss saved and the steps taken, each of which takes `cost` seconds."""
        scale = self.problem.n_rows * max(len(self.problem.columns), 1)
        while not self.clock.is_over(step, until):
            saved, steps = improve()
            self.spend(cost * steps)
            if self.clock.loss is not None:
                self.clock.loss -= saved / scale


class RegionSearch:
    """`hybrid` for (n, t)-closeness: strict cuts, then every region searched by itself, with small
    regions and with large ones, and once more with those that lost least.

    Every class stays in its region, so what is repaired there keeps its superset.
    """

    def __init__(self, problem: SearchProblem, budget: Budget) -> None:
        self.problem, self.clock = problem, Clock(replace(budget, suppression=Fraction(0)))
        self.root = split_into_regions(problem, self.clock)
        self.best = mondrian(problem, self.clock.budget.portion(REGIONS, 0.0), method="hybrid")
        self.tried, self.used = list(self.best.tried), REGIONS

    def run(self, start: Ints | None) -> Outcome:
        """The best that was found in the time given."""
        if start is not None:
            self.offer("a stricter partition", number_classes(start), together=False)
        partitions = list_partitions(self.root)
        found: list[tuple[float, int, Ints]] = []
        for regions in partitions:
            if not found or not self.clock.is_over("regions"):
                label, cost = self.search(regions, FIRST_REGIONS / len(partitions))
                found.append((cost, len(found), label))
        if not self.clock.is_over("regions"):
            _, at, label = min(found)
            self.search(partitions[at], 1.0 - self.used, label)
        best = self.best
        return finalize(
            self.problem, best.label, self.clock, method="hybrid", tried=tuple(self.tried),
            uses_sensitive=best.uses_sensitive, cuts=best.cuts, supersets=best.supersets,
        )  # fmt: skip

    def search(
        self, regions: Sequence[Region], share: float, start: Ints | None = None
    ) -> tuple[Ints, float]:
        """What is found in regions with a share of the budget, and what it loses."""
        runs: list[LocalSearch] = []

        def improve(part: SearchProblem, region: Region) -> Ints:
            mine = share * region.rows / self.problem.n_rows
            run = LocalSearch(part, Clock(self.clock.budget.portion(mine, self.used)))
            if start is not None:
                run.offer("so far", number_classes(start[region.cells]))
            run.start()
            run.improve()
            self.used += mine
            runs.append(run)
            return number_classes(run.best)

        label = search_regions(self.problem, regions, improve)
        self.clock.spend(sum(run.clock.spent for run in runs))
        for run in runs:
            if run.clock.stopped != "finished":
                self.clock.stopped = run.clock.stopped
        together = all(run.together for run in runs)
        return label, self.offer(f"{len(regions)} regions", label, together=together)

    def offer(self, step: str, label: Ints, *, together: bool) -> float:
        """Keeps a partition if it is the best so far and every class has a superset."""
        cost, named = self.problem.cost(label), name_regions(self.problem, label, self.root)
        self.tried.append(Trial(step, cost, self.clock.used))
        if cost < self.best.cost and all((each.of_class >= 0).all() for each in named.values()):
            self.best = replace(
                self.best, label=label, loss=cost, value=None, cuts=None, supersets=named,
                uses_sensitive=not together,
            )  # fmt: skip
        self.clock.loss = self.best.cost
        return cost
