"""Constraints and tables laid out as arrays for the kernels, and what follows the reference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.base.constraints import ConstraintSet
from tclose.kernels.base.table import CodedTable
from tclose.requirements.constraint import Constraint, ConstraintKind, Constraints, JudgedAttribute
from tclose.search.curve import find_quantiles, interleave_bits
from tclose.utility.loss import ColumnLoss

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FITS = 1 << 62
"""Products below this fit 64 bits."""
MARGIN = 1e-9
"""What logarithms keep away from their threshold, as in `kernels.base.constraints`."""
CLEARANCE = 1e-11
"""What quotients of large numbers keep away from theirs."""
LARGEST_LOSS_TABLE = 512
"""Codes of a hierarchy up to which losses stand in a table by lowest and highest code."""
INTERVAL, TREE_TABLE, TREE_CLIMB, SET = range(4)
"""`LossForm` of the kernels."""
NO_CODE = 1 << 30
"""Beyond every code: where a column has no missing values."""
NO_INTS = np.zeros(0, np.int64)


def make_record(names: str) -> np.dtype[np.void]:
    """A record of 64-bit integers, as the kernels declare it."""
    return np.dtype([(name, "i8") for name in names.split()])


COLUMN = make_record("form n_codes missing_code first_loss first_node")
"""`Column` of the kernels."""
ROW = np.dtype(
    [
        *make_record(
            "kind first_slot n_values hidden_slot first_value first_node end_node numerator "
            "denominator largest_exact l ignores_absent known_rows superset_rows whole_first "
            "whole_end"
        ).descr,
        ("threshold", "f8"),
    ]
)
"""`ConstraintRow` of the kernels; its fields are described there."""


@dataclass(frozen=True)
class ConstraintArrays:
    """The memory that a `ConstraintSet` reads; the reference is written into it anew."""

    compiled: tuple[Constraint, ...]
    rows: NDArray[np.void]
    share_lower: Floats
    share_upper: Floats
    leaf_node: Ints
    node_parent: Ints
    node_length: Ints
    node_rows: Ints
    node_relative_length: Floats
    slot_rows: Ints
    k: int
    person_slot: int
    least_persons: int
    person_unit: int

    def refer_to(self, slot_rows: Ints) -> None:
        """Makes released rows (by slot) what classes are compared with."""
        self.slot_rows[:] = slot_rows
        for row, constraint in zip(self.rows, self.compiled, strict=True):
            first, n_values = int(row["first_slot"]), int(row["n_values"])
            count = self.slot_rows[first : first + n_values]
            known = max(int(count.sum()), 1)
            if self.person_slot >= 0 and int(row["whole_first"]) == self.person_slot:
                known = max(int(self.slot_rows[self.person_slot]), 1)
            row["known_rows"] = known
            values = slice(int(row["first_value"]), int(row["first_value"]) + n_values)
            lower, upper = _share_bounds(constraint, count, known)
            self.share_lower[values], self.share_upper[values] = lower, upper
            self._count_below(int(row["first_node"]), int(row["end_node"]), values, count)

    def _count_below(self, first: int, end: int, values: slice, count: Ints) -> None:
        if first == end:
            return
        self.node_rows[first:end] = 0
        np.add.at(self.node_rows, self.leaf_node[values], count)
        for node in range(first, end - 1):
            self.node_rows[self.node_parent[node]] += self.node_rows[node]


def make_constraint_set(
    constraints: Constraints, compiled: Sequence[Constraint], total: int
) -> ConstraintSet:
    """The constraints for the kernels; `refer_to` of its arrays sets what they are compared with.

    `total` is what all rows count or weigh together.
    """
    base, fields = constraints.base, constraints.fields
    rows = np.zeros(len(compiled), dtype=ROW)
    trees = [_contract_tree(each, fields[each.field]) for each in compiled]
    value, node = 0, 0
    leaf, parent = [], []
    for row, constraint, tree in zip(rows, compiled, trees, strict=True):
        field = fields[constraint.field]
        row["kind"] = constraint.kind
        row["first_slot"], row["n_values"] = base[constraint.field], field.values
        row["hidden_slot"] = base[constraint.field + 1] - 1 if field.hides else -1
        row["first_value"], row["first_node"] = value, node
        row["end_node"] = node + len(tree.parent)
        _set_threshold(row, constraint, tree, total)
        row["superset_rows"] = constraint.need
        row["whole_first"], row["whole_end"] = _whole_slots(constraints, constraint)
        leaf.append(tree.leaf + node if len(tree.leaf) else np.zeros(field.values, np.int64))
        parent.append(np.where(tree.parent >= 0, tree.parent + node, -1))
        value, node = value + field.values, int(row["end_node"])
    person_slot, least_persons = _count_persons(constraints)
    return ConstraintSet(
        ConstraintArrays(
            compiled=tuple(compiled),
            rows=rows,
            share_lower=np.zeros(value),
            share_upper=np.zeros(value),
            leaf_node=_join(leaf),
            node_parent=_join(parent),
            node_length=_join([tree.length for tree in trees]),
            node_rows=np.zeros(node, np.int64),
            node_relative_length=np.concatenate([np.zeros(0), *(tree.relative for tree in trees)]),
            slot_rows=np.zeros(int(base[-1]), np.int64),
            k=constraints.k,
            person_slot=person_slot,
            least_persons=least_persons,
            person_unit=max(constraints.unit, 1),
        )
    )


def count_slots(constraints: Constraints, weights: Ints) -> Ints:
    """What cells with these weights ([1 or fields, cells]; 0: not released) have in each slot.

    Where the cells are only a part of a table, the whole table's counts stand in their place.
    """
    count = np.zeros(int(constraints.base[-1]), dtype=np.int64)
    for at, slot in enumerate(constraints.places(weights.shape[1]).T):
        np.add.at(count, slot, weights[min(at, len(weights) - 1)])
    for first, field in zip(constraints.base, constraints.fields, strict=False):
        if field.whole is not None:
            count[first : first + field.values] = field.whole
    return count


def _whole_slots(constraints: Constraints, constraint: Constraint) -> tuple[int, int]:
    """The slots that add up to what a share is of: of persons, or of the attribute's weights."""
    base, field = constraints.base, constraints.fields[constraint.field]
    if field.mass is None:
        return 0, 0
    shares = (ConstraintKind.SHARE, ConstraintKind.GAIN, ConstraintKind.BAND)
    if constraints.unit and constraint.kind in shares:
        return int(base[-2]), int(base[-2]) + 1
    return int(base[constraint.field]), int(base[constraint.field + 1])


