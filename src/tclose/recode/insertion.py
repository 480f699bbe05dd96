"""New rows put into the classes of a plan, or held back; what is released keeps the promise.

| the plan has | a new row goes | what does not fit |
|---|---|---|
| levels | where its values' groups are | held back class by class |
| cuts | the way the cuts send it | held back class by class |
| classes only | to the nearest class that keeps the promise with it | held back |

A class is released as what it was, widened where a row in it needs that. A row with a value beyond
everything that was released (beyond the outermost ends, below no common group, in no set, missing
where nothing was) is outside: it is not released, and no class is widened for it. By levels, which
do not depend on the rows, only a value that the hierarchy does not know is outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Insertion:
    """New rows recoded by a plan, and how many were not released, and why."""

    recoding: Recoding
    way: Way
    outside: int
    """Rows with values beyond everything that was released."""
    held_back: int
    """Rows that have a class but would break the promise there."""
    widened: int
    """Classes that cover more than the plan says, so as to take new rows."""


def insert_cells(bound: BoundTable, plan: Plan, population: Cells | None = None) -> Insertion:
    """Puts each new row into a class of the plan where the promise holds, as far as there is one.

    The promise is judged on the rows that are released, by what they are released as, with the
    policy's own requirements.
    """
    _refuse_other_columns(bound, plan)
    _refuse_centroids(plan)
    if plan.levels is not None:
        return _insert_by_levels(bound, plan.columns, plan.levels, population)
    shapes = read_shapes(plan.columns, bound, plan.border_labels)
    everyone = np.arange(len(bound.cells.rows))
    if plan.cuts:
        choice = _drop_outside(shapes, follow_cuts(plan.cuts, shapes))[:, None]
    else:
        choice = find_nearest_classes(shapes, everyone, MOST_ROUNDS)
    incoming = IncomingRows(bound, population, shapes, plan.columns, everyone, choice)
    label, wide = incoming.find_classes(np.full(len(everyone), -1))
    used = np.unique(label[label >= 0])
    changed = np.any(
        [after.differs_from(before) for before, after in zip(shapes, wide, strict=True)], axis=0
    )
    recoding = incoming.recode(wide, label)
    return _report(bound, plan.way, recoding, choice[:, 0] < 0, int(changed[used].sum()))


def _insert_by_levels(
    bound: BoundTable,
    columns: Sequence[Released],
    levels: Mapping[str, int],
    population: Cells | None,
) -> Insertion:
    """Every row in the class of its values' groups; classes that break the promise are held back.

    Holding rows back changes what the others are compared with, so that is repeated.
    """
    recoding = recode_by_levels(bound, columns, levels)
    label = recoding.label
    while (failing := find_failing_cells(bound, population, label, recoding.released)).any():
        label = np.where(failing, -1, label)
    kept = recoding.with_label(label, bound.cells.rows)
    return _report(bound, "levels", kept, recoding.label < 0, 0)


def _report(
    bound: BoundTable, way: Way, recoding: Recoding, outside: Flags, widened: int
) -> Insertion:
    rows = bound.cells.rows
    beyond = int(rows[outside].sum())
    held_back = int(rows[recoding.label < 0].sum()) - beyond
    return Insertion(recoding, way, beyond, held_back, widened)


def _drop_outside(shapes: Sequence[Shape], label: Ints) -> Ints:
    """The same classes for the cells that they cover or may be widened to; −1 for others."""
    cells = np.flatnonzero(label >= 0)
    fits = np.ones(len(cells), dtype=bool)
    for shape in shapes:
        fits &= shape.covers(cells, label[cells]) | shape.inside[cells]
    result = np.full(len(label), -1, dtype=np.int64)
    result[cells[fits]] = label[cells[fits]]
    return result


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
        """Every cell in its nearest class that keeps the promise; −1 for those that find none.

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
        """Classes that were widened for some rows, in words and with what they lose."""
        each = np.stack([shape.losses() for shape in wide], axis=1)
        names = [shape.column.name for shape in wide]
        codes = np.stack([shape.code for shape in wide], axis=1)
        quasi = Quasi(tuple(shape.column for shape in wide), codes)
        loss = weigh_loss(names, each, self.bound.cells.rows, label)
        return Recoding(label, self.write(wide), loss, quasi)


def _in_smaller_half(label: Ints, failing: Flags, weight: Ints) -> Flags:
    """Those in the smaller half of the failing classes; the larger ones may yet be joined."""
    inside = np.flatnonzero(failing)
    classes, owner = np.unique(label[inside], return_inverse=True)
    rows = np.bincount(owner, weight[inside], len(classes))
    rank = np.empty(len(classes), dtype=np.int64)
    rank[np.argsort(rows, kind="stable")] = np.arange(len(classes))
    result = np.zeros(len(failing), dtype=bool)
    result[inside] = rank[owner] < (len(classes) + 1) // 2
    return result


def _last_to_come(label: Ints, tried: Ints, failing: Flags) -> Ints:
    """Those that must leave: of each failing class, those that came to it last."""
    latest = np.zeros(int(label.max()) + 1, dtype=np.int64)
    inside = np.flatnonzero(failing)
    np.maximum.at(latest, label[inside], tried[inside])
    result: Ints = inside[tried[inside] == latest[label[inside]]]
    return result


def _every_other(label: Ints, moved: Ints) -> Ints:
    """Of some cells of each class, the first, the third, and so on."""
    order = moved[np.argsort(label[moved], kind="stable")]
    owner = label[order]
    first = np.searchsorted(owner, owner)
    result: Ints = order[(np.arange(len(order)) - first) % 2 == 0]
    return result


def _refuse_other_columns(bound: BoundTable, plan: Plan) -> None:
    mine, theirs = set(bound.classes.quasi), {released.column for released in plan.columns}
    if mine != theirs:
        raise UsageError(
            "the plan recodes other quasi-identifiers than the table has",
            where="plan",
            hint=f"it recodes {', '.join(sorted(theirs))}",
        )


def _refuse_centroids(plan: Plan) -> None:
    if any(released.kind in ("mean", "median", "mode") for released in plan.columns):
        raise UsageError(
            "the plan names classes by a central value, which does not say who belongs to them",
            where="plan",
            hint='make the plan with release.recoding = "local"',
        )
