"""Groups of rows for Anatomy and slicing, and which columns stay together in a slice.

Exact quasi-identifiers lose nothing by being mixed, so groups need only be close in their sensitive
values, and the smaller they are the more they tell.

- **In turn.** Rows lie along an order of sensitive values and go to the groups in turn. By the
  lemma of `mathematics.md` 3.3 EMD < 1/r in groups of r rows along one ordered
  attribute, and a value of at most a share 1/l of the rows is at most once in groups of l.
- **Halving.** Pair the rows of a group along one order, and again along another. The two matchings
  are paths and even cycles, so two colours part every pair: both halves then have every prefix of
  both orders to within half a row, hence EMD < 2/r in both attributes.

Both only propose: failing groups are merged with others, and the requirements themselves have the
last word. Ties along an order are broken by chance, and say nothing about who is where.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tclose.arrays import Flags, Ints
from tclose.data.encode.cells import Cells, bin_codes
from tclose.distance.histogram import count_pairs
from tclose.kernels.base.random import RandomStream
from tclose.kernels.records.gathering import GroupHalving
from tclose.search.by_construction.construct import split_into_rows
from tclose.search.kernel_arrays import select_cells
from tclose.search.merging import merge_failing, merge_refused_groups
from tclose.search.outcome import Budget, Clock, Stopped, Trial
from tclose.search.problem import SearchProblem, number_classes
from tclose.utility.associations import measure_cramers_v

Sets = tuple[tuple[str, ...], ...]

IN_TURN = "in-turn"
"""What this way of forming groups is called, beside the methods of `registry`."""

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
PARTS = 16
"""Columns with more values are cut into so many parts before they are compared."""
TOGETHER = 0.1
"""Columns that tell of each other at least so strongly are in one set."""


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


def form_groups(problem: SearchProblem, budget: Budget) -> Groups:
    """Small groups of rows that keep the requirements, whatever their quasi-identifiers.

    Equal problems and seeds give equal groups. Raises UsageError where even one group of all rows
    fails.
    """
    rows = split_into_rows(problem)
    clock = Clock(budget)
    mixed = np.random.default_rng(budget.seed).permutation(rows.n_cells)
    search = _GroupSearch(rows.reorder(mixed), clock)
    label = merge_refused_groups(search.problem, search.find_best())[np.argsort(mixed)]
    clock.report("done", now=True)
    return Groups(number_classes(label), IN_TURN, clock.stopped, tuple(search.tried))


class _GroupSearch:
    """One search: every row is a cell of its own, in random order."""

    def __init__(self, problem: SearchProblem, clock: Clock) -> None:
        self.problem, self.clock = problem, clock
        self.tried: list[Trial] = []
        without_codes = replace(problem, columns=(), codes=problem.codes[:, :0])
        self.table = without_codes.make_coded_table()
        self.along = np.argsort(self.table.arrays.order_rank, axis=1, kind="stable")
        self.halving = GroupHalving(self.table, RandomStream(clock.budget.seed, 7000))
        self.slots = self.table.constraints.n_slots

    def find_best(self) -> Ints:
        """The labels with the most groups of all that were tried."""
        found = np.zeros(self.problem.n_cells, dtype=np.int64)
        for at, (order, groups) in enumerate(self._list_promising()):
            if at > 0 and self.clock.is_over("forming groups"):
                break
            label = self.halve(self.merge_failing(self.assign_in_turn(order, groups)))
            share = 1.0 / (int(label.max()) + 1)
            self.tried.append(Trial(f"{groups} groups", share, self.clock.used))
            if label.max() > found.max():
                found = label
        return found

    def _list_promising(self) -> list[tuple[int, int]]:
        """Orders and numbers of groups to try, those first that most often keep the constraints."""
        rows, k = self.problem.n_cells, max(self.problem.constraints.k, 1)
        scores: list[tuple[int, int, int]] = []
        for order in range(len(self.along)):
            size, best = float(k), 0
            while True:
                groups = max(int(rows / size), 1)
                fails = self.find_failing(self.assign_in_turn(order, groups))
                good = groups - int(fails.sum())
                scores.append((good, order, groups))
                best = max(best, good)
                if groups == 1 or groups <= best or self.clock.is_over("sizing"):
                    break
                size = max(size * LARGER, size + 1)
        scores.sort(key=lambda score: (-score[0], score[1], score[2]))
        likely = [(order, groups) for _, order, groups in scores[:FINISHED]]
        return [*likely, *((0, start) for start in STARTS if start * k <= rows)]

    def assign_in_turn(self, order: int, groups: int) -> Ints:
        """The rows along an order, assigned in turn to so many groups."""
        label = np.empty(self.problem.n_cells, dtype=np.int64)
        label[self.along[order]] = np.arange(self.problem.n_cells) % groups
        return label

    def find_failing(self, label: Ints) -> Flags:
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
            merged = merge_failing(number_classes(label[rows]), np.arange(len(rows)), chosen_table)
            label = label.copy()
            label[rows] = merged.label + len(fails)
            label = number_classes(label)
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
        return number_classes(halves)


def find_associated(
    cells: Cells, names: Sequence[str], bound: Iterable[Sequence[str]] = ()
) -> Sets:
    """Disjoint sets of columns: associated ones together, and those that `bound` binds together.

    What slicing measures (Li, Li, Zhang and Molloy 2012), the mean-square contingency φ², is the
    square of Cramér's V.
    """
    codes = {name: bin_codes(cells.codes[name], PARTS, cells.rows) for name in names}
    pairs = [
        (name, other)
        for at, name in enumerate(names)
        for other in names[at + 1 :]
        if measure_cramers_v(count_pairs(codes[name], codes[other], cells.rows)) ** 2 >= TOGETHER
    ]
    return join_columns(names, [*pairs, *bound])


def join_columns(names: Sequence[str], bound: Iterable[Sequence[str]]) -> Sets:
    """The columns in sets, so that columns bound together are in one.

    >>> join_columns(["a", "b", "c", "d"], [("a", "c"), ("c", "d")])
    (('a', 'c', 'd'), ('b',))
    """
    owner = {name: name for name in names}
    for group in bound:
        inside = [owner[name] for name in group if name in owner]
        for name in names:
            if owner[name] in inside:
                owner[name] = min(inside, key=list(names).index)
    return tuple(
        tuple(name for name in names if owner[name] == head)
        for head in names
        if owner[head] == head
    )