def _count_persons(constraints: Constraints) -> tuple[int, int]:
    """The slot that counts persons, and what a class must have there.

    A class with more than k − 1 units has k persons for certain; mostly fewer are enough.
    """
    if not constraints.unit:
        return -1, 0
    least = int(((constraints.k - 1) * constraints.unit + 1) * constraints.share_per_person)
    return int(constraints.base[-2]), max(least, 1)


def _share_bounds(constraint: Constraint, count: Ints, known: int) -> tuple[Floats, Floats]:
    """Between which shares each value must stay, with a margin above the rounding error."""
    nothing, everything = np.full(len(count), -1.0), np.full(len(count), 2.0)
    if constraint.kind == ConstraintKind.SHARE:
        protected = np.zeros(len(count))
        named = constraint.protected
        protected[list(named) if named is not None else slice(None)] = 1
        return nothing, protected
    if constraint.kind != ConstraintKind.BAND:
        return nothing, everything
    share = count / known
    seen = share > 0
    safe = np.where(seen, share, 1.0)
    if constraint.spread is None:
        # A gain of −ln q is irrational unless q = 1, where it is 0 and nothing can gain.
        upper = np.where(safe < 1, safe * (1 - np.log(safe)) * (1 - CLEARANCE), 2.0)
        return nothing, np.where(seen, upper, 0.0)
    lower = safe * math.exp(-constraint.spread) * (1 + CLEARANCE)
    upper = safe * math.exp(min(constraint.spread, 700.0)) * (1 - CLEARANCE)
    return np.where(seen, lower, -1.0), np.where(seen, upper, 0.0)


@dataclass(frozen=True)
class _Tree:
    """A metric's tree as the kernels walk it."""

    leaf: Ints
    parent: Ints
    length: Ints
    relative: Floats
    diameter: int
    fits: bool


_NO_TREE = _Tree(NO_INTS, NO_INTS, NO_INTS, np.zeros(0), 1, True)


