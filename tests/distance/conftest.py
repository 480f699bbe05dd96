"""Distances computed the slow way: by linear programs, by definition, by Li's own recursion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import ot
import pytest
from hypothesis import strategies as st
from scipy.optimize import linprog

from tclose.distance.ground import TreeMetric, equal, hierarchical, numeric, ordinal


@dataclass(frozen=True)
class Tree:
    """A generalization tree as parent links (the root, node 0, has −1), and a node per value."""

    parent: tuple[int, ...]
    leaf: tuple[int, ...]

    def height(self, node: int) -> int:
        below = [child for child, above in enumerate(self.parent) if above == node]
        return max((1 + self.height(child) for child in below), default=0)

    def way_up(self, node: int) -> list[int]:
        return [node, *self.way_up(self.parent[node])] if node else [node]

    def apart(self, one: int, other: int) -> Fraction:
        """Height of the lowest common ancestor over that of the tree (Li 2007, section 5.2)."""
        theirs = self.way_up(self.leaf[other])
        lowest = next(node for node in self.way_up(self.leaf[one]) if node in theirs)
        return Fraction(self.height(lowest), max(self.height(0), 1))

    def metric(self, *, missing: bool = False) -> TreeMetric:
        heights = [self.height(node) for node in range(len(self.parent))]
        return hierarchical(self.parent, heights, self.leaf, missing=missing)


@st.composite
def trees(draw: st.DrawFn, most: int = 14) -> Tree:
    """Random trees, mostly unbalanced, with some of their leaves as values, in any order."""
    size = draw(st.integers(2, most))
    parent = [-1, *(draw(st.integers(0, node - 1)) for node in range(1, size))]
    leaves = [node for node in range(len(parent)) if node not in parent]
    kept = draw(st.permutations(leaves))[: draw(st.integers(1, len(leaves)))]
    return Tree(tuple(parent), tuple(kept))


@dataclass(frozen=True)
class Ground:
    """A metric under test, and its distances by definition."""

    metric: TreeMetric
    apart: tuple[tuple[Fraction, ...], ...]


@st.composite
def grounds(draw: st.DrawFn, kind: str | None = None) -> Ground:
    """Any of the tree metrics, with or without a missing value, beside its distance matrix."""
    kind = kind or draw(st.sampled_from(["ordered", "numeric", "equal", "hierarchical"]))
    missing = draw(st.booleans())
    if kind == "equal":
        size = draw(st.integers(1, 7))
        return Ground(equal(size), _table(size, lambda i, j: Fraction(i != j)))
    if kind == "hierarchical":
        tree = draw(trees())
        known = len(tree.leaf)
        return Ground(tree.metric(missing=missing), _with_missing(known, tree.apart, missing))
    if kind == "ordered":
        places = [Fraction(rank) for rank in range(draw(st.integers(1, 8)))]
        metric = ordinal(len(places) + missing, missing=missing)
    else:
        number = st.fractions(-50, 50, max_denominator=12)
        places = sorted(draw(st.sets(number, min_size=1, max_size=8)))
        metric = numeric(places, missing=missing)
    return Ground(metric, _line(places, missing))


def _line(places: Sequence[Fraction], missing: bool) -> tuple[tuple[Fraction, ...], ...]:
    wide = places[-1] - places[0] or Fraction(1)
    middle = (places[0] + places[-1]) / 2

    def apart(i: int, j: int) -> Fraction:
        return abs(places[i] - places[j]) / wide

    def from_missing(i: int) -> Fraction:
        return Fraction(1, 2) + abs(places[i] - middle) / wide if len(places) > 1 else Fraction(1)

    return _with_missing(len(places), apart, missing, from_missing)


def _with_missing(
    known: int, apart: Any, missing: bool, from_missing: Any = lambda i: Fraction(1)
) -> tuple[tuple[Fraction, ...], ...]:
    def between(i: int, j: int) -> Fraction:
        if i == j:
            return Fraction(0)
        if known in (i, j):
            return from_missing(min(i, j))
        return apart(i, j)

    return _table(known + missing, between)


def _table(size: int, between: Any) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(between(i, j) for j in range(size)) for i in range(size))


@st.composite
def matrices(draw: st.DrawFn, most: int = 6) -> list[list[Fraction]]:
    """Random distances, symmetric and positive; the triangle inequality need not hold."""
    size = draw(st.integers(2, most))
    entry = st.fractions(Fraction(1, 20), 3, max_denominator=20)
    rows = [[Fraction(0)] * size for _ in range(size)]
    for i in range(size):
        for j in range(i):
            rows[i][j] = rows[j][i] = draw(entry)
    return rows


@st.composite
def counts(draw: st.DrawFn, values: int, *, largest: int = 9, full: bool = False) -> list[int]:
    """How often each value occurs; at least one row, and each value if `full`."""
    number = st.integers(1 if full else 0, largest)
    row = draw(st.lists(number, min_size=values, max_size=values))
    if not any(row):
        row[draw(st.integers(0, values - 1))] = 1
    return row


def shares(row: Sequence[int]) -> list[Fraction]:
    return [Fraction(int(count), sum(int(c) for c in row)) for count in row]


def closure(rows: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    """Shortest ways through other values (Floyd and Warshall), entry by entry."""
    best = [list(row) for row in rows]
    for k in range(len(best)):
        for i in range(len(best)):
            for j in range(len(best)):
                best[i][j] = min(best[i][j], best[i][k] + best[k][j])
    return best


def linear_program(
    row: Sequence[int], whole: Sequence[int], apart: Sequence[Sequence[Fraction]]
) -> float:
    """The transportation problem as a linear program (HiGHS)."""
    size = len(row)
    lines = []
    for i in range(size):
        flows = np.zeros((size, size))
        flows[i, :] = 1
        lines.append(flows.ravel())
    for j in range(size):
        flows = np.zeros((size, size))
        flows[:, j] = 1
        lines.append(flows.ravel())
    cost = np.array([[float(entry) for entry in line] for line in apart]).ravel()
    bounds = [float(share) for share in (*shares(row), *shares(whole))]
    found = linprog(cost, A_eq=np.array(lines), b_eq=bounds, bounds=(0, None))
    assert found.success
    return float(found.fun)


def network_simplex(
    row: Sequence[int], whole: Sequence[int], apart: Sequence[Sequence[Fraction]]
) -> float:
    """The same by another solver (POT)."""
    cost = np.array([[float(entry) for entry in line] for line in apart])
    p, q = (np.array([float(share) for share in shares(side)]) for side in (row, whole))
    return float(ot.emd2(p / p.sum(), q / q.sum(), cost))


def li_recursion(tree: Tree, row: Sequence[int], whole: Sequence[int]) -> Fraction:
    """Σ over inner nodes of height/H · min(pos_extra, neg_extra), over their direct children."""
    p, q = shares(row), shares(whole)
    own = {leaf: p[v] - q[v] for v, leaf in enumerate(tree.leaf)}

    def children(node: int) -> list[int]:
        return [child for child, above in enumerate(tree.parent) if above == node]

    def extra(node: int) -> Fraction:
        below = children(node)
        return sum(map(extra, below), Fraction(0)) if below else own.get(node, Fraction(0))

    total = Fraction(0)
    for node in range(len(tree.parent)):
        extras = [extra(child) for child in children(node)]
        surplus = sum((x for x in extras if x > 0), Fraction(0))
        need = -sum((x for x in extras if x < 0), Fraction(0))
        total += Fraction(tree.height(node), max(tree.height(0), 1)) * min(surplus, need)
    return total


def along_line(places: Sequence[Fraction], row: Sequence[int], whole: Sequence[int]) -> Fraction:
    """Σ |difference of the cumulated shares| · gap / range."""
    wide = places[-1] - places[0]
    if not wide:
        return Fraction(0)
    running, total = Fraction(0), Fraction(0)
    for (p, q), (low, high) in zip(
        zip(shares(row), shares(whole), strict=True), pairwise(places), strict=False
    ):
        running += p - q
        total += abs(running) * (high - low) / wide
    return total


def variational(row: Sequence[int], whole: Sequence[int]) -> Fraction:
    both = zip(shares(row), shares(whole), strict=True)
    return sum((abs(p - q) for p, q in both), Fraction(0)) / 2


@pytest.fixture(scope="session")
def slow() -> Any:
    """The slow ways and the strategies, for the tests of this folder."""
    return SimpleNamespace(
        Tree=Tree,
        trees=trees,
        grounds=grounds,
        matrices=matrices,
        counts=counts,
        shares=shares,
        closure=closure,
        linear_program=linear_program,
        network_simplex=network_simplex,
        li_recursion=li_recursion,
        along_line=along_line,
        variational=variational,
    )
