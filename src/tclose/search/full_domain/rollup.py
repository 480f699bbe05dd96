"""Nodes of the lattice judged: the cells grouped by roll-up, every class decided exactly.

Compiled rules decide; where one of them is too near its threshold for its arithmetic, and where a
promise cannot be compiled or the rules only guide, the requirements themselves do (`Judge`).
Groupings are kept as sources for coarser nodes within a limit of memory, the least lately used
given up first.

A node's result where rows may be left out: classes that fail leave, the reference is counted anew,
and so on until no class fails. With reference "table" classes are compared with the whole table
and leave once; no release may be published so, but other tools reckon that way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tclose.search.exact_judge import Judge
from tclose.search.full_domain import grouping as kernels
from tclose.search.full_domain.grouping import (
    BROKEN,
    CLOSE,
    ENTRIES,
    FAILED,
    FINE,
    GROUPS,
    OWNER,
    SMALL,
    SQUARES,
    SURE,
    UNSURE,
    Grouping,
)
from tclose.search.full_domain.levels import Ladder, Levels, packed, rungs_of
from tclose.search.full_domain.measures import Tally
from tclose.search.full_domain.rulebook import Rulebook
from tclose.search.problem import Problem

Ints = NDArray[np.int64]
Reference = Literal["released", "table"]

MOST_KEPT = 512
WORTH = 0.5
"""A grouping is kept if it has at most this share of its source's classes."""
STEP, PER_CLASS, PER_ENTRY = 1e-4, 5e-8, 2e-8
"""Seconds of an ordinary core: a look at a node, a source class grouped, an entry added up."""


@dataclass(frozen=True)
class Verdict:
    """How a node stands: whether a release comes of it, and what counts for its loss."""

    feasible: bool
    lost: float
    """So many rows at least are lost here and at every finer node."""
    tally: Tally


@dataclass
class _Kept:
    """A grouping that is kept as a source."""

    levels: Levels
    made: Grouping

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self.made)


