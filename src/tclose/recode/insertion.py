"""New rows put into the classes of a plan, or held back; what is released keeps the promise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.errors import PolicyError, UsageError
from tclose.privacy import promises_of
from tclose.recode.plan import Plan
from tclose.table.cells import Cells
from tclose.table.check import Bound, narrowed
from tclose.table.classes import partitioned
from tclose.table.matching import covering_classes, covers_of

MOST_ROUNDS = 40

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Insertion:
    """The class of each new cell (−1: not released), and how many rows were not, and why."""

    label: Ints
    outside: int
    """Rows whose values no class of the plan covers."""
    held_back: int
    """Rows that fit a class but would break the promise there."""


def insert_cells(bound: Bound, plan: Plan, population: Cells | None = None) -> Insertion:
    """Gives each new row the narrowest class that covers it and still keeps the promise.

    Rows start in the narrowest class. While classes fail, the rows that came to them last go on to
    the next wider class that covers them; those that have none left are held back. The promise is
    judged on the rows that are released, with the policy's own requirements.
    """
    _same_columns(bound, plan)
    _refuse_centroids(plan)
    start, choice = _candidates(bound, plan)
    tried = np.zeros(len(bound.cells.weight), dtype=np.int64)
    fits = np.diff(start) > 0
    label = np.full(len(fits), -1, dtype=np.int64)
    label[fits] = choice[start[:-1][fits]]
    for turn in range(MOST_ROUNDS + len(fits)):
        failing = _failing(bound, population, label) if (label >= 0).any() else label >= 0
        if not failing.any():
            break
        moved = _evicted(label, tried, failing)
        tried[moved] += 1
        left = (tried[moved] < np.diff(start)[moved]) & (turn < MOST_ROUNDS)
        at = np.minimum(start[moved] + tried[moved], len(choice) - 1)
        label[moved] = np.where(left, choice[at], -1)
    weight = bound.cells.weight
    outside = int(weight[~fits].sum())
    return Insertion(label, outside, int(weight[label < 0].sum()) - outside)


def _same_columns(bound: Bound, plan: Plan) -> None:
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


def _failing(bound: Bound, population: Cells | None, label: Ints) -> NDArray[np.bool_]:
    """Which cells lie in a class that breaks a promise, by the values that are released."""
    result = label >= 0
    kept = result.copy()
    try:
        now = narrowed(bound, kept) if _lacks_values(bound, kept) else bound
    except PolicyError:
        return result  # what is left cannot even be measured
    classes = partitioned(now.classes, label if now is bound else label[kept])
    broken = np.zeros(classes.count, dtype=bool)
    for line in promises_of(now, population):
        seen = classes
        if line.reading == "cross" and line.requirement.attribute:
            others = [name for name in classes.attributes if name != line.requirement.attribute]
            seen = classes.regrouped(others)
        measured = line.requirement.measure(seen)
        broken[seen.origin[measured.fails] if seen is not classes else measured.fails] = True
    result[kept] = broken[classes.cell_class]
    return result


def _lacks_values(bound: Bound, kept: NDArray[np.bool_]) -> bool:
    """Whether a sensitive value of the table, or a missing one, does not occur in these cells."""
    codes = (bound.cells.codes[name] for name in bound.attributes)
    return any(len(np.unique(code[kept])) < len(np.unique(code)) for code in codes)


def _evicted(label: Ints, tried: Ints, failing: NDArray[np.bool_]) -> Ints:
    """The cells that must leave: of each failing class, those that came to it last."""
    classes = int(label.max()) + 1
    latest = np.zeros(classes, dtype=np.int64)
    inside = np.flatnonzero(failing)
    np.maximum.at(latest, label[inside], tried[inside])
    result: Ints = inside[tried[inside] == latest[label[inside]]]
    return result


def _candidates(bound: Bound, plan: Plan) -> tuple[Ints, Ints]:
    """For each cell the classes that cover it, narrowest first: compressed by cell."""
    order = np.argsort(_width(bound, plan), kind="stable")
    tables, classes = [], []
    for one in plan.columns:
        dictionary = bound.cells.dictionaries[one.column]
        labels = list(dict.fromkeys(one.values))
        table = np.zeros((len(labels), dictionary.known + 1), dtype=np.bool_)
        for at, text in enumerate(labels):
            table[at] = covers_of(text, dictionary.labels, bound.hierarchies.get(one.column))
        place = {text: at for at, text in enumerate(labels)}
        tables.append(table)
        classes.append(np.array([place[one.values[at]] for at in order], dtype=np.int64))
    key = np.stack(classes, axis=1)
    cells = np.stack([bound.cells.codes[one.column] for one in plan.columns], axis=1)
    start, choice = covering_classes(tables, key, cells)
    return start, order[choice]


def _width(bound: Bound, plan: Plan) -> NDArray[np.float64]:
    """How much of the new table's domain each class covers, over all columns."""
    total = np.zeros(plan.classes)
    for one in plan.columns:
        dictionary, tree = bound.cells.dictionaries[one.column], bound.hierarchies.get(one.column)
        share = {
            text: float(covers_of(text, dictionary.labels, tree).mean()) for text in set(one.values)
        }
        total += np.array([share[text] for text in one.values])
    return total
