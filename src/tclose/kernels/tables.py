"""What the compiled searches read: codes, losses, weights and rules, as arrays in one tuple.

What a class loses in a column is a matter of its lowest and highest code, or of how many values it
has (`utility.loss`). `gap` says it in constant time: positions for intervals, a table for small
hierarchies, a climb for large ones, so that no column is too large to search over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels import compiling
from tclose.kernels.rules import Rules
from tclose.requirements.constraint import Constraints
from tclose.search.full_domain.rulebook import recount, rule_arrays
from tclose.utility.loss import ColumnLoss

INTERVAL, TREE, CLIMB, SET = range(4)
LARGEST_TABLE = 512
NOWHERE = 1 << 30

Ints = NDArray[np.int64]


FORM, VALUES, MISSING, OFFSET, SPOT = range(5)
"""What `column` says about a column: how it is released; the number of its codes; the code of a
missing value (beyond all codes where there is none); where its parts of `loss` and `climb` are."""
LEAF, UP, REACH = range(3)
"""What `climb` says: the node of each code, the parent of each node, the last code below it."""
CURVE, TIED, GRID = range(3)
"""What `order` says: ranks along an order in which near cells are near in sensitive value; the same
with equal ranks for equal sensitive values; and the fragment of the sensitive values that a cell
lies in, which grows along the order: without its last bits it is a coarser fragment."""


class Tables(NamedTuple):
    """Everything about a problem that a kernel needs; read only, but for the rules' reference."""

    codes: Any
    """int32 [cells, columns]"""
    column: Any
    """int64 [5, columns]"""
    loss: Any
    """float64: positions (intervals), values × values (trees), by count (sets), by node (climbs)"""
    climb: Any
    """int64 [3, codes or nodes of the large hierarchies]"""
    weight: Any
    """int64 [cells]: rows"""
    mass: Any
    """int64 [1 or fields, cells]: what a cell adds to each field of a histogram; mostly its rows"""
    slot: Any
    """int64 [cells, fields]: where a cell counts in a class's histogram"""
    order: Any
    """int64 [3, orders, cells]"""
    rules: Rules


def make_tables(
    columns: Sequence[ColumnLoss],
    codes: Ints,
    weight: Ints,
    constraints: Constraints,
    *,
    ordered: bool = True,
) -> Tables:
    """Lays a problem out for the kernels; with the orders that dealing needs, or without."""
    parts = [_column(column) for column in columns]
    slot, mass = constraints.places(len(codes)), constraints.masses(weight)
    made = rule_arrays(constraints, constraints.compiled, constraints.rows(weight))
    recount(made, constraints, constraints.compiled, mass)
    sensitive = slot - constraints.base[:-1]
    spot = _starts([part.climb[0] for part in parts])
    missing = [one.values - 1 if one.has_missing else NOWHERE for one in columns]
    shift = [part.climb + np.array([[at], [at], [0]]) for part, at in zip(parts, spot, strict=True)]
    return Tables(
        codes=np.ascontiguousarray(codes, dtype=np.int32),
        column=np.array(
            [
                [part.form for part in parts], [one.values for one in columns], missing,
                _starts([part.loss for part in parts]), spot,
            ],
            dtype=np.int64,
        ),
        loss=np.concatenate([np.zeros(0), *(part.loss for part in parts)]),
        climb=np.concatenate([_NONE, *shift], axis=1),
        weight=weight.astype(np.int64),
        mass=mass,
        slot=slot,
        order=_orders(sensitive[:, : constraints.sensitive_fields * ordered], weight),
        rules=made,
    )  # fmt: skip


@compiling.inlined
def adds(cell: Any, a: Any, tab: Any) -> Any:
    """What a cell adds to a field of a class's histogram."""
    return tab.mass[min(a, tab.mass.shape[0] - 1), cell]


@compiling.part
def alike(x: Any, y: Any, tab: Any) -> Any:
    """Whether two cells count for the same."""
    same = tab.weight[x] == tab.weight[y]
    for a in range(tab.mass.shape[0]):
        same = same and tab.mass[a, x] == tab.mass[a, y]
    return same


@compiling.inlined
def gap(j: Any, a: Any, b: Any, tab: Any) -> Any:
    """What column j loses where codes run from a to b (a set: where there are b values)."""
    form, at = tab.column[FORM, j], tab.column[OFFSET, j]
    if form == SET:
        return tab.loss[at + b]
    if form == TREE:
        return tab.loss[at + a * tab.column[VALUES, j] + b]
    if a == b:
        return 0.0
    if b == tab.column[MISSING, j]:
        return 1.0
    if form == INTERVAL:
        return tab.loss[at + b] - tab.loss[at + a]
    spot = tab.column[SPOT, j]
    return tab.loss[at + meeting(spot + a, b, tab.climb) - spot]


@compiling.part
def meeting(leaf: Any, b: Any, climb: Any) -> Any:
    """The lowest node above a leaf that reaches code b."""
    top = climb[LEAF, leaf]
    while climb[REACH, top] < b:
        top = climb[UP, top]
    return top


