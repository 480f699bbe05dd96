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

from tclose.distance.kernel import compiled
from tclose.search.promise import Promise, Rule, recount, rule_arrays
from tclose.search.rules import Rules
from tclose.utility.loss import ColumnLoss

INTERVAL, TREE, CLIMB, SET = range(4)
LARGEST_TABLE = 512
NOWHERE = 1 << 30

Ints = NDArray[np.int64]


class Tables(NamedTuple):
    """Everything about a problem that a kernel needs; read only, but for the rules' reference."""

    codes: Any
    """int32 [cells, columns]"""
    kind: Any
    """int64 [columns]"""
    values: Any
    """int64 [columns]: the number of codes"""
    missing: Any
    """int64 [columns]: the code of a missing value; beyond all codes where there is none"""
    offset: Any
    """int64 [columns]: where the column's part of `loss` begins"""
    loss: Any
    """float64: positions (intervals), values × values (trees), by count (sets), by node (climbs)"""
    spot: Any
    """int64 [columns]: where the column's part of `node` begins"""
    node: Any
    """int64: climbs: the node of each code"""
    up: Any
    """int64: climbs: the parent of each node"""
    reach: Any
    """int64: climbs: the last code below each node"""
    weight: Any
    """int64 [cells]"""
    slot: Any
    """int64 [cells, fields]: where a cell counts in a class's histogram"""
    slots: Any
    """int64 [1]: the length of a histogram"""
    curve: Any
    """int64 [orders, cells]: ranks along orders in which near cells are near in sensitive value"""
    tied: Any
    """int64 [orders, cells]: the same, equal for cells with equal sensitive values"""
    rules: Rules


def make_tables(
    columns: Sequence[ColumnLoss],
    codes: Ints,
    weight: Ints,
    promise: Promise,
    rules: Sequence[Rule],
) -> Tables:
    """Lays a problem out for the kernels."""
    parts = [_column(column) for column in columns]
    base = np.cumsum([0, *(field.values + 1 for field in promise.fields)])
    slot = np.zeros((len(codes), len(promise.fields)), dtype=np.int64)
    for at, field in enumerate(promise.fields):
        slot[:, at] = np.where(field.codes < 0, field.values, field.codes) + base[at]
    curve, tied = _curves(slot - base[:-1], weight)
    made = rule_arrays(promise, rules, int(weight.sum()))
    recount(made, promise, rules, weight)
    return Tables(
        codes=np.ascontiguousarray(codes, dtype=np.int32),
        kind=_ints([part.kind for part in parts]),
        values=_ints([column.values for column in columns]),
        missing=_ints([c.values - 1 if c.has_missing else NOWHERE for c in columns]),
        offset=_starts([part.loss for part in parts]),
        loss=np.concatenate([np.zeros(0), *(part.loss for part in parts)]),
        spot=_starts([part.node for part in parts]),
        node=_shifted([part.node for part in parts], [part.up for part in parts]),
        up=_shifted([part.up for part in parts], [part.up for part in parts]),
        reach=_joined([part.reach for part in parts]),
        weight=weight.astype(np.int64),
        slot=slot,
        slots=_ints([base[-1]]),
        curve=curve,
        tied=tied,
        rules=made,
    )


@compiled
def gap(j: Any, a: Any, b: Any, tab: Any) -> Any:
    """What column j loses where codes run from a to b (a set: where there are b values)."""
    kind, at = tab.kind[j], tab.offset[j]
    if kind == SET:
        return tab.loss[at + b]
    if kind == TREE:
        return tab.loss[at + a * tab.values[j] + b]
    if a == b:
        return 0.0
    if b == tab.missing[j]:
        return 1.0
    if kind == INTERVAL:
        return tab.loss[at + b] - tab.loss[at + a]
    top = tab.node[tab.spot[j] + a]
    while tab.reach[top] < b:
        top = tab.up[top]
    return tab.loss[at + top - tab.node[tab.spot[j]]]


@compiled
def apart(j: Any, u: Any, v: Any, tab: Any) -> Any:
    """What column j loses where two values are released together: their natural distance."""
    if u == v:
        return 0.0
    if tab.kind[j] == SET:
        return tab.loss[tab.offset[j] + 2]
    return gap(j, min(u, v), max(u, v), tab)


class _Part(NamedTuple):
    """One column's share of the arrays."""

    kind: int
    loss: NDArray[np.float64]
    node: Ints
    up: Ints
    reach: Ints


