"""Bounds on the earth mover's distance of classes that are assembled from fragments.

An *attribute* here is one constraint EMD ≤ t by a tree metric; everything is counted by *tuples* of
the values of all of them. `mathematics.md` 3.1 and 3.2 prove

- **Theorem A**: the farthest that any distribution on a set B of values can be from P is
  D(P, B) = max_{v ∈ B} Σ_i P(i)·d(i, v);
- **Theorem B**: if a class E of r records takes c_F of them, whichever, from fragments F of the
  records with distributions R_F, then for each attribute, on the fragments or on any coarser
  partition, EMD(E, Q) ≤ U(c) := Σ_F (c_F / r)·D(R_F) + EMD(Σ_F (c_F / r)·R_F, Q).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.arrays import Flags, Floats, Ints
from tclose.distance.histogram import group_codes
from tclose.kernels.records.bounds import least_bounds
from tclose.requirements.constraint import Constraints
from tclose.search.kernel_arrays import ConstraintArrays
from tclose.search.problem import SearchProblem

ROUNDING = 1e-12
"""Bounds are planned in floats and kept this far below t; classes are accepted exactly."""


@dataclass(frozen=True)
class EmdAttribute:
    """One constraint EMD ≤ t: the tree that its values hang on, and where each tuple is."""

    name: str
    t: float
    node: Ints
    """[tuples]: where a tuple's value hangs."""
    parent: Ints
    """Children come before parents; −1 at the root, which is last."""
    stretch: Floats
    """The length of the edge to the parent, as a share of the diameter."""
    rank: Ints
    """[tuples]: the value's place in an order that keeps near values together."""

    @cached_property
    def position(self) -> Floats | None:
        """The place of each node where all values lie on one line, else None."""
        if not _is_line(self.parent):
            return None
        return np.append(0.0, np.cumsum(self.stretch[:-1]))

    @cached_property
    def above(self) -> Flags:
        """[nodes, nodes]: which nodes are above each, or it itself."""
        result = np.eye(len(self.parent), dtype=bool)
        for node in range(len(self.parent) - 2, -1, -1):
            result[node] |= result[self.parent[node]]
        return result

    @cached_property
    def is_along_lines(self) -> bool:
        """Whether values have an order: one line, or two that meet where a missing value hangs."""
        return lie_along_lines(self.node, self.parent)

    def count_rows(self, rows: Ints, group: Ints, groups: int) -> Floats:
        """[groups, nodes]: the rows of each group at each node, from the rows of each tuple."""
        nodes = len(self.parent)
        spot = group * nodes + self.node
        count = np.asarray(np.bincount(spot, rows, groups * nodes), dtype=np.float64)
        return count.reshape(groups, nodes)

    def sum_below(self, mass: Floats) -> Floats:
        """[groups, nodes]: the mass below each node, from that at each node."""
        if self.position is not None:
            return np.cumsum(mass, axis=1)
        result = mass.copy()
        for node in range(len(self.parent) - 1):
            result[:, self.parent[node]] += result[:, node]
        return result

    def weigh_edges(self, share: Floats) -> Floats:
        """[groups, edges]: the share below each edge, times the edge's length."""
        return self.sum_below(share)[:, :-1] * self.stretch[:-1]

    def find_worst_cost(self, mass: Floats) -> Floats:
        """Σ_i mass(i)·d(i, v) of each row of masses at its worst value v (Theorem A). From the root
        down, a step into an edge nears the mass below it and leaves the rest."""
        below, total = self.sum_below(mass), mass.sum(axis=1)
        cost = np.zeros_like(below)
        cost[:, -1] = below[:, :-1] @ self.stretch[:-1]
        step = self.stretch * (total[:, None] - 2 * below)
        if self.position is not None:
            onward = np.cumsum(step[:, -2::-1], axis=1)[:, ::-1]
            cost[:, :-1] = cost[:, -1:] + onward
        else:
            for node in range(len(self.parent) - 2, -1, -1):
                cost[:, node] = cost[:, self.parent[node]] + step[:, node]
        worst: Floats = np.where(mass > 0, cost, 0.0).max(axis=1, initial=0.0)
        return worst


@dataclass(frozen=True)
class EmdConstraints:
    """The closeness that a problem requires, over its tuples of sensitive values."""

    attributes: tuple[EmdAttribute, ...]
    tuple_of: Ints
    """[cells]"""
    rows: Ints
    """[tuples]"""

    @property
    def total(self) -> int:
        """How many rows there are."""
        return int(self.rows.sum())

    def cut_into_runs(self, attribute: EmdAttribute, borders: NDArray[np.number]) -> Floats:
        """[runs, nodes]: the rows of runs along an attribute that end at these borders. A value
        that a border cuts through is in both runs, each with its part."""
        order = np.argsort(attribute.rank, kind="stable")
        ends = np.cumsum(self.rows[order])
        stops = np.union1d(ends, borders)
        owner, run = np.searchsorted(ends, stops), np.searchsorted(borders, stops)
        nodes = len(attribute.parent)
        spot = run * nodes + attribute.node[order][owner]
        held = np.bincount(spot, np.diff(stops, prepend=0), len(borders) * nodes)
        return held.astype(np.float64).reshape(len(borders), nodes)


def _is_line(parent: Ints) -> bool:
    return np.array_equal(parent[:-1], np.arange(1, len(parent)))


def lie_on_lines(constraints: Constraints) -> bool:
    """Whether all required closeness is about numbers or ranks, and no value is missing."""
    return all(
        constraint.metric is not None
        and _is_line(constraint.metric.parent)
        and not constraints.fields[constraint.field].hides
        for constraint in constraints.closeness.values()
    )


