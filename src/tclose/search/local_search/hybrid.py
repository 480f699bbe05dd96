"""The default search: quick passes of stratified splits, the best improved until time is up.

1. Strict cuts; top-down passes of stratified splits, first into pieces of the table and then
   several within each, of which the best is kept; and the same within a full-domain cover.
2. The best, improved in rounds. A round divides the classes into regions, and each is improved by
   itself: destroy and repair with swaps of the pooled cells, then swaps and moves within it. Rows
   are suppressed between rounds where that is allowed. Later rounds have other regions.

Pieces and regions depend on the table and the seed alone, and each has its own random numbers and
its own share of the work. So threads may take them in any order: equal input, seed and effort give
equal bytes with any number of threads.

For (n, t)-closeness the table is first split into regions of its own, each of which is then such a
search. `cover` starts from full-domain covers instead. Every state on the way keeps the
constraints, so both can be stopped at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.arrays import Ints
from tclose.kernels.base.random import RandomStream
from tclose.kernels.base.table import CodedTable
from tclose.kernels.partition.local_search import CellSuppression, DestroyAndRepair
from tclose.kernels.partition.state import PartitionState, fits_code_cells
from tclose.kernels.partition.swaps import CellSwaps
from tclose.kernels.splitting.partitioner import Partitioner
from tclose.kernels.splitting.split import NodeWorkspace, SplitTree
from tclose.search.curve import rank_along_curve
from tclose.search.full_domain.covering import cover_cells
from tclose.search.kernel_arrays import select_cells
from tclose.search.local_search.lower_bound import bound_loss, estimate_work
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

STARTS = 16
STARTING = 0.1
"""Passes within each piece, and the share of the budget that goes into first passes."""
CUTTING = 0.8
"""The share of that in which pieces are cut anew; the rest is for more passes within the best."""
PIECE = 4000
"""Cells of a piece, in which passes are made by themselves."""
HYBRID_COVERING, HYBRID_PRICE = 0.04, 0.7
"""The share of the budget that goes into a cover, and what a row costs that it leaves for later."""
MOST_COVERED = 500_000
"""Cells that a cover is tried for."""
COVERING, PRICES = 0.3, (0.7, 0.5, 0.9, 0.6, 0.8)
"""The same for `cover`, which tries several prices one after another."""
FIRST_REGIONS = 0.3
"""The share of the budget that goes into finding out how large regions should be."""
BOUNDING = 0.03
"""The share of the budget that a lower bound may take."""
REGION = 2000
"""Cells of a region that is improved by itself, at least; at most twice as many."""
LEAST_TURN, LEAST_ROUNDS, MOST_ROUNDS = 0.015, 2, 48
"""The effort that a region should have in a round; how many rounds there are."""
REPAIRING = 0.6
"""The share of a turn that goes into destroy and repair; the rest into swaps."""
WARMTH, COLD = 0.3, 0.15
"""The first temperature, over what a class loses on the average; the last share of the budget in
which nothing worse is accepted any more."""
AMPLE = 0.00075
"""The effort per cell with less of which it is lower: there is no time to cool down."""
TRIES = 12
POOLS, VISITS = 50, 200
"""Pools destroyed, and cells visited, between two looks at whether to stop."""
REACH = 400
"""Cells and classes that a cell is tried in the place of, or in."""
RETURNS = 200
"""Classes that a suppressed cell is tried in, to return."""
SUPPRESSING = 0.75
"""The share of the improvement after which no further rows are suppressed."""
TIGHT_FIRST, TIGHT_LATER = 3.0, 0.3
"""How much a used-up closeness counts against a cut, in first passes and in repairs."""
STEPS = 10_000_000
"""Steps of cutting between two looks at the clock: less than a tenth of a second."""
PASS, STEP, LOOK = 2.2e-9, 2.2e-9, 3.3e-7
"""Seconds of an ordinary core per step of first passes and of repairs, and per cell suppressed."""
LEAST_CLASSES = 4
"""Of a region."""
BETWEEN_LOOKS = 0.05
"""Seconds between two looks at the clock while threads work."""


Operators = NDArray[np.void]


@dataclass
class Turn:
    """Some cells that one thread works on by itself, what it has to do, and what came of it."""

    cells: Ints
    label: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    effort: float = 0.0
    stream: int = 0
    temperature: float | None = None
    """None: nothing is destroyed."""
    learned: Operators | None = None
    spent: float = 0.0
    loss: float = 0.0


def list_groups(label: Ints) -> Iterator[Ints]:
    """The cells of each class, in order."""
    order = np.argsort(label, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(label[order])) + 1)


def divide_classes(label: Ints, problem: SearchProblem, random: np.random.Generator) -> list[Ints]:
    """The cells in regions of whole classes that lie near each other: halves of halves along random
    mixes of columns, as long as each has `REGION` cells. Suppressed cells go with any."""
    count = int(label.max(initial=-1)) + 1
    kept = np.flatnonzero(label >= 0)
    size = np.bincount(label[kept], minlength=count)
    middle = np.empty((count, len(problem.columns)))
    for at, codes in enumerate(problem.codes.T):
        spread = max(float(codes.max(initial=0)), 1.0)
        middle[:, at] = np.bincount(label[kept], codes[kept], count) / np.maximum(size, 1) / spread
    groups = [np.arange(count)]
    while size[groups[0]].sum() >= 2 * REGION and min(map(len, groups)) >= 2 * LEAST_CLASSES:
        groups = [half for group in groups for half in _halve(group, middle, size, random)]
    region_of = np.empty(count + 1, dtype=np.int64)
    for number, group in enumerate(groups):
        region_of[group] = number
    region = region_of[label]
    region[label < 0] = random.integers(0, len(groups), int((label < 0).sum()))
    return list(list_groups(region))


def _halve(
    group: Ints, middle: NDArray[np.float64], size: Ints, random: np.random.Generator
) -> tuple[Ints, Ints]:
    """Two halves of about equally many cells along a random mix of columns."""
    mix = random.exponential(size=middle.shape[1]) ** 2 * random.choice(
        [-1.0, 1.0], middle.shape[1]
    )
    order = group[np.argsort(middle[group] @ mix, kind="stable")]
    up_to = np.cumsum(size[order])
    border = int(np.searchsorted(up_to, up_to[-1] / 2))
    border = min(max(border, LEAST_CLASSES), len(order) - LEAST_CLASSES)
    return order[:border], order[border:]


def average_operators(
    learned: Sequence[Operators | None], before: Operators | None
) -> Operators | None:
    """What all regions have learned about operators."""
    known = [each for each in learned if each is not None]
    if not known:
        return before
    mean = known[0].copy()
    for name in ("saved", "effort"):
        mean[name] = np.mean([each[name] for each in known], axis=0)
    return mean


def hybrid(problem: SearchProblem, budget: Budget, start: Ints | None = None) -> Outcome:
    """The least loss that was found in the time given. `start` is a partition that keeps the
    promise, such as one found for a stricter promise."""
    if problem.constraints.supersets:
        return RegionSearch(problem, budget).run(start)
    run = LocalSearch(problem, Clock(budget))
    if start is not None:
        run.offer("a given partition", number_classes(start))
    run.start()
    return run.bound_outcome(run.improve_all("hybrid"))


def cover(problem: SearchProblem, budget: Budget) -> Outcome:
    """The best full-domain cover, refined for as long as there is time."""
    run = LocalSearch(problem, Clock(budget))
    for turn, price in enumerate(PRICES):
        if run.clock.is_over("covering", COVERING):
            break
        found = cover_cells(problem, run.clock, price, COVERING)
        run.offer(f"cover at {price}", found, together=True)
        if not run.clock.is_over("cutting the cover", COVERING):
            run.split_top_down("hybrid cuts in it", found, 3000 + turn)
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
        self.least, self.is_stopped = np.inf, False
        self.pieces: list[Turn] = []
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

    def bound_outcome(self, outcome: Outcome) -> Outcome:
        """The outcome with a loss that none can be below, where that takes little to prove."""
        budget, work = self.clock.budget, estimate_work(self.problem)
        if budget.suppression or work > BOUNDING * budget.expected:
            return outcome
        return replace(outcome, bound=bound_loss(self.problem))

    def start(self) -> None:
        """Strict cuts, top-down passes of hybrid cuts, a cover cut further; the best is kept."""
        tree = SplitTree(self.workspace, "free")
        split_all(tree, self.clock)
        self.offer("strict cuts", number_classes(tree.label), together=True, cuts=read_cuts(tree))
        if self.least == 0.0 or self.clock.is_over("first passes", STARTING):
            return
        whole = self.problem.blocks if self.problem.limited else None
        self.split_top_down("hybrid cuts", whole, 100)
        begun, few = self.clock.share, self.problem.n_cells <= MOST_COVERED
        if begun < HYBRID_COVERING and few and whole is None:
            self._cover(begun + HYBRID_COVERING)
        for turn in range(1, STARTS):  # how the pieces are cut decides more than what follows
            if self.clock.is_over("first passes", CUTTING * STARTING):
                break
            self.split_top_down("hybrid cuts", whole, 100 + turn)
        self.split_further("best hybrid cuts")

    def _cover(self, until: float) -> None:
        """Full-domain classes that are cheap, each cut further, and the rest likewise."""
        found = cover_cells(self.problem, self.clock, HYBRID_PRICE, until)
        self.offer("full-domain cover", found, together=True)
        if not self.clock.is_over("first passes", STARTING):
            self.split_top_down("hybrid cuts in the cover", found, 99)

    def split_top_down(self, step: str, label: Ints | None, stream: int) -> Ints:
        """A top-down pass of stratified splits, of all cells or within each class of a partition:
        into pieces of the table, then within each. Nodes that wait when time is up stay."""
        partitioner = Partitioner(self.workspace, RandomStream(self.seed, stream))
        partitioner.begin_all(label)
        while partitioner.n_waiting > 0:
            if self.clock.is_over("first passes"):
                partitioner.give_up()
            else:
                steps = partitioner.split_some(
                    STEPS, tries=TRIES, plainly=True, tightness=TIGHT_FIRST, small=PIECE
                )
                self.spend(PASS * steps)
        groups = enumerate(list_groups(partitioner.labels()))
        pieces = [Turn(cells, stream=1000 * stream + at) for at, cells in groups]
        self._take_turns("first passes", pieces, self._split_piece)
        found, least = self._join(pieces), self.least
        self.offer(step, found)
        if self.least < least:
            self.pieces = pieces
        return found

    def split_further(self, step: str) -> None:
        """More passes within the pieces that lost least, for each the best of all of them."""
        effort = STARTING * self.clock.budget.work - self.clock.spent
        if not self.pieces or effort <= 0 or self.clock.is_over("first passes", STARTING):
            return
        for piece in self.pieces:
            piece.effort = piece.spent + effort * len(piece.cells) / self.problem.n_cells
            piece.stream += 1_000_000
        self._take_turns("first passes", self.pieces, self._split_piece)
        self.offer(step, self._join(self.pieces))

    def _split_piece(self, turn: Turn) -> None:
        """The best of some passes within a piece, as many as its share of the work allows."""
        table = select_cells(self.table, turn.cells)
        partitioner = Partitioner(NodeWorkspace(table), RandomStream(self.seed, turn.stream))
        for _ in range(STARTS):
            partitioner.begin_all()
            while partitioner.n_waiting > 0 and not self.is_stopped:
                steps = partitioner.split_some(
                    STEPS, tries=TRIES, plainly=True, tightness=TIGHT_FIRST
                )
                turn.spent += PASS * steps
            is_whole = partitioner.n_waiting == 0
            partitioner.give_up()
            if not len(turn.label) or (is_whole and partitioner.loss < turn.loss):
                turn.label, turn.loss = partitioner.labels(), partitioner.loss
            if self.is_stopped or turn.spent >= turn.effort:
                break

    def improve_all(self, method: str) -> Outcome:
        """Improves until the budget is spent; then the best."""
        self.improve()
        return self.finalize(method)

    def improve(self) -> None:
        """Rounds of repairs and swaps, with suppression between the first if rows may be
        suppressed. What loses more may be kept for a while, the more the earlier."""
        begun, learned = self.clock.share, None
        per_cell = max(self.clock.left, 0.0) / self.problem.n_cells
        highest = WARMTH * min(per_cell / AMPLE, 1.0) ** 0.5
        self.suppress(0)
        label, round_ = self.best, 0
        while self._can_improve("improving"):
            progress = (self.clock.share - begun) / (1.0 - begun)
            warmth = highest * max(1.0 - progress / (1.0 - COLD), 0.0)
            turns = self._divide(label, round_, learned, warmth=warmth)
            self._take_turns("improving", turns, self._improve_region)
            learned = average_operators([turn.learned for turn in turns], learned)
            label = self._join(turns)
            self.offer("destroy and repair, swaps", label)
            round_ += 1
            if progress < SUPPRESSING and self.suppress(round_):
                label = self.best

    def _can_improve(self, step: str) -> bool:
        is_empty = int(self.best.max(initial=-1)) < 0
        return self.least > 0.0 and not is_empty and not self.clock.is_over(step)

    def swap(self, stream: int) -> None:
        """Swaps and moves cells only, in rounds, until the budget is spent."""
        round_, label = 0, self.best
        while self._can_improve("swapping"):
            turns = self._divide(label, stream + round_, None, warmth=None)
            self._take_turns("swapping", turns, self._improve_region)
            label, round_ = self._join(turns), round_ + 1
            self.offer("swaps and moves", label)

    def _divide(
        self, label: Ints, round_: int, learned: Operators | None, *, warmth: float | None
    ) -> list[Turn]:
        """Regions of classes that lie near each other, and what each is to do in a round. Without
        warmth, nothing is destroyed."""
        random = np.random.default_rng([self.seed, round_])
        regions = divide_classes(label, self.problem, random)
        left = self.clock.left
        rounds = (1.0 - self.clock.share) * MOST_ROUNDS
        most = max(LEAST_TURN * len(regions), left / max(rounds, 1.0))
        effort = left if left < 1.5 * most else min(most, left / LEAST_ROUNDS)
        temperature = warmth
        if warmth is not None:
            classes = max(int(label.max(initial=0)) + 1, 1)
            scale = self.problem.n_rows * len(self.problem.columns) / classes
            temperature = warmth * self.least * scale
        self.problem.refer_to_released(self.table, label)
        return [
            Turn(
                cells, label[cells], effort * len(cells) / self.problem.n_cells,
                100_000 * (round_ + 1) + at, temperature, learned,
            )
            for at, cells in enumerate(regions)
        ]  # fmt: skip

    def _improve_region(self, turn: Turn) -> None:
        """Repairs and swaps within a region until its share of the work is done."""
        table = select_cells(self.table, turn.cells)
        label = number_classes(turn.label)
        if not fits_code_cells(table, label):
            turn.spent = turn.effort
            return
        repairs = turn.temperature is not None
        state = PartitionState(table, label, histograms=True, code_cells=True, members=repairs)
        swaps = CellSwaps(state, RandomStream(self.seed, turn.stream + 50_000))
        if turn.temperature is not None:
            partitioner = Partitioner(NodeWorkspace(table), RandomStream(self.seed, turn.stream))
            work = DestroyAndRepair(state, partitioner, swaps, turn.learned)
            while turn.spent < REPAIRING * turn.effort and not self.is_stopped:
                _, steps = work.improve(POOLS, TIGHT_LATER, turn.temperature)
                turn.spent += STEP * steps
            turn.learned = work.learned
        while turn.spent < turn.effort and not self.is_stopped:
            _, steps = swaps.improve(VISITS, REACH)
            turn.spent += STEP * steps
        turn.label = state.label

    def _take_turns(self, step: str, turns: Sequence[Turn], work: Callable[[Turn], None]) -> None:
        """Has threads do the work of all turns; they stop when time is up or somebody cancels."""
        self.is_stopped, before = False, sum(turn.spent for turn in turns)
        with ThreadPoolExecutor(min(self.clock.budget.count_threads(), len(turns))) as pool:
            try:
                waiting = {pool.submit(work, turn) for turn in turns}
                while waiting:
                    done, waiting = wait(waiting, timeout=BETWEEN_LOOKS)
                    for each in done:
                        each.result()
                    self.is_stopped |= self.clock.is_over(step)
            except BaseException:
                self.is_stopped = True
                raise
        self.clock.spend(sum(turn.spent for turn in turns) - before)

    def _join(self, turns: Sequence[Turn]) -> Ints:
        """The classes of all turns as one partition."""
        joined = np.full(self.problem.n_cells, -1, dtype=np.int64)
        first = 0
        for turn in turns:
            joined[turn.cells] = np.where(turn.label >= 0, turn.label + first, -1)
            first += int(turn.label.max(initial=-1)) + 1
        return number_classes(joined)

    def suppress(self, cycle: int) -> bool:
        """One batch of returns and suppressions of cells that cost more than they are worth;
        whether anything came of it.

        Suppressed rows change the released distribution, by which every class is judged, and no
        requirement is monotone under that (`mathematics.md` 2.3). So the reference is counted
        anew after the batch, and classes that then fail are merged with neighbours. Nothing comes
        of it where the rows that are left cannot keep the constraints.
        """
        problem, table, seed = self.problem, self.table, self.seed + cycle
        allowed = self.clock.budget.suppression
        if not allowed or not fits_code_cells(table, self.best):
            return False
        problem.refer_to_released(table, self.best)
        state = PartitionState(table, self.best, histograms=True, code_cells=True)
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
        return self.best is merged.label


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
            self.offer("a given partition", number_classes(start), together=False)
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
