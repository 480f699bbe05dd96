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
from tclose.recode.judging import failing_cells
from tclose.recode.levels import levelled
from tclose.recode.plan.cuts import border_labels, classify
from tclose.recode.plan.model import Plan, Way
from tclose.recode.plan.nearest import nearest_classes
from tclose.recode.plan.parsing import shapes_of
from tclose.recode.plan.shapes import Shape
from tclose.recode.recoding import Recoding
from tclose.recode.values import Released
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
    _same_columns(bound, plan)
    _refuse_centroids(plan)
    if plan.levels is not None:
        return _by_levels(bound, plan.columns, plan.levels, population)
    shapes = shapes_of(plan.columns, bound, border_labels(plan.cuts))
    everyone = np.arange(len(bound.cells.rows))
    if plan.cuts:
        choice = _within(shapes, classify(plan.cuts, shapes))[:, None]
    else:
        choice = nearest_classes(shapes, everyone, MOST_ROUNDS)
    guests = Guests(bound, population, shapes, plan.columns, everyone, choice)
    label, wide = guests.settled(np.full(len(everyone), -1))
    used = np.unique(label[label >= 0])
    changed = np.zeros(plan.classes, dtype=bool)
    for before, after in zip(shapes, wide, strict=True):
        changed |= after.changed(before)
    recoding = recoding_of(bound, shapes, wide, plan.columns, label)
    return _inserted(bound, plan.way, recoding, choice[:, 0] < 0, int(changed[used].sum()))


def _by_levels(
    bound: BoundTable,
    columns: Sequence[Released],
    levels: Mapping[str, int],
    population: Cells | None,
) -> Insertion:
    """Every row in the class of its values' groups; classes that break the promise are held back.

    Holding rows back changes what the others are compared with, so that is repeated.
    """
    words, label, quasi, each = levelled(bound, columns, levels)
    outside = label < 0
    while (failing := failing_cells(bound, population, label, words)).any():
        label = np.where(failing, -1, label)
    names = [one.column for one in words]
    loss = weigh_loss(names, each, bound.cells.rows, label)
    return _inserted(bound, "levels", Recoding(label, words, loss, quasi), outside, 0)


def _inserted(
    bound: BoundTable, way: Way, recoding: Recoding, outside: Flags, widened: int
) -> Insertion:
    weight = bound.cells.rows
    beyond = int(weight[outside].sum())
    held_back = int(weight[recoding.label < 0].sum()) - beyond
    return Insertion(recoding, way, beyond, held_back, widened)


def recoding_of(
    bound: BoundTable,
    before: Sequence[Shape],
    after: Sequence[Shape],
    words: Sequence[Released],
    label: Ints,
) -> Recoding:
    """Classes that were widened for some rows, in words and with what they lose."""
    each = np.stack([shape.losses() for shape in after], axis=1)
    names = [shape.column.name for shape in after]
    quasi = Quasi(
        tuple(shape.column for shape in after), np.stack([one.code for one in after], axis=1)
    )
    return Recoding(
        label, in_words(before, after, words),
        weigh_loss(names, each, bound.cells.rows, label), quasi,
    )  # fmt: skip


def in_words(
    before: Sequence[Shape], after: Sequence[Shape], words: Sequence[Released]
) -> tuple[Released, ...]:
    """What every class is released as after it was widened."""
    return tuple(new.released(old, one) for old, new, one in zip(before, after, words, strict=True))


def _within(shapes: Sequence[Shape], label: Ints) -> Ints:
    """The same classes for the cells whose values they cover or may be widened to."""
    cells = np.flatnonzero(label >= 0)
    fits = np.ones(len(cells), dtype=bool)
    for shape in shapes:
        fits &= shape.covers(cells, label[cells]) | shape.inside[cells]
    result = np.full(len(label), -1, dtype=np.int64)
    result[cells[fits]] = label[cells[fits]]
    return result


