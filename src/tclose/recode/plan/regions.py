"""Classes released as the whole part of the domain that the cuts leave to them.

A class is usually released as the narrowest words that cover its rows. Between the classes there
are gaps then, and a new row in a gap can only be released by widening a class, which depends on
what other rows there are. A plan that is spread has no gaps: what a row is released as depends on
that row alone.

| column | a class is released as |
|---|---|
| numbers, dates | everything between the cuts, which run halfway between both sides |
| with a hierarchy | the lowest common ancestor of the table's values between the cuts |
| other categories | the set of the table's values that the cuts send to it |

A class that covers missing values still does, and no other one. Where a cut has `*` on its right
side, nothing is told about where that begins, and the cut runs at the left end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.data.binding import BoundTable
from tclose.data.encode.labels import ANYTHING, MISSING, covers_missing
from tclose.hierarchy.build import read_number, write_number
from tclose.recode.plan.cuts import border_labels
from tclose.recode.plan.model import Plan, PlanClass, PlanNode
from tclose.recode.plan.number_line import Line, interval_ends
from tclose.recode.plan.parsing import shapes_of
from tclose.recode.plan.shapes import Shape
from tclose.recode.values import Released, merge_equal, set_member

Ints = NDArray[np.int64]
Labels = list[str | None]


def spread(plan: Plan, bound: BoundTable) -> Plan:
    """The same cuts, and every class released as all that they leave to it.

    `bound` is the table that the plan was made from. Parts that are released alike are one class.
    """
    shapes = shapes_of(plan.columns, bound, border_labels(plan.cuts))
    leaves = {at: node.number for at, node in enumerate(plan.cuts) if isinstance(node, PlanClass)}
    parts = list(leaves)
    wide = []
    for shape, released in zip(shapes, plan.columns, strict=True):
        narrow = [released.values[number] for number in leaves.values()]
        values = _column(shape, released, plan.cuts, parts, narrow)
        wide.append(replace(released, values=tuple(values)))
    columns, number = merge_equal(wide)
    cuts = list(plan.cuts)
    for at, new in zip(parts, number, strict=True):
        cuts[at] = PlanClass(number=new)
    return plan.model_copy(update={"columns": columns, "cuts": tuple(cuts)})


def _column(
    shape: Shape, one: Released, cuts: Sequence[PlanNode], parts: Sequence[int], narrow: Labels
) -> Labels:
    """What the parts are released as in one column, given what covers their rows."""
    if shape.is_set:
        wide = _sets(shape, cuts, parts, narrow)
    elif shape.column.hierarchy is not None:
        wide = _groups(shape, cuts, parts)
    else:
        wide = _intervals(shape, one, cuts, parts)
    return [old if old in (None, ANYTHING) else new for old, new in zip(narrow, wide, strict=True)]


# --- numbers and dates


@dataclass(frozen=True)
class Border:
    """Where a cut runs: how far the left side reaches and where the right side begins."""

    left: str
    right: str


def _intervals(
    shape: Shape, one: Released, cuts: Sequence[PlanNode], parts: Sequence[int]
) -> list[str]:
    line = shape.line
    assert line is not None
    told = [interval_ends(label) for label in one.values if label not in (None, ANYTHING)]
    if not told:
        return [ANYTHING] * len(parts)
    first = min((low for low, _ in told), key=line.position)
    last = max((high for _, high in told), key=line.position)
    whole = all(at.denominator == 1 for at in line.positions)
    low, high = [first] * len(cuts), [last] * len(cuts)
    for at, step in enumerate(cuts):
        if isinstance(step, PlanClass):
            continue
        for side in (step.left, step.right):
            low[side], high[side] = low[at], high[at]
        if step.column == one.column and step.border:
            border = halfway(step.border[0], step.border[1], line, whole=whole)
            high[step.left], low[step.right] = border.left, border.right
    return [low[at] if low[at] == high[at] else f"[{low[at]}, {high[at]}]" for at in parts]


def halfway(left: str | None, right: str | None, line: Line, *, whole: bool) -> Border:
    """Where a cut between two values runs; `whole`: there are only whole numbers or days.

    >>> numbers = Line.of(["23", "44"], [])
    >>> halfway("23", "44", numbers, whole=True), halfway("23", "44", numbers, whole=False).left
    (Border(left='33', right='34'), '33.5')
    >>> days = Line.of(["2024-01-01", "2024-01-04"], [])
    >>> halfway("2024-01-01", "2024-01-04", days, whole=True)
    Border(left='2024-01-02', right='2024-01-03')
    """
    assert left is not None
    if right is None:
        return Border(left, left)
    middle = (line.position(left) + line.position(right)) / 2
    if line.unit is not None or read_number(left) is not None:
        before, after = line.unit or ("", "")
        ends = (Fraction(middle // 1), Fraction(middle // 1) + 1) if whole else (middle, middle)
        return Border(*(f"{before}{write_number(end)}{after}" for end in ends))
    try:
        start, stop = datetime.fromisoformat(left), datetime.fromisoformat(right)
    except ValueError:  # times of day: each side reaches to where the other begins
        return Border(right, left)
    if whole:
        start += timedelta(days=int(middle // 1 - line.position(left)))
        return Border(*(_moment(day, left) for day in (start, start + timedelta(days=1))))
    middle_moment = (start + (stop - start) / 2).isoformat()
    return Border(middle_moment, middle_moment)


def _moment(day: datetime, like: str) -> str:
    """A day, with its time of day where the others have one."""
    return day.isoformat() if ":" in like else day.date().isoformat()


# --- groups of a hierarchy


def _groups(shape: Shape, cuts: Sequence[PlanNode], parts: Sequence[int]) -> list[str]:
    tree = shape.column.hierarchy
    assert tree is not None
    seen = np.unique(shape.code[(shape.code >= 0) & (shape.code < shape.known)])
    low, high = np.zeros(len(cuts), dtype=np.int64), np.full(len(cuts), tree.leaf_count - 1)
    for at, step in enumerate(cuts):
        if isinstance(step, PlanClass):
            continue
        for side in (step.left, step.right):
            low[side], high[side] = low[at], high[at]
        if step.column == shape.column.name:
            node = tree.index(str(step.border[0]))
            limit = int(tree.first_below[node]) + int(tree.size_below[node]) - 1
            high[step.left], low[step.right] = min(high[at], limit), max(low[at], limit + 1)
    first = np.searchsorted(seen, low[parts])
    last = np.searchsorted(seen, high[parts], side="right") - 1
    empty = first > last  # nothing but missing values
    first, last = np.where(empty, 0, first), np.where(empty, 0, last)
    if not len(seen):
        return [ANYTHING] * len(parts)
    return [tree.labels[int(one)] for one in tree.lca_of_ranges(seen[first], seen[last])]


# --- sets


def _sets(
    shape: Shape, cuts: Sequence[PlanNode], parts: Sequence[int], narrow: Labels
) -> list[str]:
    spot = {text: at for at, text in enumerate(shape.texts)}
    inside = np.zeros((len(cuts), shape.known), dtype=np.bool_)
    inside[0, shape.code[(shape.code >= 0) & (shape.code < shape.known)]] = True
    for at, step in enumerate(cuts):
        if isinstance(step, PlanClass):
            continue
        for side in (step.left, step.right):
            inside[side] = inside[at]
        if step.column == shape.column.name:
            left = np.zeros(shape.known, dtype=np.bool_)
            left[[spot[text] for text in step.border if text is not None]] = True
            inside[step.left] &= left
            inside[step.right] &= ~left
    return [
        _set(shape, inside[at], missing=old is not None and covers_missing(old))
        for at, old in zip(parts, narrow, strict=True)
    ]


def _set(shape: Shape, member: NDArray[np.bool_], *, missing: bool) -> str:
    names = [shape.texts[at] for at in np.flatnonzero(member)]
    if len(names) == 1 and not missing:
        return names[0]
    return "{" + ", ".join([*map(set_member, names), *[MISSING] * missing]) + "}"
