"""Nodes of the lattice judged: the cells grouped by roll-up, every class decided exactly.

Compiled rules decide; where one is too near its threshold for its arithmetic, where a promise
cannot be compiled and where the rules only guide, the requirements themselves do. Where rows may be
left out, classes that fail leave, the reference is counted anew, and so on until no class fails.
With reference "table" classes are compared with the whole table and leave once; no release may be
published so, but other tools reckon that way. A `Domain` is what the searches walk through.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from tclose.arrays import Floats, Ints
from tclose.errors import InternalError, UsageError
from tclose.kernels.base.constraints import ConstraintSet
from tclose.kernels.partition.grouping import Grouping, NodeGrouping
from tclose.search.full_domain.lattice import (
    Ladder,
    Levels,
    ladders_of,
    lattice_of,
    lay_out_keys,
    pack_keys,
)
from tclose.search.full_domain.measures import NodeVerdict, loss_of, measure_of
from tclose.search.kernel_arrays import ConstraintPair, count_slots
from tclose.search.outcome import Clock, Outcome, Trial
from tclose.search.problem import Climbs, SearchProblem, number_classes

Reference = Literal["released", "table"]

MOST_KEPT = 512
WORTH = 0.5
"""A grouping is kept if it has at most this share of its source's classes."""
STEP, PER_CLASS, PER_ENTRY = 1e-4, 5e-8, 2e-8
"""Seconds of an ordinary core: a look at a node, a source class grouped, an entry added up."""
SURE_ROWS = 1e-3
"""Far above what rounding can add to a sum of distances over all classes."""


class _Kept(NamedTuple):
    """A grouping that is kept as a source."""

    levels: Levels
    grouping: Grouping


