"""A generalized value in the hierarchical distance: the linear program, and what it is good for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose.distance.emd import EarthMover
from tclose.distance.ground import hierarchical
from tclose.distance.histogram import Histogram

PARENT = [6, 6, 6, 7, 7, 8, 8, 9, 9, -1]
HEIGHT = [0, 0, 0, 0, 0, 0, 1, 1, 2, 3]
"""Leaves 0–2 below 6, 3–4 below 7, 5 and 6 below 8, 7 and 8 below the root 9."""
LEAVES = list(range(6))
INNER = [6, 7, 8, 9]


def chain(node: int) -> list[int]:
    way = [node]
    while PARENT[way[-1]] >= 0:
        way.append(PARENT[way[-1]])
    return way


def below(node: int) -> list[int]:
    return [leaf for leaf in LEAVES if node in chain(leaf)]


def apart(one: int, other: int) -> Fraction:
    """The farthest that two values can be apart which two labels stand for."""
    if one == other:
        return Fraction(0)
    common = next(node for node in chain(one) if node in chain(other))
    return Fraction(HEIGHT[common], 3)


def least_work(mine: list[int], theirs: list[int], values: list[int]) -> float:
    optimize = pytest.importorskip("scipy.optimize")
    size, total = sum(mine), sum(theirs)
    count = len(values)
    cost = [float(apart(a, b)) for a in values for b in values]
    rows = np.zeros((2 * count, count * count))
    for i in range(count):
        for j in range(count):
            rows[i, i * count + j] = rows[count + j, i * count + j] = 1
    ends = [n / size for n in mine] + [n / total for n in theirs]
    return float(optimize.linprog(cost, A_eq=rows, b_eq=ends).fun)


counts = st.lists(st.integers(0, 5), min_size=10, max_size=10).filter(any)


@given(counts, counts)
@settings(max_examples=60, deadline=None)
def test_the_distance_is_the_linear_programs(mine: list[int], others: list[int]) -> None:
    values = [*LEAVES, *INNER]
    table = [a + b for a, b in zip(mine, others, strict=True)]
    found = measured(mine, table, values)
    assert float(found) == pytest.approx(least_work(mine, table, values), abs=1e-9)


def measured(mine: list[int], table: list[int], values: list[int]) -> Fraction:
    mover = EarthMover(hierarchical(PARENT, HEIGHT, values))
    at = np.flatnonzero(mine)
    histogram = Histogram.from_cells(
        np.zeros(len(at), dtype=np.int64), at, np.array(mine)[at], classes=1, values=len(values)
    )
    exact = mover.of(histogram, np.array(table)).exact(0)
    assert exact is not None
    return exact


@given(counts, counts, st.lists(st.integers(0, 3), min_size=24, max_size=24))
@settings(max_examples=80, deadline=None)
def test_no_reading_of_generalized_values_is_farther_from_the_table(
    mine: list[int], others: list[int], spread: list[int]
) -> None:
    """Spreading each group over its values, in the class as in the table, brings both nearer."""
    values = [*LEAVES, *INNER]
    table = [a + b for a, b in zip(mine, others, strict=True)]
    told = measured(mine, table, values)

    def read(counted: list[int]) -> list[Fraction]:
        result = [Fraction(n) for n in counted[:6]]
        for at, node in enumerate(INNER):
            weights = [spread[6 * at + leaf] if leaf in below(node) else 0 for leaf in LEAVES]
            if not any(weights):
                weights = [int(leaf == below(node)[0]) for leaf in LEAVES]
            for leaf in LEAVES:
                result[leaf] += Fraction(counted[6 + at] * weights[leaf], sum(weights))
        return result

    def beneath(shares: list[Fraction], node: int) -> Fraction:
        return sum((shares[leaf] for leaf in below(node)), Fraction(0))

    p, q = read(mine), read(table)
    work = Fraction(0)
    for node in range(9):
        gap = beneath(p, node) / sum(mine) - beneath(q, node) / sum(table)
        work += abs(gap) * Fraction(HEIGHT[PARENT[node]] - HEIGHT[node], 6)
    assert work <= told
