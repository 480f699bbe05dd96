"""Lays out constraints and tables as arrays for the kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.arrays import Flags, Floats, Ints
from tclose.distance.ground import equal
from tclose.kernels.base.table import CodedTable
from tclose.requirements.constraint import Constraint, ConstraintKind, Constraints, JudgedAttribute
from tclose.search.curve import find_quantiles, interleave_bits
from tclose.utility.loss import ColumnLoss

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
LARGEST_LEAST = 20_000
"""Nodes looked at, at most, to find out how many rows a class needs."""
FORBIDDEN = 10_000.0
"""What is charged, as in the kernels, where values may not be released together."""
LEAST_WEIGHT = 1e-6
"""Of a column that counts nothing, so that one that is too wide still gets narrower."""
_IN_WHOLE_NUMBERS = (ConstraintKind.EMD, ConstraintKind.SHARE, ConstraintKind.GAIN)
_BY_LOGARITHMS = (ConstraintKind.ENTROPY, ConstraintKind.BAND, ConstraintKind.KL, ConstraintKind.JS)
NO_INTS, NO_FLOATS = np.zeros(0, np.int64), np.zeros(0)


def make_record(names: str) -> np.dtype[np.void]:
    """A record of 64-bit integers, as the kernels declare it."""
    return np.dtype([(name, "i8") for name in names.split()])


COLUMN = make_record("form n_codes missing_code first_loss first_node is_limited")
"""`Column` of the kernels."""
ROW = np.dtype([
    *make_record(
        "kind first_slot n_values hidden_slot first_value first_node end_node numerator "
        "denominator largest_exact l ignores_absent known_rows superset_rows whole_first whole_end "
        "shape"
    ).descr,
    ("threshold", "f8"),
])  # fmt: skip
"""`ConstraintRow` of the kernels; its fields are described there."""
ANY, LINE, STAR = range(3)
"""`TreeShape` of the kernels."""


class ConstraintArrays:
    """The memory that a `ConstraintSet` reads; a new reference distribution can be written into it.
    `total` is the number of rows, or their total weight.
    """

    def __init__(
        self, constraints: Constraints, compiled: Sequence[Constraint], total: int
    ) -> None:
        base, fields = constraints.base, constraints.fields
        compiled = [_compare_exactly(each, fields[each.field]) for each in compiled]
        self.compiled, self.k = compiled, constraints.k
        self.least_rows = np.array([self.k], np.int64)
        self.rows = np.zeros(len(compiled), dtype=ROW)
        trees = [_contract_tree(each, fields[each.field]) for each in compiled]
        value, node = 0, 0
        leaf, parent, slot = [], [], []
        for row, constraint, tree in zip(self.rows, compiled, trees, strict=True):
            field = fields[constraint.field]
            row["kind"] = constraint.kind
            row["first_slot"], row["n_values"] = base[constraint.field], field.values
            row["hidden_slot"] = base[constraint.field + 1] - 1 if field.hides else -1
            row["first_value"], row["first_node"] = value, node
            row["end_node"] = node + len(tree.parent)
            _set_threshold(row, constraint, tree, total)
            row["superset_rows"] = constraint.need
            row["whole_first"], row["whole_end"] = _whole_slots(constraints, constraint)
            row["shape"], leaf_value = _find_shape(tree)
            slot.append(leaf_value + base[constraint.field])
            leaf.append(tree.leaf + node)
            parent.append(np.where(tree.parent >= 0, tree.parent + node, -1))
            value, node = value + field.values, int(row["end_node"])
        self.share_lower, self.share_upper = np.zeros(value), np.zeros(value)
        self.leaf_node, self.node_parent = _join(leaf), _join(parent)
        self.node_slot = _join(slot)
        self.node_length = _join([tree.length for tree in trees])
        self.node_relative_length = np.concatenate([NO_FLOATS, *(each.relative for each in trees)])
        self.node_rows, self.moment_up_to = np.zeros(node, np.int64), np.zeros(node, np.int64)
        self.length_up_to = _join([np.cumsum(tree.length) for tree in trees])
        self.chain_end = _find_chain_ends(self.node_parent)
        self.slot_rows = np.zeros(int(base[-1]), np.int64)
        self.person_slot, self.least_persons, self.person_unit = -1, 0, max(constraints.unit, 1)
        if constraints.unit:
            # More than k − 1 units are k persons for certain; mostly fewer are enough.
            units = (constraints.k - 1) * constraints.unit + 1
            self.person_slot = int(base[-2])
            self.least_persons = max(int(units * constraints.share_per_person), 1)

    def refer_to(self, slot_rows: Ints) -> None:
        """Sets the reference distribution to that of the released rows, given by slot."""
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
            if (low := int(row["first_node"])) < (end := int(row["end_node"])):
                self.node_rows[low:end] = 0
                np.add.at(self.node_rows, self.leaf_node[values], count)
                for node in range(low, end - 1):
                    self.node_rows[self.node_parent[node]] += self.node_rows[node]
                moments = self.node_length[low:end] * self.node_rows[low:end]
                self.moment_up_to[low:end] = np.cumsum(moments)
        least = [self.k, *(self._count_needed(row) for row in self.rows)]
        self.least_rows[0] = max(least)

    def _count_needed(self, row: np.void) -> int:
        """The fewest rows of any class within a distance of the reference, or fewer than that.

        Below each node a class of m rows has a whole number of them, so its share there is at least
        as far from the reference's as the nearest multiple of 1 / m.
        """
        is_plain = row["kind"] == ConstraintKind.EMD and not row["superset_rows"]
        if not is_plain or row["hidden_slot"] >= 0 or row["whole_first"] != row["whole_end"]:
            return self.k
        nodes, known = slice(int(row["first_node"]), int(row["end_node"])), int(row["known_rows"])
        length, below = self.node_length[nodes], self.node_rows[nodes]
        most = min(self.k + LARGEST_LEAST // max(len(below), 1), int(row["largest_exact"]), known)
        if most <= self.k:
            return self.k
        sizes = np.arange(self.k, most)
        beyond = np.multiply.outer(sizes, below) % known
        work = np.minimum(beyond, known - beyond) @ length * int(row["denominator"])
        enough = np.flatnonzero(work <= int(row["numerator"]) * known * sizes)
        return int(sizes[enough[0]]) if len(enough) else most


class ConstraintPair:
    """The constraints twice: `strict` as they are, `lenient` allowing for rounding errors.

    What the strict ones accept is kept, and what the lenient ones refuse is broken; in between the
    requirements decide. The lenient set is empty where the strict one is exact. Closeness to a
    superset is in neither.
    """

    def __init__(self, constraints: Constraints, rows: Ints, *, lenient: bool) -> None:
        compiled = tuple(each for each in constraints.compiled if not each.need)
        total = constraints.rows(rows)
        self.strict = ConstraintArrays(constraints, compiled, total)
        kinds = self.strict.rows["kind"]
        beyond = np.isin(kinds, _IN_WHOLE_NUMBERS) & (self.strict.rows["largest_exact"] < total)
        rounds = bool(np.isin(kinds, _BY_LOGARITHMS).any() or beyond.any())
        self.lenient = ConstraintArrays(constraints, compiled if lenient and rounds else (), total)

    def refer_to(self, slot_rows: Ints) -> None:
        """Sets the reference distribution to that of the released rows, given by slot."""
        strict, lenient = self.strict, self.lenient
        strict.refer_to(slot_rows)
        if not len(lenient.rows):
            return
        lenient.refer_to(slot_rows)
        lenient.share_lower[:] = strict.share_lower * (1 - 3 * CLEARANCE)
        lenient.share_upper[:] = strict.share_upper * (1 + 3 * CLEARANCE)
        for row, exact in zip(lenient.rows, strict.rows, strict=True):
            kind, threshold = int(exact["kind"]), float(exact["threshold"])
            if kind == ConstraintKind.ENTROPY:
                row["threshold"] = threshold - 3 * MARGIN
            elif kind in (ConstraintKind.KL, ConstraintKind.JS):
                row["threshold"] = threshold + 3 * MARGIN
            else:
                row["threshold"] = threshold * (1 + 3 * CLEARANCE) + 3 * CLEARANCE


def count_slots(constraints: Constraints, weights: Ints) -> Ints:
    """The total of cells with these weights ([1 or fields, cells]; 0: not released) in each slot.
    If the cells are only part of a table, the counts of the whole table are used.
    """
    count = np.zeros(int(constraints.base[-1]), dtype=np.int64)
    for at, slot in enumerate(constraints.places(weights.shape[1]).T):
        np.add.at(count, slot, weights[min(at, len(weights) - 1)])
    for first, field in zip(constraints.base, constraints.fields, strict=False):
        if field.whole is not None:
            count[first : first + field.values] = field.whole
    return count


def _whole_slots(constraints: Constraints, constraint: Constraint) -> tuple[int, int]:
    """The slots that add up to the denominator of a share: all persons, or all weight."""
    base, field = constraints.base, constraints.fields[constraint.field]
    if field.mass is None:
        return 0, 0
    shares = (ConstraintKind.SHARE, ConstraintKind.GAIN, ConstraintKind.BAND)
    if constraints.unit and constraint.kind in shares:
        return int(base[-2]), int(base[-2]) + 1
    return int(base[constraint.field]), int(base[constraint.field + 1])


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


def _compare_exactly(constraint: Constraint, field: JudgedAttribute) -> Constraint:
    """The constraint, with a divergence of 0 as an equal distance of 0: only equal distributions
    have either. Logarithms would keep a margin and refuse them."""
    if constraint.kind not in (ConstraintKind.KL, ConstraintKind.JS) or constraint.threshold:
        return constraint
    return replace(constraint, kind=ConstraintKind.EMD, metric=equal(field.values))


class _Tree(NamedTuple):
    """A metric's tree as the kernels walk it."""

    leaf: Ints
    parent: Ints
    length: Ints
    relative: Floats
    diameter: int
    fits: bool


