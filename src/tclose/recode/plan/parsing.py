"""What classes are released as, read as shapes: words held against the values of a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.binding import BoundTable
from tclose.data.encode.columns import Dictionary
from tclose.data.encode.labels import ANYTHING, SET, covers_missing, set_members
from tclose.hierarchy import Hierarchy
from tclose.recode.plan.hierarchies import extend_hierarchy
from tclose.recode.plan.number_line import Line, interval_ends
from tclose.recode.plan.shapes import Shape, runs_below
from tclose.recode.values import Released
from tclose.utility.loss import ColumnLoss

Ints = NDArray[np.int64]
NO_SETS = np.zeros((0, 0), dtype=np.bool_)


def shapes_of(
    released: Sequence[Released], bound: BoundTable, borders: dict[str, list[str]] | None = None
) -> tuple[Shape, ...]:
    """What classes are released as, held against the values of a table.

    `borders` are further values and labels of a column that its line must have a place for.
    """
    more = borders or {}
    return tuple(_shape(one, bound, more.get(one.column, [])) for one in released)


def _shape(released: Released, bound: BoundTable, borders: list[str]) -> Shape:
    name = released.column
    values = bound.cells.dictionaries[name].labels
    if released.kind == "tree":
        return _tree(
            released, extend_hierarchy(released, bound, borders), values, bound.cells.codes[name]
        )
    if released.kind == "interval":
        return _interval(released, values, bound.cells.codes[name])
    return _sets(released, values, bound.cells.codes[name])


def _interval(released: Released, values: Sequence[str], codes: Ints) -> Shape:
    ends = [interval_ends(label) for label in released.values if label not in (None, ANYTHING)]
    line = Line.of([end for pair in ends for end in pair], values)
    low, high = (np.zeros(len(released.values), dtype=np.int64) for _ in range(2))
    for at, label in enumerate(released.values):
        low[at], high[at] = line.run(label)
    gap = np.array([label is None or label == ANYTHING for label in released.values], dtype=bool)
    has_missing = bool(gap.any()) or len(values) in codes
    column = ColumnLoss.interval(released.column, line.positions, has_missing=has_missing)
    recode = np.array([*(line.code(value) for value in values), len(line.texts)], dtype=np.int64)
    anything = gap & (low <= high)
    return Shape(
        column, line.texts, low, high, NO_SETS, gap, anything, np.zeros(len(gap), np.int64),
        recode[codes], line,
    )  # fmt: skip


def _sets(released: Released, values: Sequence[str], codes: Ints) -> Shape:
    anything = np.array([label == ANYTHING for label in released.values], dtype=bool)
    named = [_named(label) for label in released.values]
    texts = _in_order([*values, *(text for some in named for text in some)])
    place = {text: at for at, text in enumerate(texts)}
    member = np.zeros((len(named), len(place)), dtype=np.bool_)
    for at, some in enumerate(named):
        member[at, [place[text] for text in some]] = True
    gap = np.array([label is None or covers_missing(label) for label in released.values], bool)
    has_missing = bool(gap.any()) or len(values) in codes
    column = ColumnLoss.sets(released.column, np.arange(len(place)), has_missing=has_missing)
    recode = np.array([*(place[value] for value in values), len(place)], dtype=np.int64)
    none = np.zeros(len(gap), np.int64)
    return Shape(column, texts, none, none, member, gap, anything, none, recode[codes])


def _in_order(texts: Sequence[str]) -> tuple[str, ...]:
    """Distinct texts in their natural order."""
    return Dictionary.encode(pa.chunked_array([pa.array(texts, pa.string())]))[0].labels


def _named(label: str | None) -> list[str]:
    """The values that a released set names; a single value is a set of one."""
    if label is None or label == ANYTHING:
        return []
    found = SET.match(label)
    names = set_members(found[1]) if found else []
    if len(names) < 2:  # nothing is released as a set of one: this is a value with braces
        return [label]
    return names[:-1] if covers_missing(label) else names


def _tree(released: Released, tree: Hierarchy, values: Sequence[str], codes: Ints) -> Shape:
    gap = np.array([label is None or label == ANYTHING for label in released.values], dtype=bool)
    asked = [tree.labels[tree.root] if skip else str(label)
             for label, skip in zip(released.values, gap, strict=True)]  # fmt: skip
    node = tree.indices(asked).astype(np.int64)
    low, high = runs_below(tree, node)
    nothing = np.array([label is None for label in released.values], dtype=bool)
    low[nothing], high[nothing] = tree.leaf_count, -1
    leaf = [tree.index(value) if tree.contains(value) else -1 for value in values]
    recode = np.array([*(at if at < tree.leaf_count else -1 for at in leaf), tree.leaf_count])
    has_missing = bool(gap.any()) or len(values) in codes
    column = ColumnLoss.tree(
        released.column, tree, np.arange(tree.leaf_count), has_missing=has_missing
    )
    anything = gap & ~nothing
    return Shape(column, tree.leaves, low, high, NO_SETS, gap, anything, node, recode[codes])
