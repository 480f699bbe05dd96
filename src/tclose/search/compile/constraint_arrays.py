"""Constraints laid out as arrays for the kernels, and what in them follows the reference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.base.constraints import ConstraintSet
from tclose.requirements.constraint import (
    Constraint,
    ConstraintKind,
    Constraints,
    JudgedAttribute,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FITS = 1 << 62
"""Products below this fit 64 bits."""
MARGIN = 1e-9
"""What logarithms keep away from their threshold, as in `kernels.base.constraints`."""
CLEARANCE = 1e-11
"""What quotients of large numbers keep away from theirs."""

ROW = np.dtype(
    [
        *(
            (name, "i8")
            for name in (
                "kind", "first_slot", "n_values", "hidden_slot", "first_value", "first_node",
                "end_node", "numerator", "denominator", "largest_exact", "l", "ignores_absent",
                "known_rows", "superset_rows", "whole_first", "whole_end",
            )
        ),
        ("threshold", "f8"),
    ]
)  # fmt: skip
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
    leaf, parent = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
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
            leaf_node=np.concatenate(leaf),
            node_parent=np.concatenate(parent),
            node_length=np.concatenate([np.zeros(0, np.int64), *(tree.length for tree in trees)]),
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


_NO_TREE = _Tree(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), 1, True
)


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
    diameter = metric.diameter // scale
    fits = sum(length) < FITS and diameter < FITS
    return _Tree(
        leaf=_ints([number.get(int(node), len(parent) - 1) for node in metric.leaf]),
        parent=_ints(parent),
        length=_ints(length if fits else [0] * len(length)),
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


def _ints(numbers: Sequence[int]) -> Ints:
    return np.array(numbers, dtype=np.int64)
