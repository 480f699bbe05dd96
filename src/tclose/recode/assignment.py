"""The class of each row by a plan alone: no class is widened, whatever other rows there are.

A row is outside where its class does not cover it, and with levels where no class is released as
its groups: only what was released before is released again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.arrays import Flags, Ints
from tclose.data.binding import BoundTable
from tclose.distance.histogram import group_codes
from tclose.errors import UsageError
from tclose.plain import rows_text
from tclose.recode.levels import list_words
from tclose.recode.number_line import NumberLine
from tclose.recode.plan import Plan, PlanClass, PlanCut, PlanNode
from tclose.recode.shapes import Shape, read_shapes


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
            "the plan lists its classes, but neither the cuts nor the levels that lead to them",
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


def recall_classes(bound: BoundTable, plan: Plan) -> Ints:
    """The class of each cell as the plan has it (−1: left out); raises for a table that it has not
    all the rows of.

    A plan that lists the classes of its own rows takes these only. Cuts and levels lead any row to
    a class, but must cover it.
    """
    if plan.own_rows is not None:
        own = plan.own_rows.recall(bound)
        if own is None:
            what = "the plan was made from other rows, or from other columns of these"
            hint = "plans of mondrian, optimal and incognito also assign other rows to classes"
            raise UsageError(what, where="plan", hint=hint)
        return own
    plan.refuse_other_columns(bound)
    label = assign_classes(bound, plan).label
    if (label < 0).any():
        outside = rows_text(int(bound.cells.rows[label < 0].sum()))
        what = f"no class of the plan covers {outside} of the table"
        raise UsageError(what, where="plan", hint="make a plan from the present table")
    return label


def _assign_by_levels(bound: BoundTable, plan: Plan) -> PlanAssignment:
    """By the groups of a row's values, which some class of the plan must be released as."""
    assert plan.levels is not None
    faults, columns = {}, []
    for released in plan.columns:
        number = {word: at for at, word in enumerate(dict.fromkeys(released.values))}
        mine = np.array([number[word] for word in released.values], dtype=np.int64)
        words = list_words(bound, released, plan.levels[released.column])
        found = [number.get(word, -1) for word in words]
        code = np.array(found, dtype=np.int64)[bound.cells.codes[released.column]]
        faults[released.column] = code < 0
        columns.append(np.concatenate([mine, code]))
    group, _ = group_codes(columns)
    classes = np.full(int(group.max()) + 1, -1, dtype=np.int64)
    classes[group[: plan.classes]] = np.arange(plan.classes)
    outside = np.any(list(faults.values()), axis=0)
    return PlanAssignment(np.where(outside, -1, classes[group[plan.classes :]]), faults)


def follow_cuts(nodes: Sequence[PlanNode], shapes: Sequence[Shape]) -> Ints:
    """The class of each cell, by the cuts; −1 where a value has no place on its line."""
    at = {shape.column.name: number for number, shape in enumerate(shapes)}
    column, left, right = (np.full(len(nodes), -1, dtype=np.int64) for _ in range(3))
    limit, row = (np.zeros(len(nodes), dtype=np.int64) for _ in range(2))
    sets: list[list[Flags]] = [[] for _ in shapes]
    for number, step in enumerate(nodes):
        if isinstance(step, PlanClass):
            left[number] = step.number
            continue
        column[number], left[number], right[number] = at[step.column], step.left, step.right
        shape = shapes[at[step.column]]
        if shape.is_set:
            members = sets[at[step.column]]
            row[number] = len(members)
            members.append(np.zeros(shape.known + 1, dtype=np.bool_))  # a missing value goes right
            members[-1][[shape.codes[text] for text in step.border if text in shape.codes]] = True
        elif shape.column.hierarchy is not None:
            limit[number] = last_leaf_left(step, shape)
        elif shape.line is not None:
            limit[number] = _last_below(step, shape.line)
    tables = [np.array(members) for members in sets]
    code = np.stack([shape.code for shape in shapes], axis=1)
    node = np.zeros(len(code), dtype=np.int64)
    while (inner := np.flatnonzero(column[node] >= 0)).size:
        some = node[inner]
        value = code[inner, column[some]]
        goes_left = value <= limit[some]
        for number, table in enumerate(tables):
            if len(table):
                mine = np.flatnonzero(column[some] == number)
                goes_left[mine] = table[row[some[mine]], value[mine]]
        node[inner] = np.where(goes_left, left[some], right[some])
    lost = (code < 0).any(axis=1)
    return np.where(lost, -1, left[node]).astype(np.int64)


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