class Roller:
    """Looks at nodes of one problem's lattice, where at most `room` rows may be left out.

    `price` is what a row left out costs, by column, level and code (`ByColumns.price`). `whole` is
    the problem that this one is a part of, if classes are compared with all its cells: what the
    rules cannot decide then fails, as requirements judge whole tables only.
    """

    def __init__(
        self,
        problem: SearchProblem,
        ladders: Sequence[Ladder],
        price: Floats,
        clock: Clock,
        room: int = 0,
        *,
        reference: Reference = "released",
        whole: SearchProblem | None = None,
    ) -> None:
        self.problem, self.ladders, self.price, self.clock = problem, ladders, price, clock
        self.room, self.reference = room, reference
        self.looks, self.held = 0, 0
        """Nodes judged, and bytes of the groupings kept; the finest is kept in any case."""
        self._effort = 0.0
        """Of the look under way, in seconds of an ordinary core."""
        top = problem if whole is None else whole
        self._literal = whole is None and not problem.constraints.exact
        self._pair = ConstraintPair(top.constraints, top.rows, lenient=whole is None)
        self._table = count_slots(top.constraints, top.constraints.masses(top.rows))
        self._pair.refer_to(self._table)
        layout = lay_out_keys(ladders)
        slots = problem.constraints.places(problem.n_cells)
        cells, fields = slots.shape
        weights = np.broadcast_to(problem.constraints.masses(problem.rows), (fields, cells))
        raw = Grouping(
            pack_keys(problem.codes, layout), problem.rows.astype(np.int64),
            np.arange(cells + 1, dtype=np.int64) * fields, slots.ravel().astype(np.int32),
            weights.T.ravel(),
        )  # fmt: skip
        self._node = NodeGrouping(
            layout, ConstraintSet(self._pair.strict), ConstraintSet(self._pair.lenient), cells,
            cells * fields,
        )  # fmt: skip
        self._raw = _Kept((0,) * len(ladders), raw)
        """The cells themselves."""
        self._kept: list[_Kept] = []
        """Sources for coarser nodes; the least lately used are given up."""
        self._vectors = np.zeros((MOST_KEPT + 1, len(ladders)), dtype=np.int64)
        self._classes, self._used = np.zeros((2, MOST_KEPT + 1), dtype=np.int64)
        self._roll(self._raw, self._raw.levels)
        self._merge(raw, -1, whole=True)
        self._keep(_Kept(self._raw.levels, self._node.made.copy()))

    def look(self, levels: Levels, *, bounding: bool = False) -> NodeVerdict:
        """Groups and judges a node; `bounding` also asks whether all finer nodes fail."""
        self._effort = 0.0
        self.looks += 1
        verdict = (
            self._look_at_cells(levels)
            if self._literal
            else self._look_at_classes(levels, bounding)
        )
        self.clock.spend(self._effort)
        return verdict

    def _look_at_classes(self, levels: Levels, bounding: bool) -> NodeVerdict:
        source, node, room = self._source(levels), self._node, self.room
        self._roll(source, levels)
        worth = node.made.n_classes <= WORTH * source.grouping.n_classes
        if node.small_rows > room and not worth:
            return self._describe(levels, node.small_rows, feasible=False)
        self._merge(source.grouping, room, whole=worth, bounding=bounding)
        lost = max(node.lost_rows - SURE_ROWS, 0.0)
        if worth:
            self._store(levels)
        surely = node.small_rows > room or (node.failed_rows > room and not node.n_unsure)
        return self._describe(levels, lost, feasible=not surely and self._drop_failing(levels))

    def _look_at_cells(self, levels: Levels) -> NodeVerdict:
        """Judges a node if the compiled rules are only a guide: every class is judged by the
        requirements.

        Whatever else merging does, it takes no person away: rows in classes of fewer than k are in
        such classes at every finer node.
        """
        problem, owner = self.problem, self._group_cells(levels)
        persons, lost = problem.classes.persons, self._node.small_rows
        if persons is not None:
            few = persons.sizes(owner, self._node.made.n_classes) < problem.constraints.k
            lost = int(problem.rows[few[owner]].sum())
        feasible = lost <= self.room and self._drop_failing(levels, owner)
        return self._describe(levels, lost, feasible=feasible)

    def _describe(self, levels: Levels, lost: float, *, feasible: bool) -> NodeVerdict:
        node = self._node
        groups, squares = node.made.n_classes, node.sum_of_squares
        if not feasible or not node.n_failed:
            return NodeVerdict(groups, squares, lost, feasible)
        failed = node.price_of_failed(np.array(levels, dtype=np.int64), self.price)
        return NodeVerdict(
            groups, squares, lost, feasible, node.failed_rows, node.n_failed, *failed
        )

    def rest_holds(self) -> bool:
        """Whether the classes that fail at the node looked at last keep the rules as one class."""
        return not self._node.n_failed or self._node.rest_keeps()

    def sizes(self, levels: Levels) -> NodeVerdict:
        """The classes of a node, not judged."""
        self._effort = 0.0
        self._roll(self._source(levels), levels)
        self.clock.spend(self._effort)
        return self._describe(levels, 0.0, feasible=False)

    def label(self, levels: Levels) -> Ints:
        """The class of each cell at a node; −1 for cells that leave."""
        owner = self._group_cells(levels)
        self._merge(self._raw.grouping, self.problem.n_rows, whole=True)
        self._drop_failing(levels, owner)
        label: Ints = self._node.label_cells(self.problem.n_cells)
        return label

    def _group_cells(self, levels: Levels) -> Ints:
        """The class of each cell at a node, grouped from the cells themselves."""
        self._roll(self._raw, levels)
        owner: Ints = self._node.owner[: self.problem.n_cells].copy()
        return owner

    def _roll(self, source: _Kept, levels: Levels) -> None:
        changes = [
            (at, new) for at, (old, new) in enumerate(zip(source.levels, levels, strict=True))
            if old != new
        ]  # fmt: skip
        self._node.regroup(source.grouping, np.array(changes, dtype=np.int64).reshape(-1, 2))
        self._effort += STEP + PER_CLASS * source.grouping.n_classes

    def _merge(self, source: Grouping, room: int, *, whole: bool, bounding: bool = False) -> None:
        self._effort += PER_ENTRY * source.n_entries
        self._node.merge(source, room, whole, bounding)

    def _drop_failing(self, levels: Levels, owner: Ints | None = None) -> bool:
        """Suppresses failing classes until none fails; returns whether enough rows are left."""
        constraints, node = self.problem.constraints, self._node
        if self._literal or node.n_unsure or constraints.uncompiled or constraints.supersets:
            return self._drop_by_requirements(levels, owner)
        if self.reference == "released":
            failing = node.n_failed
            while failing and self._enough():
                self._pair.refer_to(node.count_released())
                failing = node.judge_again()
                self._effort += STEP
            if node.n_failed:
                self._pair.refer_to(self._table)
            if node.n_unsure:
                return self._drop_by_requirements(levels, owner)
        return self._enough()

    def _enough(self) -> bool:
        node = self._node
        return node.failed_rows <= self.room and node.n_failed < node.made.n_classes

    def _drop_by_requirements(self, levels: Levels, owner: Ints | None) -> bool:
        """Suppresses failing classes as judged by the requirements themselves."""
        problem = self.problem
        if owner is None:
            owner = self._group_cells(levels)
        groups = self._node.made.n_classes
        size = np.bincount(owner, problem.rows, groups).astype(np.int64)
        gone = np.zeros(groups, dtype=bool)
        while True:
            self._effort += 10 * STEP + PER_CLASS * problem.n_cells
            rank = np.cumsum(~gone) - 1
            label = np.where(gone[owner], -1, rank[owner])
            alive = np.flatnonzero(~gone)
            if self.reference == "table":  # what has left still counts in the reference
                label = np.where(label < 0, len(alive), label)
            failing = np.zeros(0, dtype=bool)
            if len(alive):
                climbs = self.climbs(levels, label)
                failing = problem.find_failing(label, climbs)[: len(alive)]
            gone[alive[failing]] = True
            left = int(size[gone].sum())
            if not failing.any() or left > self.room or self.reference == "table":
                break
        self._node.overrule(gone, left)
        return self._enough()

    def climbs(self, levels: Levels, label: Ints) -> Climbs:
        """The group of each class at the node's level and at all levels above it, column by column;
        None if neither supersets nor combinations of columns are required.
        """
        constraints = self.problem.constraints
        if not constraints.supersets and not constraints.whole_columns:
            return None
        kept = np.flatnonzero(label >= 0)
        _, first = np.unique(label[kept], return_index=True)
        codes = self.problem.codes[kept[first]]
        return [
            [ladder.group[up][codes[:, at]] for up in range(level, ladder.levels)]
            for at, (ladder, level) in enumerate(zip(self.ladders, levels, strict=True))
        ]

    def _source(self, levels: Levels) -> _Kept:
        is_finer = (self._vectors[: len(self._kept)] <= np.array(levels)).all(axis=1)
        finer = np.flatnonzero(is_finer)
        at = int(finer[np.argmin(self._classes[finer])])
        self._used[at] = self.looks
        return self._kept[at]

    def _store(self, levels: Levels) -> None:
        """Caches the grouping, dropping others if there is no room."""
        kept, most = _Kept(levels, self._node.made.copy()), self.problem.objective.memory
        while len(self._kept) > 1 and (
            len(self._kept) >= MOST_KEPT or self.held + kept.grouping.n_bytes > most
        ):
            at = 1 + int(np.argmin(self._used[1 : len(self._kept)]))
            self.held -= self._kept[at].grouping.n_bytes
            self._kept[at] = self._kept[-1]
            self._kept.pop()
            for each in (self._vectors, self._classes, self._used):
                each[at] = each[len(self._kept)]
        if self.held + kept.grouping.n_bytes <= most:
            self._keep(kept)

    def _keep(self, kept: _Kept) -> None:
        at = len(self._kept)
        self._kept.append(kept)
        self.held += kept.grouping.n_bytes
        self._vectors[at], self._classes[at] = kept.levels, kept.grouping.n_classes
        self._used[at] = self.looks


