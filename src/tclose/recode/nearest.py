"""Finds the classes nearest to each new row: those that widen least to take it in.

How near is a matter of loss: the sum over the columns of what the class would lose more. Classes
that cover a row need nothing, so they come first, the narrowest of them before the others.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from tclose.arrays import Floats, Ints
from tclose.kernels.classes.boxes import ClassShapes
from tclose.recode.shapes import Shape

INTERVAL, TREE, SET = range(3)
COLUMN = np.dtype([
    ("form", "i8"), ("n_codes", "i8"), ("first_position", "i8"), ("first_ancestor", "i8"),
    ("n_levels", "i8"), ("first_member", "i8"),
])  # fmt: skip
"""`ShapeColumn` of the kernels."""


def find_nearest_classes(
    shapes: Sequence[Shape],
    cells: Ints,
    most: int,
    *,
    beyond: bool = False,
    fixed: Collection[str] = (),
) -> Ints:
    """[cells, most]: for some cells the classes that could take them, nearest first; −1: no more.

    A class can take a cell if in every column it covers the cell's value, or that value lies in the
    hull of all that is released, or `beyond` it; classes are not widened in `fixed` columns.
    """
    code = np.stack([shape.code[cells] for shape in shapes], axis=1)
    reach = [shape.code >= 0 if beyond else shape.inside for shape in shapes]
    widens = [shape.column.name not in fixed for shape in shapes]
    reachable = np.stack([flags[cells] for flags in reach], axis=1) & widens
    return ClassShapes(_lay_out(shapes)).find_nearest(code, reachable.astype(np.int8), most)


def _lay_out(shapes: Sequence[Shape]) -> SimpleNamespace:
    """The arrays that `ClassShapes` reads; `kernels.classes.boxes` describes them."""
    columns = np.zeros(len(shapes), dtype=COLUMN)
    positions: list[Floats] = [np.zeros(0)]
    ancestors, members = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int8)]
    for column, shape in zip(columns, shapes, strict=True):
        tree = shape.column.hierarchy
        column["form"] = SET if shape.is_set else INTERVAL if tree is None else TREE
        column["n_codes"] = shape.known
        column["first_position"] = sum(map(len, positions))
        column["first_ancestor"] = sum(map(len, ancestors))
        column["first_member"] = sum(map(len, members))
        if tree is not None:
            column["n_levels"] = tree.levels
            ancestors.append(tree.ancestors.astype(np.int64).ravel())
            positions.append((tree.size_below - 1) / max(tree.leaf_count - 1, 1))
        elif shape.is_set:
            positions.append(np.array([1 / max(shape.column.values, 1)]))
            members.append(shape.member.ravel().astype(np.int8))
        else:
            width = float(np.ptp(shape.column.place)) if shape.known else 0.0
            positions.append(shape.column.place / (width or 1.0))
    counts = [shape.member.sum(axis=1) if shape.is_set else 0 * shape.low for shape in shapes]
    # Released values are numbered through all columns; of each, a class and a column.
    keys = [np.unique(shape.key(), return_index=True, return_inverse=True) for shape in shapes]
    first = [key[1] for key in keys]
    start = np.cumsum([0, *map(len, first)])[:-1]
    numbers = [begin + key[2] for begin, key in zip(start, keys, strict=True)]
    return SimpleNamespace(
        columns=columns,
        low=_by_column([shape.low for shape in shapes]),
        high=_by_column([shape.high for shape in shapes]),
        n_values=_by_column(counts),
        has_missing=_by_column([shape.missing for shape in shapes]).astype(np.int8),
        is_anything=_by_column([shape.anything for shape in shapes]).astype(np.int8),
        loss=np.ascontiguousarray(np.stack([shape.losses() for shape in shapes], axis=1)),
        positions=np.concatenate(positions).astype(np.float64),
        ancestors=np.concatenate(ancestors),
        members=np.concatenate(members),
        released=_by_column(numbers),
        released_class=np.concatenate(first).astype(np.int64),
        released_column=np.repeat(np.arange(len(shapes)), [len(some) for some in first]),
    )


def _by_column(parts: Sequence[NDArray[np.generic]]) -> Ints:
    """Gathers values per column into an array [classes, columns]."""
    return np.ascontiguousarray(np.stack(parts, axis=1), dtype=np.int64)