@dataclass
class Roller:
    """Looks at nodes of one problem's lattice."""

    problem: Problem
    ladders: Sequence[Ladder]
    price: NDArray[np.float64]
    """What a row left out costs, by column, level and code (`Measure.price`)."""
    reference: Reference = "released"
    memory: int | None = None
    """Bytes of groupings that are kept; None: as many as the problem's aims say."""
    whole: Problem | None = None
    """The problem that this one is a part of, if classes are compared with all its cells. What the
    rules cannot decide then fails: requirements judge whole tables only."""
    looks: int = 0
    effort: float = 0.0
    """Of all looks so far, in seconds of an ordinary core."""
    held: int = 0
    """Bytes of the groupings that are kept; the finest is kept in any case."""
    _kept: list[_Kept] = field(default_factory=list)

    def __post_init__(self) -> None:
        problem = self.problem
        self.room = problem.aims.memory if self.memory is None else self.memory
        top = problem if self.whole is None else self.whole
        self._rungs = rungs_of(self.ladders)
        self._literal = self.whole is None and not problem.constraints.exact
        self._book = Rulebook(top.constraints, top.weight, laxer=self.whole is None)
        slot = problem.constraints.places(problem.cells)
        cells, fields = slot.shape
        masses = np.broadcast_to(problem.constraints.masses(problem.weight), (fields, cells))
        self._cells = Grouping(
            packed(problem.codes, self._rungs), problem.weight.astype(np.int64),
            np.arange(cells + 1, dtype=np.int64) * fields, slot.ravel().astype(np.int32),
            masses.T.ravel(),
        )  # fmt: skip
        self._table = _counted(top)
        self._book.refer(self._table)
        self._work = kernels.make_work(cells, self._book.strict)
        self._made = kernels.make_grouping(self._rungs.words, cells, cells * fields)
        self._bottom: Levels = (0,) * len(self.ladders)
        self._vectors = np.zeros((MOST_KEPT + 1, len(self.ladders)), dtype=np.int64)
        self._classes = np.zeros(MOST_KEPT + 1, dtype=np.int64)
        self._used = np.zeros(MOST_KEPT + 1, dtype=np.int64)
        self._roll(_Kept(self._bottom, self._cells), self._bottom)
        self._merge(self._cells, -1, whole=True)
        self._keep(_Kept(self._bottom, self._copied()))

    def look(self, levels: Levels, room: int = 0, *, bounding: bool = False) -> Verdict:
        """Groups and judges a node where at most `room` rows may be left out.

        Where `bounding`, a failing node is judged until finer nodes are known to fail as well.
        """
        if self._literal:
            return self._look_at_cells(levels, room)
        source = self._source(levels)
        self._roll(source, levels)
        self.looks += 1
        groups, small = self._told(GROUPS), self._told(SMALL)
        tally = Tally(groups, self._told(SQUARES))
        worth = groups <= WORTH * len(source.made.size)
        if small > room and not worth:
            return Verdict(False, small, tally)
        self._merge(source.made, room, whole=worth, bounding=bounding)
        lost = max(float(self._work.lost[0]) - SURE, 0.0)
        if worth:
            self._store(levels)
        surely = small > room or (self._told(FAILED) > room and not self._told(UNSURE))
        if surely or not self._settle(levels, room):
            return Verdict(False, lost, tally)
        return Verdict(True, lost, self._told_tally(levels, tally))

    def _look_at_cells(self, levels: Levels, room: int) -> Verdict:
        """The same where the rules only guide: every class is judged by the requirements.

        Whatever else merging does, it takes no person away: rows in classes of fewer than k are in
        such classes at every finer node.
        """
        problem = self.problem
        self._roll(_Kept(self._bottom, self._cells), levels)
        self.looks += 1
        groups, owner = self._told(GROUPS), self._work.link[OWNER, : problem.cells].copy()
        tally, persons = Tally(groups, self._told(SQUARES)), problem.classes.persons
        lost = self._told(SMALL)
        if persons is not None:
            few = persons.sizes(owner, groups) < problem.constraints.k
            lost = int(problem.weight[few[owner]].sum())
        if lost > room or not self._settle(levels, room, owner):
            return Verdict(False, lost, tally)
        return Verdict(True, lost, self._told_tally(levels, tally))

    def rest_holds(self) -> bool:
        """Whether the classes that fail at the node looked at last keep the rules as one class."""
        rules = self._book.strict
        return not self._told(BROKEN) or bool(kernels.rest_keeps(self._made, rules, self._work))

    def sizes(self, levels: Levels) -> Tally:
        """The classes of a node, not judged."""
        self._roll(self._source(levels), levels)
        return Tally(self._told(GROUPS), self._told(SQUARES))

    def label(self, levels: Levels, room: int = 0) -> Ints:
        """The class of each cell at a node; −1 for cells that leave."""
        cells = self.problem.cells
        self._roll(_Kept(self._bottom, self._cells), levels)
        self._merge(self._cells, self.problem.rows, whole=True)
        owner = self._work.link[OWNER, :cells].copy()
        self._settle(levels, room, owner)
        state = self._work.state[: self._told(GROUPS)]
        return np.where(state[owner] == FINE, owner, -1)

    def touch_all(self, levels: Levels) -> None:
        """Calls every kernel once."""
        self._roll(self._source(levels), levels)
        self._merge(self._kept[0].made, self.problem.rows, whole=True)
        kernels.released(self._made, self._work, np.zeros(len(self._table), dtype=np.int64))
        kernels.judge_again(self._made, self._book.strict, self._book.lenient, self._work)
        kernels.left_out(self._made, np.array(levels), self._rungs, self.price, self._work)
        kernels.rest_keeps(self._made, self._book.strict, self._work)

    def _told(self, what: int) -> int:
        return int(self._work.told[what])

    def _told_tally(self, levels: Levels, tally: Tally) -> Tally:
        if not self._told(BROKEN):
            return tally
        squares, price = kernels.left_out(
            self._made, np.array(levels), self._rungs, self.price, self._work
        )
        return replace(
            tally, left_rows=self._told(FAILED), left_classes=self._told(BROKEN),
            left_squares=int(squares), left_price=float(price),
        )  # fmt: skip

    def _roll(self, source: _Kept, levels: Levels) -> None:
        change = [
            (at, new) for at, (old, new) in enumerate(zip(source.levels, levels, strict=True))
            if old != new
        ]  # fmt: skip
        kernels.regroup(
            source.made, np.array(change, dtype=np.int64).reshape(-1, 2), self._rungs,
            self.problem.constraints.k, self._made, self._work,
        )  # fmt: skip
        self.effort += STEP + PER_CLASS * len(source.made.size)

    def _merge(self, source: Grouping, room: int, *, whole: bool, bounding: bool = False) -> None:
        self.effort += PER_ENTRY * len(source.slot)
        kernels.merge(
            source, self._made, room, whole, bounding, self._book.strict, self._book.lenient,
            self._work,
        )  # fmt: skip

    def _settle(self, levels: Levels, room: int, owner: Ints | None = None) -> bool:
        """Lets failing classes leave until none fails; whether some rows are left, and enough."""
        constraints = self.problem.constraints
        if self._literal or self._told(UNSURE) or constraints.uncompiled or constraints.supersets:
            return self._settle_by_requirements(levels, room, owner)
        if not self._told(BROKEN) or self.reference == "table":
            return self._enough(room)
        book, failing = self._book, self._told(BROKEN)
        count = np.zeros(len(self._table), dtype=np.int64)
        while failing and self._enough(room):
            kernels.released(self._made, self._work, count)
            book.refer(count)
            failing = int(kernels.judge_again(self._made, book.strict, book.lenient, self._work))
            self.effort += STEP
        book.refer(self._table)
        if self._told(UNSURE):
            return self._settle_by_requirements(levels, room, owner)
        return self._enough(room)

    def _enough(self, room: int) -> bool:
        return self._told(FAILED) <= room and self._told(BROKEN) < self._told(GROUPS)

    def _settle_by_requirements(self, levels: Levels, room: int, owner: Ints | None) -> bool:
        """The same by the requirements themselves."""
        problem, requirements = self.problem, self.problem.constraints.requirements
        if owner is None:
            self._roll(_Kept(self._bottom, self._cells), levels)
            owner = self._work.link[OWNER, : problem.cells].copy()
        groups = self._told(GROUPS)
        judge, size = self._judge, np.bincount(owner, problem.weight, groups).astype(np.int64)
        gone = np.zeros(groups, dtype=bool)
        while True:
            self.effort += 10 * STEP + PER_CLASS * problem.cells
            rank = np.cumsum(~gone) - 1
            label = np.where(gone[owner], -1, rank[owner])
            alive = np.flatnonzero(~gone)
            if self.reference == "table":  # what has left still counts in the reference
                label = np.where(label < 0, len(alive), label)
            failing = np.zeros(0, dtype=bool)
            if len(alive):
                climbs = self.climbs(levels, label)
                failing = judge.failing(label, requirements, climbs)[: len(alive)]
            gone[alive[failing]] = True
            if not failing.any() or int(size[gone].sum()) > room or self.reference == "table":
                break
        self._work.state[:groups] = np.where(gone, CLOSE, FINE)
        self._work.told[FAILED], self._work.told[BROKEN] = size[gone].sum(), gone.sum()
        return self._enough(room)

    def climbs(self, levels: Levels, label: Ints) -> list[list[Ints]] | None:
        """The group of each class at the node's level and at all above it, column by column; None
        where no superset is asked for."""
        if not self.problem.constraints.supersets:
            return None
        kept = np.flatnonzero(label >= 0)
        _, first = np.unique(label[kept], return_index=True)
        codes = self.problem.codes[kept[first]]
        return [
            [ladder.group[up][codes[:, at]] for up in range(level, ladder.levels)]
            for at, (ladder, level) in enumerate(zip(self.ladders, levels, strict=True))
        ]

    @cached_property
    def _judge(self) -> Judge:
        return Judge(self.problem)

    def _source(self, levels: Levels) -> _Kept:
        at = kernels.nearest_source(
            self._vectors, self._classes, len(self._kept), np.array(levels, dtype=np.int64)
        )
        self._used[at] = self.looks
        return self._kept[int(at)]

    def _store(self, levels: Levels) -> None:
        """Keeps the grouping at hand, and gives up others where there is no room."""
        one = _Kept(levels, self._copied())
        while len(self._kept) > 1 and (
            len(self._kept) >= MOST_KEPT or self.held + one.bytes > self.room
        ):
            self._give_up(1 + int(np.argmin(self._used[1 : len(self._kept)])))
        if self.held + one.bytes <= self.room:
            self._keep(one)

    def _keep(self, one: _Kept) -> None:
        at = len(self._kept)
        self._kept.append(one)
        self.held += one.bytes
        self._vectors[at], self._classes[at] = one.levels, len(one.made.size)
        self._used[at] = self.looks

    def _copied(self) -> Grouping:
        return kernels.trimmed(self._made, self._told(GROUPS), self._told(ENTRIES))

    def _give_up(self, at: int) -> None:
        self.held -= self._kept[at].bytes
        last = len(self._kept) - 1
        self._kept[at] = self._kept[last]
        for each in (self._vectors, self._classes, self._used):
            each[at] = each[last]
        self._kept.pop()


def rehearse(problem: Problem, ladders: Sequence[Ladder]) -> None:
    """Has the kernels compiled (the first use of a machine takes a while) before time counts."""
    few = problem.excerpt()
    few = replace(few, constraints=replace(few.constraints, uncompiled=()))
    roller = Roller(few, ladders, np.zeros(sum(one.group.size for one in ladders)))
    roller.touch_all(tuple(one.levels - 1 for one in ladders))


def _counted(problem: Problem) -> Ints:
    """The rows in each slot of a histogram of the whole table."""
    place = problem.constraints.places(problem.cells)
    masses = np.broadcast_to(problem.constraints.masses(problem.weight), place.T.shape)
    slots = problem.constraints.base[-1]
    return np.bincount(place.ravel(), masses.T.ravel(), slots).astype(np.int64)