_NONE = np.zeros(0, dtype=np.int64)


def _column(column: ColumnLoss) -> _Part:
    if column.kind == "set":
        return _Part(SET, column.of_sets(np.arange(column.values + 2)), _NONE, _NONE, _NONE)
    if column.kind == "interval":
        place = column.place if len(column.place) else np.zeros(1)
        wide = float(place[-1] - place[0]) or 1.0
        return _Part(INTERVAL, np.append((place - place[0]) / wide, 1.0), _NONE, _NONE, _NONE)
    if column.values <= LARGEST_TABLE:
        low, high = np.indices((column.values, column.values), dtype=np.int64).reshape(2, -1)
        table = column.between(np.minimum(low, high), np.maximum(low, high))
        return _Part(TREE, table, _NONE, _NONE, _NONE)
    return _climb(column)


def _climb(column: ColumnLoss) -> _Part:
    """A large hierarchy's nodes, numbered so that the first code's leaf is node 0."""
    tree = column.hierarchy
    assert tree is not None
    leaf = column.place.astype(np.int64)
    known = len(leaf)
    lowest = np.full(len(tree.labels), known, dtype=np.int64)
    reach = np.full(len(tree.labels), -1, dtype=np.int64)
    lowest[leaf] = reach[leaf] = np.arange(known)
    for node in np.argsort(tree.height, kind="stable"):
        parent = int(tree.parent[node])
        if parent >= 0:
            reach[parent] = max(reach[parent], reach[node])
    first = int(leaf[0])
    order = np.concatenate(([first], np.delete(np.arange(len(tree.labels)), first)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    above = tree.parent[order]
    up = np.where(above >= 0, rank[np.maximum(above, 0)], 0)
    loss = (tree.size_below[order] - 1) / max(tree.leaf_count - 1, 1)
    node = np.append(rank[leaf], 0)
    return _Part(CLIMB, loss.astype(np.float64), node, up.astype(np.int64), reach[order])


def _starts(parts: Sequence[NDArray[Any]]) -> Ints:
    return _ints(np.cumsum([0, *(len(part) for part in parts)])[:-1])


def _shifted(parts: Sequence[Ints], nodes: Sequence[Ints]) -> Ints:
    """Node numbers made global."""
    return _joined([part + start for part, start in zip(parts, _starts(nodes), strict=True)])


def _joined(parts: Sequence[Ints]) -> Ints:
    return np.concatenate([_NONE, *parts]).astype(np.int64)


def _ints(numbers: Any) -> Ints:
    return np.array(numbers, dtype=np.int64)


def _curves(sensitive: Ints, weight: Ints) -> tuple[Ints, Ints]:
    """Orders of the cells along their sensitive values: the value order, or Morton curves.

    Neighbours on such an order are near in every sensitive attribute, so dealing along it keeps
    all distributions. With several attributes each gets a curve in which it leads.
    """
    cells, fields = sensitive.shape
    if fields == 0:
        return np.arange(cells)[None, :], np.zeros((1, cells), dtype=np.int64)
    quantile = np.empty((cells, fields))
    for at in range(fields):
        count = np.bincount(sensitive[:, at], weights=weight)
        middle = (np.cumsum(count) - count / 2) / count.sum()
        quantile[:, at] = middle[sensitive[:, at]]
    curves, ties = [], []
    for shift in range(fields):
        turn = np.roll(np.arange(fields), shift)
        key = _morton((quantile[:, turn] * 255).astype(np.int64))
        columns = [sensitive[:, at] for at in turn[::-1]]
        order = np.lexsort([*columns, key] if fields > 1 else columns)
        rank = np.empty(cells, dtype=np.int64)
        rank[order] = np.arange(cells)
        fresh = np.append(True, (sensitive[order][1:] != sensitive[order][:-1]).any(axis=1))
        tie = np.empty(cells, dtype=np.int64)
        tie[order] = np.cumsum(fresh[:cells]) - 1
        curves.append(rank)
        ties.append(tie)
    return np.array(curves), np.array(ties)


def _morton(grid: Ints) -> Ints:
    """The bits of several coordinates interleaved: near on the curve is near in all of them."""
    bits = max(1, min(8, 62 // grid.shape[1]))
    key = np.zeros(len(grid), dtype=np.int64)
    for bit in range(7, 7 - bits, -1):
        for at in range(grid.shape[1]):
            key = (key << 1) | ((grid[:, at] >> bit) & 1)
    return key
