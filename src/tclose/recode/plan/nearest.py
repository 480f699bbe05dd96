"""The classes nearest to each new row: those that need to be widened least to take it.

How near is a matter of loss: the sum over the columns of what the class would lose more. Classes
that cover a row need nothing, so they come first, the narrowest of them before the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.kernels import compiling
from tclose.recode.plan.shapes import Shape

INTERVAL, TREE, SETS = range(3)
FORM, KNOWN, SPOT, BRANCH, LEVELS, BITS = range(6)
"""What `column` says: how it is released; its codes; where its places, its ancestors and sizes, its
sets begin; how many levels its tree has."""
MISSING, ANYTHING = range(2)
"""What `flag` says of a class and a column."""
MORE, WHOLE = range(2)
"""What a cell costs: the loss that is gained, and the loss there is then."""

Ints = NDArray[np.int64]


def nearest_classes(
    shapes: Sequence[Shape], cells: Ints, most: int, *, beyond: bool = False
) -> Ints:
    """[cells, most]: for some cells the classes that could take them, nearest first; −1: no more.

    A class can take a cell if in every column it covers the cell's value, or that value lies in the
    hull of all that is released, or `beyond` it.
    """
    flat = _flattened(shapes)
    code = np.stack([shape.code[cells] for shape in shapes], axis=1)
    reach = [shape.code >= 0 if beyond else shape.inside for shape in shapes]
    inside = np.stack([one[cells] for one in reach], axis=1)
    choice = np.full((len(cells), most), -1, dtype=np.int32)
    label, holder = _labels(shapes)
    price, best = np.empty((2, len(holder))), np.empty((2, most))
    _nearest(code, inside, label, holder, *flat, price, best, choice)  # type: ignore[call-arg]
    return choice.astype(np.int64)


def _labels(shapes: Sequence[Shape]) -> tuple[Ints, Ints]:
    """The number of each class's released value in each column; of each value a class and column.

    Values are numbered through all columns.
    """
    label, holder, start = [], [], 0
    for at, shape in enumerate(shapes):
        _, first, number = np.unique(shape.key(), return_index=True, return_inverse=True)
        label.append(start + number)
        holder.append(np.stack([first, np.full(len(first), at)], axis=1))
        start += len(first)
    return np.stack(label, axis=1).astype(np.int64), np.concatenate(holder).astype(np.int64)


def _flattened(shapes: Sequence[Shape]) -> tuple[Any, ...]:
    """The shapes as a few arrays for the kernel."""
    column = np.zeros((6, len(shapes)), dtype=np.int64)
    place: list[NDArray[np.float64]] = [np.zeros(1)]
    above: list[Ints] = [np.zeros(1, dtype=np.int64)]
    bits: list[NDArray[np.bool_]] = [np.zeros(1, dtype=bool)]
    starts = [1, 1, 1]
    for at, shape in enumerate(shapes):
        tree = shape.column.hierarchy
        column[FORM, at] = SETS if shape.is_set else INTERVAL if tree is None else TREE
        column[KNOWN, at] = shape.known
        column[SPOT, at], column[BRANCH, at], column[BITS, at] = starts
        if tree is not None:
            column[LEVELS, at] = tree.levels
            share = (tree.size_below - 1) / max(tree.leaf_count - 1, 1)
            above.append(tree.ancestors.astype(np.int64).ravel())
            place.append(share.astype(np.float64))
        elif shape.is_set:
            place.append(np.array([1 / max(shape.column.values, 1)]))
            bits.append(shape.member.ravel())
        else:
            wide = float(np.ptp(shape.column.place)) if shape.known else 0.0
            place.append(shape.column.place / (wide or 1.0))
        starts = [sum(map(len, some)) for some in (place, above, bits)]
    ends = np.stack([np.stack([one.low, one.high], axis=1) for one in shapes], axis=1)
    flag = np.stack([np.stack([one.missing, one.anything], axis=1) for one in shapes], axis=1)
    loss = np.stack([shape.losses() for shape in shapes], axis=1)
    count = np.stack(
        [shape.member.sum(axis=1) if shape.is_set else np.zeros(len(loss), np.int64)
         for shape in shapes], axis=1
    )  # fmt: skip
    joined = [np.concatenate(some) for some in (place, above, bits)]
    return (column, ends, flag, loss, count.astype(np.int64), *joined)


@compiling.part
def after(
    v: Any, c: Any, q: Any, column: Any, ends: Any, flag: Any, loss: Any, count: Any, place: Any,
    above: Any, bits: Any,
) -> Any:  # fmt: skip
    """Whether class c covers value v of column q as it is, and what it loses with it.

    A value without a code is covered only by what covers anything.
    """
    known, form = column[KNOWN, q], column[FORM, q]
    if flag[c, q, ANYTHING] or (v == known and flag[c, q, MISSING]):
        return True, loss[c, q]
    if form == SETS:
        if 0 <= v < known and bits[column[BITS, q] + c * known + v]:
            return True, loss[c, q]
        return False, (count[c, q] + flag[c, q, MISSING] + 1) * place[column[SPOT, q]]
    low, high = ends[c, q, 0], ends[c, q, 1]
    if low <= v <= high:
        return True, loss[c, q]
    if v < 0 or v == known or low > high:
        return False, 1.0
    low, high = min(low, v), max(high, v)
    if form == INTERVAL:
        return False, place[column[SPOT, q] + high] - place[column[SPOT, q] + low]
    levels, start = column[LEVELS, q], column[BRANCH, q]
    for level in range(levels):
        node = above[start + low * levels + level]
        if node == above[start + high * levels + level]:
            return False, place[column[SPOT, q] + node]
    return False, 1.0


@compiling.entry
def _nearest(
    code: Any, inside: Any, label: Any, holder: Any, column: Any, ends: Any, flag: Any, loss: Any,
    count: Any, place: Any, above: Any, bits: Any, price: Any, best: Any, choice: Any,
) -> None:  # fmt: skip
    """Fills `choice` with the nearest classes of each cell, by the loss they gain, then have.

    Many classes are released alike in a column, so what a cell costs there is reckoned once for
    each released value (into `price`), and then only added up.
    """
    classes, columns, most = loss.shape[0], loss.shape[1], choice.shape[1]
    for x in range(len(code)):
        for at in range(len(holder)):
            c, q = holder[at, 0], holder[at, 1]
            covered, new = after(
                code[x, q], c, q, column, ends, flag, loss, count, place, above, bits
            )  # fmt: skip
            price[WHOLE, at] = new
            price[MORE, at] = max(new - loss[c, q], 0.0) if covered or inside[x, q] else np.inf
        found, worst = 0, np.inf
        for c in range(classes):
            total = 0.0
            for q in range(columns):
                total += price[MORE, label[c, q]]
            if total == np.inf or total > worst:
                continue
            width = 0.0
            for q in range(columns):
                width += price[WHOLE, label[c, q]]
            at = found
            while at > 0 and (
                total < best[MORE, at - 1]
                or (total == best[MORE, at - 1] and width < best[WHOLE, at - 1])
            ):
                at -= 1
            if at == most:
                continue
            found = min(found + 1, most)
            for later in range(found - 1, at, -1):
                best[MORE, later], best[WHOLE, later] = (
                    best[MORE, later - 1],
                    best[WHOLE, later - 1],
                )
                choice[x, later] = choice[x, later - 1]
            best[MORE, at], best[WHOLE, at], choice[x, at] = total, width, c
            if found == most:
                worst = best[MORE, most - 1]