def _contract_tree(constraint: Constraint, field: JudgedAttribute) -> _Tree:
    """The tree over the values that occur: nodes without rows below drop out.

    An edge with nothing below it contributes |n·0 − r·0| = 0 to every class. A node with one child
    left and no value of its own is passed through by the same rows as that child, so both edges
    become one. Where missing values may be any value, all values stay.
    """
    metric = constraint.metric
    if metric is None:
        return _Tree(np.zeros(field.values, np.int64), NO_INTS, NO_INTS, NO_FLOATS, 1, True)
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


def _find_shape(tree: _Tree) -> tuple[int, Ints]:
    """The shape of a tree, and for a line or a star the value of each node but the root."""
    root = len(tree.parent) - 1
    value = np.zeros(root + 1, np.int64)
    if root < 1 or (np.bincount(tree.leaf, minlength=root + 1)[:root] != 1).any():
        return ANY, value
    value[:root] = np.argsort(tree.leaf, kind="stable")[:root]
    if (tree.parent[:root] == np.arange(1, root + 1)).all():
        return LINE, value
    return (STAR if (tree.parent[:root] == root).all() else ANY), value


def _find_chain_ends(parent: Ints) -> Ints:
    """The last of the nodes from each on that are numbered one after another, each the parent of
    the one before.

    >>> _find_chain_ends(np.array([1, 4, 3, 4, -1])).tolist()
    [1, 1, 4, 4, 4]
    """
    end = np.arange(len(parent))
    for node in range(len(parent) - 2, -1, -1):
        if parent[node] == node + 1:
            end[node] = end[node + 1]
    return end


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


