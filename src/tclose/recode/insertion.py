"""Adds new rows to the classes of a plan, or holds them back, so that the release keeps its
promise.

How a row finds its class, what is widened for it and which rows are outside: release.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tclose.arrays import Flags, Ints
from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells
from tclose.errors import UsageError
from tclose.recode.assignment import follow_cuts
from tclose.recode.levels import recode_by_levels
from tclose.recode.nearest import find_nearest_classes
from tclose.recode.plan import Plan, Way
from tclose.recode.recoding import find_failing_cells
from tclose.recode.shapes import Shape, read_shapes
from tclose.recode.values import Recoding, Released
from tclose.utility.loss import Quasi, weigh_loss

MOST_ROUNDS = 40


@dataclass(frozen=True)
class Applied:
    """How new rows found their classes in a plan, and how many rows and classes that concerned."""

    way: Way
    outside: int
    """Rows with values beyond everything that the plan covers."""
    held_back: int
    """Rows that have a class but would break the promise there."""
    widened: int
    """Classes that are released as more than the plan says, so that they cover their rows."""
    changed: tuple[str, ...] = ()
    """The columns whose hierarchy is not the one that the plan was made with."""
    beyond: Mapping[str, int] = field(default_factory=dict)
    """By column, how many rows have a value beyond all that the plan releases; 0 is left out."""


def insert_cells(
    bound: BoundTable, plan: Plan, population: Cells | None = None
) -> tuple[Recoding, Applied]:
    """Puts each new row into a class of the plan that keeps the promise, as far as there is one."""
    _refuse_unfit(bound, plan)
    own = plan.own_rows.recall(bound) if plan.own_rows is not None else None
    if plan.levels is not None:
        return _insert_by_levels(bound, plan, plan.levels, population, own)
    shapes = read_shapes(plan.columns, bound, plan.border_labels)
    if own is not None and not find_failing_cells(bound, population, own, plan.columns).any():
        everyone = np.arange(len(own))
        as_planned = IncomingRows(bound, population, shapes, plan.columns, everyone, own[:, None])
        recoding = as_planned.recode(shapes, own)
        return recoding, Applied(plan.way, 0, recoding.loss.left_out, 0)
    everyone, fixed = np.arange(len(bound.cells.rows)), bound.policy.limited
    if plan.cuts:
        label = follow_cuts(plan.cuts, shapes)
        cells = np.flatnonzero(label >= 0)
        fits = [
            each.covers(cells, label[cells])
            | (each.inside[cells] & (each.column.name not in fixed))
            for each in shapes
        ]
        label[cells[~np.all(fits, axis=0)]] = -1
        choice = label[:, None]
    else:
        choice = find_nearest_classes(shapes, everyone, MOST_ROUNDS, fixed=fixed)
    incoming = IncomingRows(bound, population, shapes, plan.columns, everyone, choice)
    label, wide = incoming.find_classes(np.full(len(everyone), -1))
    used = np.unique(label[label >= 0])
    pairs = zip(shapes, wide, strict=True)
    changed = np.any([after.differs_from(before) for before, after in pairs], axis=0)
    recoding = incoming.recode(wide, label)
    outside = int(bound.cells.rows[choice[:, 0] < 0].sum())
    held_back = recoding.loss.left_out - outside
    beyond = {each.column.name: int(bound.cells.rows[~each.inside].sum()) for each in shapes}
    beyond = {name: rows for name, rows in beyond.items() if rows}
    n_widened = int(changed[used].sum())
    return recoding, Applied(plan.way, outside, held_back, n_widened, beyond=beyond)


def _insert_by_levels(
    bound: BoundTable,
    plan: Plan,
    levels: Mapping[str, int],
    population: Cells | None,
    own: Ints | None,
) -> tuple[Recoding, Applied]:
    """Assigns rows by levels, again while classes are held back: distributions change then."""
    recoding = recode_by_levels(bound, plan.columns, levels)
    label = recoding.label if own is None else np.where(own < 0, -1, recoding.label)
    while (failing := find_failing_cells(bound, population, label, recoding.released)).any():
        label = np.where(failing, -1, label)
    rows = bound.cells.rows
    outside = int(rows[recoding.label < 0].sum())
    kept = recoding.with_label(label, rows)
    return kept, Applied("levels", outside, kept.loss.left_out - outside, 0)


@dataclass(frozen=True)
class IncomingRows:
    """Cells that look for a class among several, nearest first, while others keep theirs."""

    bound: BoundTable
    population: Cells | None
    shapes: Sequence[Shape]
    words: Sequence[Released]
    cells: Ints
    choice: Ints
    """[cells, turns]: the classes that each may go to, −1 where there are no more."""
    gently: bool = False
    """Whether only every other one of them leaves at a time."""

    def find_classes(self, label: Ints) -> tuple[Ints, tuple[Shape, ...]]:
        """The nearest class of each cell that keeps the promise with it; −1 if there is none.

        While classes fail, the cells that came last to the smaller half of these go on to their
        next choice: if all of them went on at once, few rows would never meet in one class.
        """
        turns = self.choice.shape[1]
        tried = np.zeros(len(self.cells), dtype=np.int64)
        weight = self.bound.cells.rows[self.cells]
        label = label.copy()
        label[self.cells] = self.choice[:, 0]
        for turn in range(MOST_ROUNDS + len(self.cells) + 1):
            inside = self.cells[label[self.cells] >= 0]
            wide = tuple(shape.widen(inside, label[inside]) for shape in self.shapes)
            words = self.write(wide)
            failing = find_failing_cells(self.bound, self.population, label, words)
            here = failing[self.cells]
            if not here.any():
                break
            if turns > 1 and turn < MOST_ROUNDS:
                here = here & _in_smaller_half(label[self.cells], here, weight)
            moved = _last_to_come(label[self.cells], tried, here)
            if self.gently:
                moved = _every_other(label[self.cells], moved)
            tried[moved] += 1
            left = (tried[moved] < turns) & (turn < MOST_ROUNDS)
            at = np.minimum(tried[moved], turns - 1)
            label[self.cells[moved]] = np.where(left, self.choice[moved, at], -1)
        return label, wide

    def write(self, wide: Sequence[Shape]) -> tuple[Released, ...]:
        """What every class is released as after it was widened."""
        columns = zip(self.shapes, wide, self.words, strict=True)
        return tuple(after.write(before, words) for before, after, words in columns)

    def recode(self, wide: Sequence[Shape], label: Ints) -> Recoding:
        """The released values and losses of classes that were widened for new rows."""
        each = np.stack([shape.losses() for shape in wide], axis=1)
        names = [shape.column.name for shape in wide]
        codes = np.stack([shape.code for shape in wide], axis=1)
        quasi = Quasi(tuple(shape.column for shape in wide), codes)
        loss = weigh_loss(names, each, self.bound.cells.rows, label)
        return Recoding(label, self.write(wide), loss, quasi)


def _in_smaller_half(label: Ints, failing: Flags, weight: Ints) -> Flags:
    """The cells in the smaller half of the failing classes; larger ones may still be merged."""
    inside = np.flatnonzero(failing)
    classes, owner = np.unique(label[inside], return_inverse=True)
    smallest = np.argsort(np.bincount(owner, weight[inside]), kind="stable")
    result = np.zeros(len(failing), dtype=bool)
    result[inside] = np.isin(owner, smallest[: (len(classes) + 1) // 2])
    return result


def _last_to_come(label: Ints, tried: Ints, failing: Flags) -> Ints:
    """The cells that must leave: in each failing class those that joined it last."""
    latest = np.zeros(int(label.max()) + 1, dtype=np.int64)
    np.maximum.at(latest, label[failing], tried[failing])
    return np.flatnonzero(failing & (tried == latest[label]))


def _every_other(label: Ints, moved: Ints) -> Ints:
    """Of some cells of each class, the first, the third, and so on."""
    order = moved[np.argsort(label[moved], kind="stable")]
    owner = label[order]
    within = np.arange(len(order)) - np.searchsorted(owner, owner)
    result: Ints = order[within % 2 == 0]
    return result


def _refuse_unfit(bound: BoundTable, plan: Plan) -> None:
    plan.refuse_other_columns(bound)
    if any(released.kind in ("mean", "median", "mode") for released in plan.columns):
        raise UsageError(
            "the plan names classes by a central value, which does not say who belongs to them",
            where="plan",
            hint='make the plan with release.recoding = "local"',
        )
