"""A problem laid out as arrays for the kernels: codes, losses, rows, and orders of the cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.base.table import CodedTable
from tclose.requirements.constraint import Constraints
from tclose.search.compile.constraint_arrays import count_slots, make_constraint_set
from tclose.utility.loss import ColumnLoss

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LARGEST_LOSS_TABLE = 512
"""Codes of a hierarchy up to which losses stand in a table by lowest and highest code."""
INTERVAL, TREE_TABLE, TREE_CLIMB, SET = range(4)
"""`LossForm` of the kernels."""
NO_CODE = 1 << 30
"""Beyond every code: where a column has no missing values."""
COLUMN = np.dtype(
    [(name, "i8") for name in ("form", "n_codes", "missing_code", "first_loss", "first_node")]
)
"""`Column` of the kernels."""


@dataclass(frozen=True)
class TableArrays:
    """The memory that a `CodedTable` reads; its fields are described in `kernels.base.table`."""

    codes: NDArray[np.int32]
    columns: NDArray[np.void]
    losses: Floats
    tree_leaf: Ints
    tree_parent: Ints
    tree_last_code: Ints
    rows: Ints
    weights: Ints
    slots: Ints
    order_rank: Ints
    order_tie: Ints
    order_fragment: Ints


def make_coded_table(
    columns: Sequence[ColumnLoss],
    codes: Ints,
    rows: Ints,
    constraints: Constraints,
    *,
    ordered: bool = True,
) -> CodedTable:
    """Lays a problem out for the kernels; with orders along the sensitive values, or without."""
    weights, slots = constraints.masses(rows), constraints.places(len(codes))
    made = make_constraint_set(constraints, constraints.compiled, constraints.rows(rows))
    made.arrays.refer_to(count_slots(constraints, weights))
    forms = [_column_form(column) for column in columns]
    head = np.zeros(len(columns), dtype=COLUMN)
    head["form"] = [form.form for form in forms]
    head["n_codes"] = [column.values for column in columns]
    head["missing_code"] = [
        column.values - 1 if column.has_missing else NO_CODE for column in columns
    ]
    head["first_loss"] = _starts([form.losses for form in forms])
    head["first_node"] = starts = _starts([form.leaf for form in forms])
    sensitive = (slots - constraints.base[:-1])[:, : constraints.sensitive_fields * ordered]
    rank, tie, fragment = _orders(sensitive, rows)
    return CodedTable(
        TableArrays(
            codes=np.ascontiguousarray(codes, dtype=np.int32),
            columns=head,
            losses=np.concatenate([np.zeros(0), *(form.losses for form in forms)]),
            tree_leaf=_join([form.leaf + at for form, at in zip(forms, starts, strict=True)]),
            tree_parent=_join([form.parent + at for form, at in zip(forms, starts, strict=True)]),
            tree_last_code=_join([form.last_code for form in forms]),
            rows=np.ascontiguousarray(rows, dtype=np.int64),
            weights=weights,
            slots=slots,
            order_rank=rank,
            order_tie=tie,
            order_fragment=fragment,
        ),
        made,
    )


def select_cells(table: CodedTable, cells: Ints) -> CodedTable:
    """Some cells of a coded table, judged by the same constraints."""
    arrays = table.arrays
    by_cell = {name: getattr(arrays, name)[cells] for name in ("codes", "rows", "slots")}
    by_order = {
        name: np.ascontiguousarray(getattr(arrays, name)[:, cells])
        for name in ("weights", "order_rank", "order_tie", "order_fragment")
    }
    return CodedTable(replace(arrays, **by_cell, **by_order), table.constraints)


@dataclass(frozen=True)
class _ColumnForm:
    """One column's share of the arrays."""

    form: int
    losses: Floats
    leaf: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    parent: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    last_code: Ints = field(default_factory=lambda: np.zeros(0, np.int64))