class TableArrays:
    """The memory that a `CodedTable` reads; `ordered` adds orders for stratified splits."""

    def __init__(
        self,
        columns: Sequence[ColumnLoss],
        codes: Ints,
        rows: Ints,
        constraints: Constraints,
        weights: Floats,
        *,
        ordered: bool,
    ) -> None:
        self.codes = np.ascontiguousarray(codes, dtype=np.int32)
        self.rows = np.ascontiguousarray(rows, dtype=np.int64)
        self.weights, self.slots = constraints.masses(rows), constraints.places(len(codes))
        forms = [
            _choose_form(column, max(float(weight), LEAST_WEIGHT))
            for column, weight in zip(columns, weights, strict=True)
        ]
        starts = _starts([form.leaf for form in forms])
        self.columns = np.zeros(len(columns), dtype=COLUMN)
        self.columns["form"] = [form.form for form in forms]
        self.columns["n_codes"] = [column.values for column in columns]
        self.columns["missing_code"] = [
            column.values - 1 if column.has_missing else NO_CODE for column in columns
        ]
        self.columns["first_loss"] = _starts([form.losses for form in forms])
        self.columns["first_node"] = starts
        self.columns["is_limited"] = [column.reach is not None for column in columns]
        self.losses = np.concatenate([NO_FLOATS, *(form.losses for form in forms)])
        self.tree_leaf = _join([form.leaf + at for form, at in zip(forms, starts, strict=True)])
        self.tree_parent = _join([form.parent + at for form, at in zip(forms, starts, strict=True)])
        self.tree_last_code = _join([form.last_code for form in forms])
        values = (self.slots - constraints.base[:-1])[:, : constraints.sensitive_fields * ordered]
        self.order_rank, self.order_tie, self.order_fragment = _orders(values, rows)


