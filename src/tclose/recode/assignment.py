"""The class of each row by a plan alone: whatever other rows there are, and no class is widened.

A row is outside where its class does not cover it. With levels a row is also outside where no class
of the plan is released as its groups: only what was released before is released again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.data.binding import BoundTable
from tclose.data.encode.classes import group_codes
from tclose.data.encode.labels import ANYTHING
from tclose.errors import UsageError
from tclose.recode.plan import Plan, PlanClass, PlanCut, PlanNode
from tclose.recode.shapes import (
    NumberLine,
    Shape,
    extend_hierarchy,
    find_position,
    find_unit,
    interval_ends,
    read_shapes,
)
from tclose.recode.values import Released

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

NOBODY = np.zeros(0, dtype=np.int64)
UNKNOWN = "\0"
"""In place of a word, where a value has no group."""


@dataclass(frozen=True)
class PlanAssignment:
    """The class of each cell (−1: outside), and the columns for which cells are outside."""

    label: Ints
    faults: dict[str, Flags]
    """By column, which cells have a value that no class, or not theirs, covers."""


def assign_classes(bound: BoundTable, plan: Plan) -> PlanAssignment:
    """The class of each cell of a table, by the plan's cuts or levels."""
    if plan.levels is not None:
        return _assign_by_levels(bound, plan)
    if not plan.cuts:
        raise UsageError(
            "the plan tells its classes, but neither cuts nor levels that lead to them",
            where="plan",
            hint='make it by "mondrian", "optimal" or "incognito"',
        )
    shapes = read_shapes(plan.columns, bound, plan.border_labels)
    label = follow_cuts(plan.cuts, shapes)
    cells = np.flatnonzero(label >= 0)
    faults = {}
    for shape in shapes:
        fault = shape.code < 0
        fault[cells] = ~shape.covers(cells, label[cells])
        faults[shape.column.name] = fault
    outside = np.any(list(faults.values()), axis=0)
    return PlanAssignment(np.where(outside, -1, label), faults)


# --- by levels


def _assign_by_levels(bound: BoundTable, plan: Plan) -> PlanAssignment:
    """By the groups of a row's values, which some class of the plan must be released as."""
    faults, columns = {}, []
    for released in plan.columns:
        number = {word: at for at, word in enumerate(dict.fromkeys(released.values))}
        mine = np.array([number[word] for word in released.values], dtype=np.int64)
        found = [number.get(word, -1) for word in _words(bound, plan, released)]
        code = np.array(found, dtype=np.int64)[bound.cells.codes[released.column]]
        faults[released.column] = code < 0
        columns.append(np.concatenate([mine, code]))
    group, _ = group_codes(columns)
    classes = np.full(int(group.max()) + 1, -1, dtype=np.int64)
    classes[group[: plan.classes]] = np.arange(plan.classes)
    outside = np.any(list(faults.values()), axis=0)
    return PlanAssignment(np.where(outside, -1, classes[group[plan.classes :]]), faults)


def _words(bound: BoundTable, plan: Plan, released: Released) -> list[str | None]:
    """What each value of a table, a missing one last, is released as.

    On the last level a whole column is one word, its root; where that is `*` it covers missing
    values, too.
    """
    assert plan.levels is not None
    labels, level = bound.cells.dictionaries[released.column].labels, plan.levels[released.column]
    whole = level > 0 and set(released.values) == {ANYTHING}
    if released.kind == "tree":
        tree = extend_hierarchy(released, bound, ())
        leaf = tree.find(labels)
        above = tree.ancestors[:, min(level, tree.levels - 1)]
        words = [
            (ANYTHING if whole else tree.labels[int(above[at])])
            if 0 <= at < tree.leaf_count
            else UNKNOWN
            for at in leaf
        ]
    elif whole:
        words = [ANYTHING] * len(labels)
    else:
        words = _equal_numbers(released, labels) if released.kind == "interval" else list(labels)
    return [*words, ANYTHING if whole else None]


