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
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.base.constraints import ConstraintSet
from tclose.kernels.partition.grouping import Grouping, NodeGrouping
from tclose.requirements.constraint import ConstraintKind, Constraints
from tclose.search.full_domain.lattice import Ladder, Levels, lay_out_keys, pack_keys
from tclose.search.full_domain.measures import NodeTally
from tclose.search.judge import Judge
from tclose.search.kernel_arrays import CLEARANCE, MARGIN, count_slots, make_constraint_set
from tclose.search.problem import SearchProblem

Ints = NDArray[np.int64]
Reference = Literal["released", "table"]

MOST_KEPT = 512
WORTH = 0.5
"""A grouping is kept if it has at most this share of its source's classes."""
STEP, PER_CLASS, PER_ENTRY = 1e-4, 5e-8, 2e-8
"""Seconds of an ordinary core: a look at a node, a source class grouped, an entry added up."""
SURE_ROWS = 1e-3
"""Far above what rounding can add to a sum of distances over all classes."""
_IN_WHOLE_NUMBERS = (ConstraintKind.EMD, ConstraintKind.SHARE, ConstraintKind.GAIN)
_BY_LOGARITHMS = (ConstraintKind.ENTROPY, ConstraintKind.BAND, ConstraintKind.KL, ConstraintKind.JS)


@dataclass(frozen=True)
class NodeVerdict:
    """How a node stands: whether a release comes of it, and what counts for its loss."""

    feasible: bool
    lost: float
    """So many rows at least are lost here and at every finer node."""
    tally: NodeTally


class _Kept(NamedTuple):
    """A grouping that is kept as a source."""

    levels: Levels
    grouping: Grouping


class ConstraintPair:
    """Constraints twice: `strict`, and `lenient` by what rounding may have cost.

    What the strict ones accept is kept, and what the lenient ones refuse is broken; in between the
    requirements decide. The lenient set is empty where the strict one is exact. Closeness to a
    superset is in neither.
    """

    def __init__(self, constraints: Constraints, rows: Ints, *, lenient: bool) -> None:
        compiled = tuple(each for each in constraints.compiled if not each.need)
        total = constraints.rows(rows)
        self.strict: ConstraintSet = make_constraint_set(constraints, compiled, total)
        needed = lenient and self._rounds(total)
        self.lenient: ConstraintSet = make_constraint_set(
            constraints, compiled if needed else (), total
        )

    def _rounds(self, total: int) -> bool:
        """Whether a constraint is decided by rounded numbers."""
        kinds = self.strict.arrays.rows["kind"]
        beyond = self.strict.arrays.rows["largest_exact"] < total
        in_whole_numbers = np.isin(kinds, _IN_WHOLE_NUMBERS)
        return bool(np.isin(kinds, _BY_LOGARITHMS).any() or (in_whole_numbers & beyond).any())

    def refer_to(self, slot_rows: Ints) -> None:
        """Makes released rows (by slot) what classes are compared with."""
        strict, lenient = self.strict.arrays, self.lenient.arrays
        strict.refer_to(slot_rows)
        if not len(lenient.rows):
            return
        lenient.refer_to(slot_rows)
        lenient.share_lower[:] = strict.share_lower * (1 - 3 * CLEARANCE)
        lenient.share_upper[:] = strict.share_upper * (1 + 3 * CLEARANCE)
        for row, exact in zip(lenient.rows, strict.rows, strict=True):
            row["threshold"] = _relax(int(exact["kind"]), float(exact["threshold"]))


def _relax(kind: int, threshold: float) -> float:
    if kind == ConstraintKind.ENTROPY:
        return threshold - 3 * MARGIN
    if kind in (ConstraintKind.KL, ConstraintKind.JS):
        return threshold + 3 * MARGIN
    return threshold * (1 + 3 * CLEARANCE) + 3 * CLEARANCE