@compiling.part
def apart(j: Any, u: Any, v: Any, tab: Any) -> Any:
    """What column j loses where two values are released together: their natural distance."""
    if u == v:
        return 0.0
    if tab.column[FORM, j] == SET:
        return tab.loss[tab.column[OFFSET, j] + 2]
    return gap(j, min(u, v), max(u, v), tab)


@compiling.part
def ones(x: Any) -> Any:
    """How many bits are set."""
    n = 0
    while x:
        x &= x - 1
        n += 1
    return n


class _Part(NamedTuple):
    """One column's share of the arrays."""

    form: int
    loss: NDArray[np.float64]
    climb: Ints


_NONE = np.zeros((3, 0), dtype=np.int64)


def _column(column: ColumnLoss) -> _Part:
    if column.kind == "set":
        return _Part(SET, column.of_sets(np.arange(column.values + 2)), _NONE)
    if column.kind == "interval":
        place = column.place if len(column.place) else np.zeros(1)
        wide = float(place[-1] - place[0]) or 1.0
        return _Part(INTERVAL, np.append((place - place[0]) / wide, 1.0), _NONE)
    if column.values <= LARGEST_TABLE:
        low, high = np.indices((column.values, column.values), dtype=np.int64).reshape(2, -1)
        table = column.between(np.minimum(low, high), np.maximum(low, high))
        return _Part(TREE, table, _NONE)
    return _climb(column)


def _climb(column: ColumnLoss) -> _Part:
    """A large hierarchy: the leaf of each code, and for each node its parent and its reach."""
    tree = column.hierarchy
    assert tree is not None
    leaf, nodes = column.place.astype(np.int64), len(tree.labels)
    reach = np.full(nodes, -1, dtype=np.int64)
    reach[leaf] = np.arange(len(leaf))
    for node in np.argsort(tree.height, kind="stable"):
        if (parent := int(tree.parent[node])) >= 0:
            reach[parent] = max(reach[parent], reach[node])
    climb = np.zeros((3, nodes + 1), dtype=np.int64)
    climb[LEAF, : len(leaf)] = leaf
    climb[UP, :nodes] = np.maximum(tree.parent, 0)
    climb[REACH, :nodes] = reach
    loss = (tree.size_below - 1) / max(tree.leaf_count - 1, 1)
    return _Part(CLIMB, loss.astype(np.float64), climb)


def _starts(parts: Sequence[NDArray[Any]]) -> list[int]:
    ends = np.cumsum([0, *(len(part) for part in parts)])
    return [int(end) for end in ends[:-1]]


def _orders(sensitive: Ints, weight: Ints) -> Ints:
    """Orders of the cells along their sensitive values: the value order, or Morton curves.

    Neighbours on such an order are near in every sensitive attribute, so dealing along it keeps
    all distributions. With several attributes each gets a curve in which it leads, whose fragments
    are a grid of quantiles, twice as coarse in one attribute with each bit less; and an order by
    its own values first, whose fragments are its values, or runs of them.
    """
    cells, fields = sensitive.shape
    if fields == 0:
        nothing = np.zeros(cells, dtype=np.int64)
        return np.array([[np.arange(cells)], [nothing], [nothing]], dtype=np.int64)
    quantile = np.empty((cells, fields))
    for at in range(fields):
        count = np.bincount(sensitive[:, at], weights=weight)
        middle = (np.cumsum(count) - count / 2) / count.sum()
        quantile[:, at] = middle[sensitive[:, at]]
    grids = [sensitive[:, at] for at in range(fields)]
    turns = [np.roll(np.arange(fields), shift) for shift in range(fields)] * 2
    if fields > 1:
        quarter = (quantile * 255).astype(np.int64)
        grids = [_morton(quarter[:, turn]) for turn in turns[:fields]] + grids
    curves, ties = [], []
    for grid, turn in zip(grids, turns, strict=False):
        columns = [sensitive[:, at] for at in turn[::-1]]
        order = np.lexsort([*columns, grid])
        rank = np.empty(cells, dtype=np.int64)
        rank[order] = np.arange(cells)
        fresh = np.append(True, (sensitive[order][1:] != sensitive[order][:-1]).any(axis=1))
        tie = np.empty(cells, dtype=np.int64)
        tie[order] = np.cumsum(fresh[:cells]) - 1
        curves.append(rank)
        ties.append(tie)
    return np.array([curves, ties, grids])


def _morton(grid: Ints) -> Ints:
    """The bits of several coordinates interleaved: near on the curve is near in all of them."""
    bits = max(1, min(8, 62 // grid.shape[1]))
    key = np.zeros(len(grid), dtype=np.int64)
    for bit in range(7, 7 - bits, -1):
        for at in range(grid.shape[1]):
            key = (key << 1) | ((grid[:, at] >> bit) & 1)
    return key
