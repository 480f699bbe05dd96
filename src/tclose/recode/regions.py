"""Classes released as the whole part of the domain that the cuts leave to them (learn.md).

Between classes that are as narrow as their rows allow there are gaps, and a row in a gap depends on
other rows. Here what a row is released as depends on that row alone. Where a cut has `*` on its
right side, nothing is told about where that begins, and the cut runs at the left end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction
from typing import TypeVar

import numpy as np

from tclose.data.binding import BoundTable
from tclose.data.encode.labels import ANYTHING, covers_missing
from tclose.hierarchy.build import read_number
from tclose.plain import write_number
from tclose.recode.assignment import last_leaf_left
from tclose.recode.number_line import NumberLine, list_ends
from tclose.recode.plan import Plan, PlanClass, PlanCut, PlanNode
from tclose.recode.shapes import Shape, read_shapes
from tclose.recode.values import Released, merge_alike, write_interval, write_set

Labels = Sequence[str | None]
Region = TypeVar("Region")


def spread_classes(plan: Plan, bound: BoundTable) -> Plan:
    """A plan for its own table whose classes are released as all that the cuts leave to them."""
    shapes = read_shapes(plan.columns, bound, plan.border_labels)
    leaves = {at: node.number for at, node in enumerate(plan.cuts) if isinstance(node, PlanClass)}
    parts = list(leaves)
    wide = []
    for shape, released in zip(shapes, plan.columns, strict=True):
        narrow = [released.values[number] for number in leaves.values()]
        if shape.is_set:
            values = _write_sets(shape, plan.cuts, parts, narrow)
        elif shape.column.hierarchy is not None:
            values = _write_groups(shape, plan.cuts, parts)
        else:
            values = _write_intervals(shape, released, plan.cuts, parts)
        pairs = zip(narrow, values, strict=True)
        words = tuple(old if old in (None, ANYTHING) else new for old, new in pairs)
        wide.append(replace(released, values=words))
    columns, number = merge_alike(wide)
    cuts = list(plan.cuts)
    for at, new in zip(parts, number, strict=True):
        cuts[at] = PlanClass(number=new)
    return plan.model_copy(update={"columns": columns, "cuts": tuple(cuts)})


def _divide(
    cuts: Sequence[PlanNode], column: str, whole: Region,
    split: Callable[[PlanCut, Region], tuple[Region, Region]],
) -> list[Region]:  # fmt: skip
    """The part of a column's values that belongs to each node of the cuts, parents first."""
    regions = [whole] * len(cuts)
    for at, step in enumerate(cuts):
        if isinstance(step, PlanCut):
            both = (regions[at], regions[at])
            if step.column == column:
                both = split(step, regions[at])
            regions[step.left], regions[step.right] = both
    return regions


def _write_intervals(
    shape: Shape, released: Released, cuts: Sequence[PlanNode], parts: Sequence[int]
) -> Labels:
    line = shape.line
    assert line is not None
    ends = list_ends(released.values)
    if not ends:
        return [ANYTHING] * len(parts)
    first = min((low for low, _ in ends), key=line.position)
    last = max((high for _, high in ends), key=line.position)
    whole = all(at.denominator == 1 for at in line.positions)

    def split(step: PlanCut, region: tuple[str, str]) -> tuple[tuple[str, str], tuple[str, str]]:
        if not step.border:
            return region, region
        left, right = halfway(step.border[0], step.border[1], line, whole=whole)
        return (region[0], left), (right, region[1])

    regions = _divide(cuts, released.column, (first, last), split)
    return [write_interval(*regions[at]) for at in parts]


def halfway(
    left: str | None, right: str | None, line: NumberLine, *, whole: bool
) -> tuple[str, str]:
    """How far the left side of a cut between two values reaches, and where the right one begins.

    `whole`: there are only whole numbers or days.

    >>> numbers = NumberLine.read(["23", "44"], [])
    >>> halfway("23", "44", numbers, whole=True), halfway("23", "44", numbers, whole=False)
    (('33', '34'), ('33.5', '33.5'))
    >>> days = NumberLine.read(["2024-01-01", "2024-01-04"], [])
    >>> halfway("2024-01-01", "2024-01-04", days, whole=True)
    ('2024-01-02', '2024-01-03')
    """
    assert left is not None
    if right is None:
        return left, left
    middle = (line.position(left) + line.position(right)) / 2
    if line.unit is not None or read_number(left) is not None:
        before, after = line.unit or ("", "")
        low = Fraction(middle // 1) if whole else middle
        left, right = (f"{before}{write_number(end)}{after}" for end in (low, low + whole))
        return left, right
    try:
        start, stop = datetime.fromisoformat(left), datetime.fromisoformat(right)
    except ValueError:  # times of day: each side reaches to where the other begins
        return right, left
    if not whole:
        moment = (start + (stop - start) / 2).isoformat()
        return moment, moment
    last = start + timedelta(days=int(middle // 1 - line.position(left)))
    days = (last, last + timedelta(days=1))
    left, right = (day.isoformat() if ":" in left else day.date().isoformat() for day in days)
    return left, right


def _write_groups(shape: Shape, cuts: Sequence[PlanNode], parts: Sequence[int]) -> Labels:
    tree, seen = shape.column.hierarchy, shape.codes_present
    assert tree is not None
    if not len(seen):
        return [ANYTHING] * len(parts)

    def split(step: PlanCut, region: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
        limit = last_leaf_left(step, shape)
        return (region[0], min(region[1], limit)), (max(region[0], limit + 1), region[1])

    regions = _divide(cuts, shape.column.name, (0, tree.leaf_count - 1), split)
    low, high = np.array([regions[at] for at in parts]).T
    first = np.searchsorted(seen, low)
    last = np.searchsorted(seen, high, side="right") - 1
    empty = first > last  # nothing but missing values
    first, last = np.where(empty, 0, first), np.where(empty, 0, last)
    return [tree.labels[int(node)] for node in tree.lca_of_ranges(seen[first], seen[last])]


def _write_sets(
    shape: Shape, cuts: Sequence[PlanNode], parts: Sequence[int], narrow: Labels
) -> Labels:
    present = frozenset(shape.codes_present.tolist())

    def split(step: PlanCut, region: frozenset[int]) -> tuple[frozenset[int], frozenset[int]]:
        left = {shape.codes[text] for text in step.border if text is not None}
        return region & left, region - left

    regions = _divide(cuts, shape.column.name, present, split)
    wide = []
    for part, old in zip(parts, narrow, strict=True):
        names = [shape.texts[at] for at in sorted(regions[part])]
        wide.append(write_set(names, missing=old is not None and covers_missing(old)))
    return wide