@dataclass
class Roller:
    """Looks at nodes of one problem's lattice."""

    problem: SearchProblem
    ladders: Sequence[Ladder]
    price: NDArray[np.float64]
    """What a row left out costs, by column, level and code (`ByColumns.price`)."""
    reference: Reference = "released"
    memory: int | None = None
    """Bytes of groupings that are kept; None: as many as the problem's objective says."""
    whole: SearchProblem | None = None
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
        self.room = problem.objective.memory if self.memory is None else self.memory
        top = problem if self.whole is None else self.whole
        self._literal = self.whole is None and not problem.constraints.exact
        self._pair = ConstraintPair(top.constraints, top.rows, lenient=self.whole is None)
        self._table = count_slots(top.constraints, top.constraints.masses(top.rows))
        self._pair.refer_to(self._table)
        layout = lay_out_keys(self.ladders)
        slots = problem.constraints.places(problem.n_cells)
        cells, fields = slots.shape
        weights = np.broadcast_to(problem.constraints.masses(problem.rows), (fields, cells))
        raw = Grouping(
            pack_keys(problem.codes, layout), problem.rows.astype(np.int64),
            np.arange(cells + 1, dtype=np.int64) * fields, slots.ravel().astype(np.int32),
            weights.T.ravel(),
        )  # fmt: skip
        self._node = NodeGrouping(
            layout, self._pair.strict, self._pair.lenient, cells, cells * fields
        )
        self._raw = _Kept((0,) * len(self.ladders), raw)
        """The cells themselves."""
        self._vectors = np.zeros((MOST_KEPT + 1, len(self.ladders)), dtype=np.int64)
        self._classes = np.zeros(MOST_KEPT + 1, dtype=np.int64)
        self._used = np.zeros(MOST_KEPT + 1, dtype=np.int64)
        self._roll(self._raw, self._raw.levels)
        self._merge(raw, -1, whole=True)
        self._keep(_Kept(self._raw.levels, self._node.made.copy()))

    def look(self, levels: Levels, room: int = 0, *, bounding: bool = False) -> NodeVerdict:
        """Groups and judges a node where at most `room` rows may be left out.

        Where `bounding`, a failing node is judged until finer nodes are known to fail as well.
        """
        if self._literal:
            return self._look_at_cells(levels, room)
        source = self._source(levels)
        self._roll(source, levels)
        self.looks += 1
        groups, small = self._node.made.n_classes, self._node.small_rows
        tally = NodeTally(groups, self._node.sum_of_squares)
        worth = groups <= WORTH * source.grouping.n_classes
        if small > room and not worth:
            return NodeVerdict(False, small, tally)
        self._merge(source.grouping, room, whole=worth, bounding=bounding)
        lost = max(self._node.lost_rows - SURE_ROWS, 0.0)
        if worth:
            self._store(levels)
        surely = small > room or (self._node.failed_rows > room and not self._node.n_unsure)
        feasible = not surely and self._drop_failing(levels, room)
        return NodeVerdict(feasible, lost, self._add_failed(levels, tally) if feasible else tally)

    def _look_at_cells(self, levels: Levels, room: int) -> NodeVerdict:
        """The same where the rules only guide: every class is judged by the requirements.

        Whatever else merging does, it takes no person away: rows in classes of fewer than k are in
        such classes at every finer node.
        """
        problem, owner = self.problem, self._group_cells(levels)
        self.looks += 1
        groups, persons = self._node.made.n_classes, problem.classes.persons
        tally, lost = NodeTally(groups, self._node.sum_of_squares), self._node.small_rows
        if persons is not None:
            few = persons.sizes(owner, groups) < problem.constraints.k
            lost = int(problem.rows[few[owner]].sum())
        feasible = lost <= room and self._drop_failing(levels, room, owner)
        return NodeVerdict(feasible, lost, self._add_failed(levels, tally) if feasible else tally)

    def rest_holds(self) -> bool:
        """Whether the classes that fail at the node looked at last keep the rules as one class."""
        return not self._node.n_failed or self._node.rest_keeps()

    def sizes(self, levels: Levels) -> NodeTally:
        """The classes of a node, not judged."""
        self._roll(self._source(levels), levels)
        return NodeTally(self._node.made.n_classes, self._node.sum_of_squares)

    def label(self, levels: Levels, room: int = 0) -> Ints:
        """The class of each cell at a node; −1 for cells that leave."""
        owner = self._group_cells(levels)
        self._merge(self._raw.grouping, self.problem.n_rows, whole=True)
        self._drop_failing(levels, room, owner)
        label: Ints = self._node.label_cells(self.problem.n_cells)
        return label

    def _group_cells(self, levels: Levels) -> Ints:
        """The class of each cell at a node, grouped from the cells themselves."""
        self._roll(self._raw, levels)
        owner: Ints = self._node.owner[: self.problem.n_cells].copy()
        return owner

    def _add_failed(self, levels: Levels, tally: NodeTally) -> NodeTally:
        if not self._node.n_failed:
            return tally
        squares, price = self._node.price_of_failed(np.array(levels, dtype=np.int64), self.price)
        return replace(
            tally, left_rows=self._node.failed_rows, left_classes=self._node.n_failed,
            left_squares=squares, left_price=price,
        )  # fmt: skip

    def _roll(self, source: _Kept, levels: Levels) -> None:
        changes = [
            (at, new) for at, (old, new) in enumerate(zip(source.levels, levels, strict=True))
            if old != new
        ]  # fmt: skip
        self._node.regroup(source.grouping, np.array(changes, dtype=np.int64).reshape(-1, 2))
        self.effort += STEP + PER_CLASS * source.grouping.n_classes

    def _merge(self, source: Grouping, room: int, *, whole: bool, bounding: bool = False) -> None:
        self.effort += PER_ENTRY * source.n_entries
        self._node.merge(source, room, whole, bounding)

    def _drop_failing(self, levels: Levels, room: int, owner: Ints | None = None) -> bool:
        """Lets failing classes leave until none fails; whether some rows are left, and enough."""
        constraints = self.problem.constraints
        if self._literal or self._node.n_unsure or constraints.uncompiled or constraints.supersets:
            return self._drop_by_requirements(levels, room, owner)
        if not self._node.n_failed or self.reference == "table":
            return self._enough(room)
        failing = self._node.n_failed
        while failing and self._enough(room):
            self._pair.refer_to(self._node.count_released())
            failing = self._node.judge_again()
            self.effort += STEP
        self._pair.refer_to(self._table)
        if self._node.n_unsure:
            return self._drop_by_requirements(levels, room, owner)
        return self._enough(room)

    def _enough(self, room: int) -> bool:
        return self._node.failed_rows <= room and self._node.n_failed < self._node.made.n_classes

    def _drop_by_requirements(self, levels: Levels, room: int, owner: Ints | None) -> bool:
        """The same by the requirements themselves."""
        problem, requirements = self.problem, self.problem.constraints.requirements
        if owner is None:
            owner = self._group_cells(levels)
        groups = self._node.made.n_classes
        judge, size = self._judge, np.bincount(owner, problem.rows, groups).astype(np.int64)
        gone = np.zeros(groups, dtype=bool)
        while True:
            self.effort += 10 * STEP + PER_CLASS * problem.n_cells
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
        self._node.overrule(gone, int(size[gone].sum()))
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
        is_finer = (self._vectors[: len(self._kept)] <= np.array(levels)).all(axis=1)
        finer = np.flatnonzero(is_finer)
        at = int(finer[np.argmin(self._classes[finer])])
        self._used[at] = self.looks
        return self._kept[at]

    def _store(self, levels: Levels) -> None:
        """Keeps the grouping at hand, and gives up others where there is no room."""
        kept = _Kept(levels, self._node.made.copy())
        while len(self._kept) > 1 and (
            len(self._kept) >= MOST_KEPT or self.held + kept.grouping.n_bytes > self.room
        ):
            self._give_up(1 + int(np.argmin(self._used[1 : len(self._kept)])))
        if self.held + kept.grouping.n_bytes <= self.room:
            self._keep(kept)

    def _keep(self, kept: _Kept) -> None:
        at = len(self._kept)
        self._kept.append(kept)
        self.held += kept.grouping.n_bytes
        self._vectors[at], self._classes[at] = kept.levels, kept.grouping.n_classes
        self._used[at] = self.looks

    def _give_up(self, at: int) -> None:
        self.held -= self._kept[at].grouping.n_bytes
        last = len(self._kept) - 1
        self._kept[at] = self._kept[last]
        for each in (self._vectors, self._classes, self._used):
            each[at] = each[last]
        self._kept.pop()