def _contract_tree(constraint: Constraint, field: JudgedAttribute) -> _Tree:
    """The tree over the values that occur: nodes without rows below drop out.

    An edge with nothing below it contributes |n·0 − r·0| = 0 to every class. A node with one child
    left and no value of its own is passed through by the same rows as that child, so both edges
    become one. Where missing values may be any value, all values stay.
    """
    metric = constraint.metric
    if metric is None:
        return _NO_TREE
    lengths = [int(length) for length in metric.length]
    scale = math.gcd(metric.diameter, *lengths) or 1
    lengths = [length // scale for length in lengths]
    held = np.zeros(len(metric.parent), dtype=bool)
    held[metric.leaf if field.hides else metric.leaf[np.unique(field.codes)]] = True
    if field.whole is not None:
        held[metric.leaf[np.flatnonzero(field.whole)]] = True
    number, parent, length = _drop_nodes(metric.parent.tolist(), lengths, held.tolist())
    root, diameter = len(parent) - 1, metric.diameter // scale
    fits = sum(length) < FITS and diameter < FITS
    return _Tree(
        leaf=np.array([number.get(node, root) for node in metric.leaf.tolist()], np.int64),
        parent=np.array(parent, np.int64),
        length=np.array(length if fits else [0] * len(length), np.int64),
        relative=np.array([float(Fraction(edge, diameter)) for edge in length]),
        diameter=diameter if fits else 1,
        fits=fits,
    )


def _drop_nodes(
    parent: list[int], length: list[int], held: list[bool]
) -> tuple[Mapping[int, int], list[int], list[int]]:
    """Which nodes stay (old number → new), and their parents and edge lengths."""
    root = len(parent) - 1
    below = held.copy()
    children = [0] * len(parent)
    for node in range(root):
        if below[node]:
            below[parent[node]] = True
            children[parent[node]] += 1
    stays = [below[node] and (held[node] or children[node] > 1) for node in range(root)] + [True]
    number = {node: at for at, node in enumerate(n for n in range(root + 1) if stays[n])}
    up, edge = [], []
    for node in number:
        walked, at = length[node], parent[node]
        while at >= 0 and not stays[at]:
            walked += length[at]
            at = parent[at]
        up.append(number[at] if at >= 0 else -1)
        edge.append(walked if at >= 0 else 0)
    return number, up, edge


def _set_threshold(row: np.void, constraint: Constraint, tree: _Tree, total: int) -> None:
    """The threshold as a fraction and rounded, and the largest class whose products fit 64 bits."""
    kind, threshold = constraint.kind, constraint.threshold
    row["threshold"] = math.log(threshold) if kind == ConstraintKind.ENTROPY else float(threshold)
    row["l"], row["ignores_absent"] = constraint.l, constraint.absent
    if max(threshold.as_integer_ratio()) * total >= FITS:
        if kind == ConstraintKind.RECURSIVE:
            threshold = Fraction(math.floor(threshold * 2**20), 2**20)  # stricter, and small
        if kind == ConstraintKind.ENTROPY:
            threshold = Fraction(math.ceil(threshold))
    numerator, denominator = threshold.numerator, threshold.denominator
    factor = 1
    if kind == ConstraintKind.EMD:
        numerator *= tree.diameter
        factor = max(int(tree.length.sum()) * denominator, numerator) * total
    elif kind == ConstraintKind.SHARE:
        factor = max(numerator, denominator)
    elif kind == ConstraintKind.GAIN:
        factor = max(numerator, denominator) * total
    largest = min(FITS // max(factor, 1), FITS) if tree.fits else -1
    if max(numerator, denominator) >= FITS:
        numerator, denominator, largest = 0, 1, -1
    row["numerator"], row["denominator"] = numerator, denominator
    row["largest_exact"] = largest


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
    forms = [_choose_form(column) for column in columns]
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


class _ColumnForm(NamedTuple):
    """One column's share of the arrays."""

    form: int
    losses: Floats
    leaf: Ints = NO_INTS
    parent: Ints = NO_INTS
    last_code: Ints = NO_INTS


def _choose_form(column: ColumnLoss) -> _ColumnForm:
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
    return _make_climb(column)


def _make_climb(column: ColumnLoss) -> _ColumnForm:
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
    return np.concatenate([NO_INTS, *parts])


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
    fragments = list(sensitive.T)
    turns = [np.roll(np.arange(fields), shift) for shift in range(fields)] * 2
    if fields > 1:
        grid = [(find_quantiles(each, rows) * 255).astype(np.int64) for each in sensitive.T]
        bits = range(7, 7 - max(1, min(8, 62 // fields)), -1)
        curves = [interleave_bits([grid[at] for at in turn], bits) for turn in turns[:fields]]
        fragments = curves + fragments
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