@dataclass(frozen=True)
class Guests:
    """Cells that look for a class among several, nearest first, while others keep theirs."""

    bound: BoundTable
    population: Cells | None
    shapes: Sequence[Shape]
    words: Sequence[Released]
    cells: Ints
    choice: Ints
    """[guests, turns]: the classes that each may go to, −1 where there are no more."""
    gently: bool = False
    """Whether only every other one of them leaves at a time."""

    def settled(self, label: Ints) -> tuple[Ints, tuple[Shape, ...]]:
        """Every guest in its nearest class that keeps the promise; −1 for those that find none.

        While classes fail, the guests that came last to the smaller half of these go on to their
        next choice: if all of them went on at once, few rows would never meet in one class.
        """
        turns = self.choice.shape[1]
        tried = np.zeros(len(self.cells), dtype=np.int64)
        label = label.copy()
        label[self.cells] = self.choice[:, 0]
        for turn in range(MOST_ROUNDS + len(self.cells) + 1):
            wide = self.widened(label)
            words = in_words(self.shapes, wide, self.words)
            failing = failing_cells(self.bound, self.population, label, words)
            if not failing[self.cells].any():
                break
            here = failing[self.cells]
            if turns > 1 and turn < MOST_ROUNDS:
                here = here & _smaller_half(label[self.cells], here, self.weight)
            moved = _evicted(label[self.cells], tried, here)
            if self.gently:
                moved = _every_other(label[self.cells], moved)
            tried[moved] += 1
            left = (tried[moved] < turns) & (turn < MOST_ROUNDS)
            at = np.minimum(tried[moved], turns - 1)
            label[self.cells[moved]] = np.where(left, self.choice[moved, at], -1)
        return label, wide

    @property
    def weight(self) -> Ints:
        """How many rows each guest stands for."""
        return self.bound.cells.rows[self.cells]

    def widened(self, label: Ints) -> tuple[Shape, ...]:
        """The classes with the guests that they have."""
        here = self.cells[label[self.cells] >= 0]
        return tuple(shape.widened(here, label[here]) for shape in self.shapes)


def _smaller_half(label: Ints, failing: Flags, weight: Ints) -> Flags:
    """The guests of the smaller half of the failing classes; the larger ones may yet be joined."""
    inside = np.flatnonzero(failing)
    classes, owner = np.unique(label[inside], return_inverse=True)
    rows = np.bincount(owner, weight[inside], len(classes))
    rank = np.empty(len(classes), dtype=np.int64)
    rank[np.argsort(rows, kind="stable")] = np.arange(len(classes))
    result = np.zeros(len(failing), dtype=bool)
    result[inside] = rank[owner] < (len(classes) + 1) // 2
    return result


def _evicted(label: Ints, tried: Ints, failing: Flags) -> Ints:
    """The guests that must leave: of each failing class, those that came to it last."""
    latest = np.zeros(int(label.max()) + 1, dtype=np.int64)
    inside = np.flatnonzero(failing)
    np.maximum.at(latest, label[inside], tried[inside])
    result: Ints = inside[tried[inside] == latest[label[inside]]]
    return result


def _every_other(label: Ints, moved: Ints) -> Ints:
    """Of some guests of each class, the first, the third, and so on."""
    order = moved[np.argsort(label[moved], kind="stable")]
    owner = label[order]
    first = np.searchsorted(owner, owner)
    result: Ints = order[(np.arange(len(order)) - first) % 2 == 0]
    return result


def _same_columns(bound: BoundTable, plan: Plan) -> None:
    mine, theirs = set(bound.classes.quasi), {one.column for one in plan.columns}
    if mine != theirs:
        raise UsageError(
            "the plan recodes other quasi-identifiers than the table has",
            where="plan",
            hint=f"it recodes {', '.join(sorted(theirs))}",
        )


def _refuse_centroids(plan: Plan) -> None:
    if any(one.kind in ("mean", "median", "mode") for one in plan.columns):
        raise UsageError(
            "the plan names classes by a central value, which does not say who belongs to them",
            where="plan",
            hint='make the plan with release.recoding = "local"',
        )