def find_emd_constraints(problem: SearchProblem, arrays: ConstraintArrays) -> EmdConstraints:
    """The closeness constraints of a problem; `arrays` are those of its coded table.

    A missing value that may be any value is taken for a value at half the diameter from the root:
    a plan, not a guarantee; the exact rules have the last word about it.
    """
    constraints = problem.constraints
    chosen = constraints.closeness
    fields = sorted({constraint.field for constraint in chosen.values()})
    tuple_of, first = group_codes([constraints.fields[field].codes for field in fields])
    rows = np.zeros(len(first), dtype=np.int64)
    np.add.at(rows, tuple_of, problem.rows)
    made = []
    for at, constraint in chosen.items():
        field, row = constraints.fields[constraint.field], arrays.rows[at]
        low, high, begin = (int(row[name]) for name in ("first_node", "end_node", "first_value"))
        leaf = arrays.leaf_node[begin : begin + field.values] - low
        parent = np.maximum(arrays.node_parent[low:high] - low, -1)
        stretch = arrays.node_relative_length[low:high].copy()
        code = field.codes[first]
        if field.hides:
            leaf, parent = np.append(leaf + 1, 0), np.append(len(parent), parent + 1)
            parent[-1] = -1
            stretch = np.append(0.5, stretch)
            code = np.where(code < 0, field.values, code)
        node, t = leaf[code], float(constraint.threshold)
        rank = _rank_values(node, parent, code, rows)
        made.append(EmdAttribute(field.name, t, node, parent.astype(np.int64), stretch, rank))
    return EmdConstraints(tuple(made), tuple_of, rows)


def _rank_values(node: Ints, parent: Ints, code: Ints, rows: Ints) -> Ints:
    """Values in an order in which runs are close: the line's, the tree's, the commonest first."""
    root = len(parent) - 1
    if lie_along_lines(node, parent):
        key = code
    elif (parent[:-1] == root).all():
        count = np.bincount(node, weights=rows, minlength=root + 1)
        key = np.argsort(np.argsort(-count, kind="stable"), kind="stable")[node]
    else:
        key = _order_tree(parent)[node]
    ranked: Ints = np.unique(key * (int(code.max(initial=0)) + 1) + code, return_inverse=True)[1]
    return ranked


def lie_along_lines(node: Ints, parent: Ints) -> bool:
    """Whether only the root branches, and values sit on the way to it: codes are in their order."""
    children = np.bincount(parent[:-1], minlength=len(parent))
    return bool((children[:-1] <= 1).all() and np.isin(node, parent).any())


def _order_tree(parent: Ints) -> Ints:
    """The place of each node in a walk through the tree that visits a node before its children."""
    size = np.ones(len(parent), dtype=np.int64)
    for node in range(len(parent) - 1):
        size[parent[node]] += size[node]
    place = np.zeros(len(parent), dtype=np.int64)
    free = np.ones(len(parent), dtype=np.int64)
    for node in range(len(parent) - 2, -1, -1):
        up = parent[node]
        place[node] = place[up] + free[up]
        free[up] += size[node]
    return place


@dataclass(frozen=True)
class EmdBound:
    """Theorem B for one attribute, prepared for any class sizes: the two terms of the bound for
    each fragment. There may be several bounds, each on fragments or on a coarser partition of them.
    """

    t: float
    far: Floats
    """[ways, fragments]: D of the fragment, or of what it is part of."""
    edge: Floats
    """[ways, fragments, edges]: the share of that below each edge, times the edge's length."""
    table: Floats
    """[edges]: the same of the whole table."""

    def evaluate(self, counts: Ints, limit: float = np.inf) -> Floats:
        """U of each row of counts [classes, fragments]: the least of all ways; up to the first row
        beyond the limit."""
        return least_bounds(counts, self.far, self.edge, self.table, limit)


def make_emd_bounds(
    closeness: EmdConstraints, fragment: Ints, coarser: Sequence[Sequence[Ints]]
) -> tuple[EmdBound, ...]:
    """The bound of each attribute, with one way for each grouping of the fragments (`coarser`).
    `fragment` is that of each tuple; a grouping names the group of each fragment."""
    made = []
    for attribute, groupings in zip(closeness.attributes, coarser, strict=True):
        ways = [
            (attribute.count_rows(closeness.rows, group[fragment], int(group.max()) + 1), group)
            for group in groupings
        ]
        made.append(make_emd_bound(closeness, attribute, ways))
    return tuple(made)


def make_emd_bound(
    closeness: EmdConstraints, attribute: EmdAttribute, ways: Sequence[tuple[Floats, Ints]]
) -> EmdBound:
    """The bound of an attribute; a way is the rows of each group [groups, nodes], and the group of
    each fragment."""
    far, edge = [], []
    for held, group in ways:
        share = held / held.sum(axis=1, keepdims=True)
        far.append(attribute.find_worst_cost(share)[group])
        edge.append(attribute.weigh_edges(share)[group])
    table = attribute.count_rows(closeness.rows, np.zeros_like(closeness.rows), 1)
    whole = attribute.weigh_edges(table / closeness.total)[0]
    return EmdBound(attribute.t, np.stack(far), np.stack(edge), whole)


def are_within(bounds: Sequence[EmdBound], counts: Ints) -> bool:
    """Whether every class with such counts is close in every attribute, whichever its records."""
    limits = [bound.t - ROUNDING for bound in bounds]
    return all(
        bound.evaluate(counts, limit)[-1] <= limit
        for bound, limit in zip(bounds, limits, strict=True)
    )