class Domain(Roller):
    """A problem with its levels and its measure, and the functions that judge its nodes."""

    def __init__(
        self,
        problem: SearchProblem,
        clock: Clock,
        *,
        reference: Reference = "released",
        suppression: bool = True,
    ) -> None:
        ladders = ladders_of(problem)
        self.lattice = lattice_of(problem, ladders)
        self.measure = measure_of(problem, ladders)
        self.loss = loss_of(problem, ladders)
        room = int(clock.budget.suppression * problem.n_rows) if suppression else 0
        super().__init__(problem, ladders, self.measure.price, clock, room, reference=reference)

    def value(self, levels: Levels, verdict: NodeVerdict) -> float:
        """The loss of the node; infinite if no release is possible."""
        return self.measure.value(levels, verdict) if verdict.feasible else float("inf")

    def outcome(
        self,
        levels: Levels,
        method: str,
        *,
        value: float,
        bound: float | None,
        tried: tuple[Trial, ...] = (),
    ) -> Outcome:
        """The release at a node, every class judged once more by the requirements themselves."""
        self.clock.report("judging every class", now=True)
        problem, label = self.problem, number_classes(self.label(levels))
        judged, climbs = self.reference == "released", self.climbs(levels, label)
        named = None
        if problem.constraints.supersets:
            named = problem.choose_supersets(label, climbs=climbs)
        if judged and problem.find_failing(label, climbs, named).any():
            raise InternalError("a class that the search accepted breaks the promise")
        gone, more = np.flatnonzero(label < 0), 0.0
        for ladder, level, codes in zip(self.ladders, levels, problem.codes[gone].T, strict=True):
            more += float((1.0 - ladder.loss[level][codes]) @ problem.rows[gone])
        loss = self.loss.floor(levels) + more / max(problem.n_rows * len(self.ladders), 1)
        self.clock.loss = loss
        self.clock.report("done", now=True)
        plain = self.measure.name == "iyengar" and not problem.objective.weights
        return Outcome(
            label, loss, method, self.clock.stopped,
            (*tried, Trial("result", loss, self.clock.used)), uses_sensitive=False, levels=levels,
            measure=self.measure.name, value=None if plain else value,
            bound=loss if plain and bound == value else bound, supersets=named,
        )  # fmt: skip


def nothing_found(*, finished: bool) -> UsageError:
    """No node keeps the promise, or none was found in time."""
    if finished:
        what, where, hint = "within the levels allowed keeps the promise", "search.levels", ""
    else:
        what, where, hint = "that keeps the promise was found in time", "search", "more time, "
    return UsageError(
        f"no generalization {what}",
        where=where,
        hint=f"allow {hint}higher levels, or more rows to be left out",
    )
