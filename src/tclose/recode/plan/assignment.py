"""The class of each row by a plan alone: whatever other rows there are, and no class is widened.

A row is outside where its class does not cover it. With levels a row is also outside where no class
of the plan is released as its groups: only what was released before is released again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.data.binding import BoundTable
from tclose.data.encode.classes import group_codes
from tclose.data.encode.labels import ANYTHING
from tclose.data.encode.labels import read_position as number_of
from tclose.errors import UsageError
from tclose.recode.plan.cuts import border_labels, classify
from tclose.recode.plan.hierarchies import extend_hierarchy
from tclose.recode.plan.model import Plan
from tclose.recode.plan.number_line import interval_ends, position, unit_of
from tclose.recode.plan.parsing import shapes_of
from tclose.recode.values import Released

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Placing:
    """The class of each cell (−1: outside), and the columns for which cells are outside."""

    label: Ints
    faults: dict[str, Flags]
    """By column, which cells have a value that no class, or not theirs, covers."""

    @property
    def outside(self) -> Flags:
        """Which cells have no class."""
        return self.label < 0


def placed(bound: BoundTable, plan: Plan) -> Placing:
    """The class of each cell of a table, by the plan's cuts or levels."""
    if plan.levels is not None:
        return _by_levels(bound, plan)
    if not plan.cuts:
        raise UsageError(
            "the plan tells its classes, but neither cuts nor levels that lead to them",
            where="plan",
            hint='make it by "mondrian", "optimal" or "incognito"',
        )
    shapes = shapes_of(plan.columns, bound, border_labels(plan.cuts))
    label = classify(plan.cuts, shapes)
    known = label >= 0
    cells = np.flatnonzero(known)
    faults = {}
    for shape in shapes:
        fault = shape.code < 0
        fault[cells] = ~shape.covers(cells, label[cells])
        faults[shape.column.name] = fault
    outside = np.any(list(faults.values()), axis=0)
    return Placing(np.where(outside, -1, label), faults)


def _by_levels(bound: BoundTable, plan: Plan) -> Placing:
    """By the groups of a row's values, which some class of the plan must be released as."""
    faults, columns = {}, []
    for one in plan.columns:
        number = {word: at for at, word in enumerate(dict.fromkeys(one.values))}
        mine = np.array([number[word] for word in one.values], dtype=np.int64)
        found = [number.get(word, -1) for word in _words(bound, plan, one)]
        code = np.array(found, dtype=np.int64)[bound.cells.codes[one.column]]
        faults[one.column] = code < 0
        columns.append(np.concatenate([mine, code]))
    group, _ = group_codes(columns)
    classes = np.full(int(group.max()) + 1, -1, dtype=np.int64)
    classes[group[: plan.classes]] = np.arange(plan.classes)
    outside = np.any(list(faults.values()), axis=0)
    return Placing(np.where(outside, -1, classes[group[plan.classes :]]), faults)


UNKNOWN = "\0"
"""In place of a word, where a value has no group."""


def _words(bound: BoundTable, plan: Plan, one: Released) -> list[str | None]:
    """What each value of a table, a missing one last, is released as.

    On the last level a whole column is one word, its root; where that is `*` it covers missing
    values, too.
    """
    assert plan.levels is not None
    labels, level = bound.cells.dictionaries[one.column].labels, plan.levels[one.column]
    whole = level > 0 and set(one.values) == {ANYTHING}
    if one.kind == "tree":
        tree = extend_hierarchy(one, bound, ())
        found = [tree.index(text) if tree.contains(text) else tree.leaf_count for text in labels]
        above = tree.ancestors[:, min(level, tree.levels - 1)]
        words = [tree.labels[int(above[at])] if at < tree.leaf_count else UNKNOWN for at in found]
        if whole:
            words = [UNKNOWN if word == UNKNOWN else ANYTHING for word in words]
    elif whole:
        words = [ANYTHING] * len(labels)
    else:
        words = _same_numbers(one, labels) if one.kind == "interval" else list(labels)
    return [*words, ANYTHING if whole else None]


def _same_numbers(one: Released, labels: Sequence[str]) -> list[str]:
    """The released word of each value that is the same number, however it is written."""
    ends = {word: interval_ends(word)[0] for word in one.values if word is not None}
    unit = next((unit_of(end) for end in ends.values() if number_of(end) is None), None)
    spot = {position(end, unit): word for word, end in ends.items()}
    return [spot.get(position(text, unit), UNKNOWN) for text in labels]