def select_cells(table: CodedTable, cells: Ints) -> CodedTable:
    """A coded table with some of the cells, judged by the same constraints."""
    arrays = copy(table.arrays)
    for name in ("codes", "rows", "slots"):
        setattr(arrays, name, getattr(arrays, name)[cells])
    for name in ("weights", "order_rank", "order_tie", "order_fragment"):
        setattr(arrays, name, np.ascontiguousarray(getattr(arrays, name)[:, cells]))
    for rank in arrays.order_rank:
        rank[np.argsort(rank)] = np.arange(len(cells))
    return CodedTable(arrays, table.constraints)


class _ColumnForm(NamedTuple):
    """One column's share of the arrays."""

    form: int
    losses: Floats
    leaf: Ints = NO_INTS
    parent: Ints = NO_INTS
    last_code: Ints = NO_INTS


def _choose_form(column: ColumnLoss, weight: float) -> _ColumnForm:
    reach, place = column.reach, column.place if len(column.place) else np.zeros(1)
    if column.kind == "set" and reach is None:
        return _ColumnForm(SET, weight * column.of_sets(np.arange(column.values + 2)))
    if column.hierarchy is None:
        if column.kind == "set":  # of one value each: any order tells whether there are more
            place = np.arange(float(len(place)))
        width = float(place[-1] - place[0]) or 1.0
        losses = weight * np.append((place - place[0]) / width, 1.0)
        if reach is None:
            return _ColumnForm(INTERVAL, losses)
        return _ColumnForm(INTERVAL, losses, reach, reach, reach)
    if column.values <= LARGEST_LOSS_TABLE:
        low, high = np.sort(np.indices((column.values, column.values)).reshape(2, -1), axis=0)
        losses = weight * column.between(low, high)
        too_far = high > reach[low] if reach is not None else high < 0
        return _ColumnForm(TREE_TABLE, _forbid(losses, too_far, reach))
    return _make_climb(column, weight)


def _forbid(losses: Floats, too_far: Flags, reach: Ints | None) -> Floats:
    """The losses, made prohibitively large where a column's limit forbids a generalization."""
    return losses if reach is None else np.where(too_far, FORBIDDEN * (1 + losses), losses)


def _make_climb(column: ColumnLoss, weight: float) -> _ColumnForm:
    """A large hierarchy: the leaf of each code, and for each node its parent and its reach. Above
    the root is "anything", for classes with a missing value."""
    tree = column.hierarchy
    assert tree is not None
    leaf, nodes = column.place.astype(np.int64), len(tree.labels)
    last_code = np.full(nodes, -1, dtype=np.int64)
    last_code[leaf] = np.arange(len(leaf))
    for node in np.argsort(tree.height, kind="stable"):
        if (parent := int(tree.parent[node])) >= 0:
            last_code[parent] = max(last_code[parent], last_code[node])
    padding = np.full(nodes + 1 - len(leaf), nodes, dtype=np.int64)
    loss = weight * np.append((tree.size_below - 1) / max(tree.leaf_count - 1, 1), 1.0)
    too_high = np.append(tree.height, tree.levels) > column.max_level
    return _ColumnForm(
        TREE_CLIMB,
        _forbid(loss, too_high, column.reach),
        np.append(leaf, padding),
        np.append(np.where(tree.parent < 0, nodes, tree.parent), nodes),
        np.append(last_code, column.values),
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
        fresh = np.append(True, (sensitive[order][1:] != sensitive[order][:-1]).any(axis=1))
        ranks.append(np.argsort(order))
        ties.append((np.cumsum(fresh[:cells]) - 1)[ranks[-1]])
    return np.array(ranks), np.array(ties), np.array(fragments)