def _column_form(column: ColumnLoss) -> _ColumnForm:
    if column.kind == "set":
        return _ColumnForm(SET, column.of_sets(np.arange(column.values + 2)))
    if column.kind == "interval":
        place = column.place if len(column.place) else np.zeros(1)
        width = float(place[-1] - place[0]) or 1.0
        return _ColumnForm(INTERVAL, np.append((place - place[0]) / width, 1.0))
    if column.values <= LARGEST_LOSS_TABLE:
        low, high = np.indices((column.values, column.values), dtype=np.int64).reshape(2, -1)
        table = column.between(np.minimum(low, high), np.maximum(low, high))
        return _ColumnForm(TREE_TABLE, table)
    return _climbed_form(column)


def _climbed_form(column: ColumnLoss) -> _ColumnForm:
    """A large hierarchy: the leaf of each code, and for each node its parent and its reach."""
    tree = column.hierarchy
    assert tree is not None
    leaf, nodes = column.place.astype(np.int64), len(tree.labels)
    last_code = np.full(nodes, -1, dtype=np.int64)
    last_code[leaf] = np.arange(len(leaf))
    for node in np.argsort(tree.height, kind="stable"):
        if (parent := int(tree.parent[node])) >= 0:
            last_code[parent] = max(last_code[parent], last_code[node])
    padding = np.zeros(nodes + 1 - len(leaf), dtype=np.int64)
    loss = (tree.size_below - 1) / max(tree.leaf_count - 1, 1)
    return _ColumnForm(
        TREE_CLIMB,
        loss.astype(np.float64),
        np.append(leaf, padding),
        np.append(np.maximum(tree.parent, 0), 0),
        np.append(last_code, 0),
    )


def _starts(parts: Sequence[NDArray[np.generic]]) -> Ints:
    return np.cumsum([0, *(len(part) for part in parts)])[:-1]


def _join(parts: Sequence[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _orders(sensitive: Ints, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """Orders of the cells along their sensitive values: the value order, or Morton curves.

    Neighbours in such an order are near in every sensitive attribute, so splitting along it keeps
    all distributions. With several attributes each gets a curve in which it leads, whose fragments
    are a grid of quantiles, twice as coarse in one attribute with each bit less; and an order by
    its own values first, whose fragments are its values, or runs of them.
    """
    cells, fields = sensitive.shape
    if fields == 0:
        nothing = np.zeros((1, cells), dtype=np.int64)
        return np.arange(cells)[None], nothing, nothing.copy()
    quantile = np.empty((cells, fields))
    for at in range(fields):
        count = np.bincount(sensitive[:, at], weights=rows)
        middle = (np.cumsum(count) - count / 2) / count.sum()
        quantile[:, at] = middle[sensitive[:, at]]
    fragments = [sensitive[:, at] for at in range(fields)]
    turns = [np.roll(np.arange(fields), shift) for shift in range(fields)] * 2
    if fields > 1:
        grid = (quantile * 255).astype(np.int64)
        fragments = [_morton_keys(grid[:, turn]) for turn in turns[:fields]] + fragments
    ranks, ties = [], []
    for fragment, turn in zip(fragments, turns, strict=False):
        columns = [sensitive[:, at] for at in turn[::-1]]
        order = np.lexsort([*columns, fragment])
        rank = np.empty(cells, dtype=np.int64)
        rank[order] = np.arange(cells)
        fresh = np.append(True, (sensitive[order][1:] != sensitive[order][:-1]).any(axis=1))
        tie = np.empty(cells, dtype=np.int64)
        tie[order] = np.cumsum(fresh[:cells]) - 1
        ranks.append(rank)
        ties.append(tie)
    return np.array(ranks), np.array(ties), np.array(fragments)


def _morton_keys(grid: Ints) -> Ints:
    """The bits of several coordinates interleaved: near on the curve is near in all of them."""
    bits = max(1, min(8, 62 // grid.shape[1]))
    key = np.zeros(len(grid), dtype=np.int64)
    for bit in range(7, 7 - bits, -1):
        for at in range(grid.shape[1]):
            key = (key << 1) | ((grid[:, at] >> bit) & 1)
    return key