def _equal_numbers(released: Released, labels: Sequence[str]) -> list[str]:
    """The released word of each value that is the same number, however it is written."""
    ends = {word: interval_ends(word)[0] for word in released.values if word is not None}
    unit = find_unit(list(ends.values()))
    spot = {find_position(end, unit): word for word, end in ends.items()}
    return [spot.get(find_position(text, unit), UNKNOWN) for text in labels]


# --- by cuts


def follow_cuts(nodes: Sequence[PlanNode], shapes: Sequence[Shape]) -> Ints:
    """The class of each cell, by the cuts; −1 where a value has no place on its line."""
    at = {shape.column.name: number for number, shape in enumerate(shapes)}
    column, left, right = (np.full(len(nodes), -1, dtype=np.int64) for _ in range(3))
    for number, step in enumerate(nodes):
        if isinstance(step, PlanCut):
            column[number], left[number], right[number] = at[step.column], step.left, step.right
        else:
            left[number] = step.number
    limit, row = _limits(nodes, shapes, at)
    sets = [_members_left(nodes, shape) for shape in shapes]
    code = np.stack([shape.code for shape in shapes], axis=1)
    node = np.zeros(len(code), dtype=np.int64)
    while (inner := np.flatnonzero(column[node] >= 0)).size:
        some = node[inner]
        value = code[inner, column[some]]
        goes_left = value <= limit[some]
        for number, shape in enumerate(shapes):
            mine = np.flatnonzero(column[some] == number) if shape.is_set else NOBODY
            if len(mine):
                goes_left[mine] = sets[number][row[some[mine]], value[mine]]
        node[inner] = np.where(goes_left, left[some], right[some])
    lost = (code < 0).any(axis=1)
    return np.where(lost, -1, left[node]).astype(np.int64)


def _limits(
    nodes: Sequence[PlanNode], shapes: Sequence[Shape], at: dict[str, int]
) -> tuple[Ints, Ints]:
    """For each node the last code that goes left, and its row among the sets of its column."""
    limit, row = (np.zeros(len(nodes), dtype=np.int64) for _ in range(2))
    seen = [0] * len(shapes)
    for number, step in enumerate(nodes):
        if isinstance(step, PlanClass):
            continue
        shape = shapes[at[step.column]]
        if shape.is_set:
            row[number] = seen[at[step.column]]
            seen[at[step.column]] += 1
        elif shape.column.hierarchy is not None:
            limit[number] = last_leaf_left(step, shape)
        elif shape.line is not None:
            limit[number] = _last_below(step, shape.line)
    return limit, row


def last_leaf_left(step: PlanCut, shape: Shape) -> int:
    """The last leaf of the hierarchy that goes left: the last one below the border's group."""
    tree = shape.column.hierarchy
    assert tree is not None
    node = tree.index(str(step.border[0]))
    return int(tree.first_below[node]) + int(tree.size_below[node]) - 1


def _last_below(step: PlanCut, line: NumberLine) -> int:
    """The last code of a line that is nearer to the left end of a border than to the right."""
    places = [line.position(text) for text in step.border if text is not None]
    if not places:
        return len(line.texts) - 1
    return bisect_right(line.positions, sum(places, Fraction(0)) / len(places)) - 1


def _members_left(nodes: Sequence[PlanNode], shape: Shape) -> Flags:
    """[steps of a column, codes]: the values that go left; a missing one never does."""
    mine = [
        node
        for node in nodes
        if shape.is_set and isinstance(node, PlanCut) and node.column == shape.column.name
    ]
    place = {text: at for at, text in enumerate(shape.texts)}
    table = np.zeros((len(mine), shape.known + 1), dtype=np.bool_)
    for at, step in enumerate(mine):
        table[at, [place[text] for text in step.border if text in place]] = True
    return table
