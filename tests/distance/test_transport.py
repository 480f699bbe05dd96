"""The flow behind a distance: it costs what the distance says, and it does what it claims."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose.distance.emd import EarthMover
from tclose.distance.ground import Metric, TreeMetric, ordinal
from tclose.distance.histogram import Histogram
from tclose.distance.matrix import matrix
from tclose.distance.transport import Move, actions, transport


def distance(metric: Metric, row: list[int], whole: list[int]) -> Fraction | None:
    return EarthMover(metric).of(Histogram.from_dense([row]), np.array(whole)).exact(0)


def moved(start: list[Fraction], moves: tuple[Move, ...]) -> list[Fraction]:
    """What becomes of a distribution when the moves are made."""
    held = list(start)
    for move in moves:
        held[move.source] -= move.mass
        held[move.target] += move.mass
    return held


def crossings(metric: TreeMetric, moves: tuple[Move, ...]) -> Counter[tuple[int, bool]]:
    """The mass that crosses each edge (named by its lower node), upwards and downwards."""

    def way(node: int) -> list[int]:
        return [node, *way(int(metric.parent[node]))] if metric.parent[node] >= 0 else []

    crossed: Counter[tuple[int, bool]] = Counter()
    for move in moves:
        up, down = way(int(metric.leaf[move.source])), way(int(metric.leaf[move.target]))
        for node in up:
            if node not in down:
                crossed[node, True] += move.mass
        for node in down:
            if node not in up:
                crossed[node, False] += move.mass
    return crossed


def surplus_below(metric: TreeMetric, p: list[Fraction], q: list[Fraction], node: int) -> Fraction:
    def under(at: int) -> bool:
        while at != node and at >= 0:
            at = int(metric.parent[at])
        return at == node

    values = [v for v, leaf in enumerate(metric.leaf) if under(int(leaf))]
    return sum((p[v] - q[v] for v in values), Fraction(0))


@settings(max_examples=60)
@given(data=st.data())
def test_moves_turn_the_class_into_the_table_at_the_price_of_the_distance(
    slow: Any, data: Any
) -> None:
    ground = data.draw(slow.grounds())
    metric = data.draw(st.sampled_from([ground.metric, matrix(ground.apart)[0]]))
    row, whole = (data.draw(slow.counts(metric.values)) for _ in range(2))
    moves = transport(metric, np.array(row), np.array(whole))
    assert moved(slow.shares(row), moves) == slow.shares(whole)
    assert all(move.mass > 0 for move in moves)
    assert all(move.cost == move.mass * metric.between(move.source, move.target) for move in moves)
    assert sum((move.cost for move in moves), Fraction(0)) == distance(metric, row, whole)
    # What a value gives it does not also receive.
    assert not {move.source for move in moves} & {move.target for move in moves}


@settings(max_examples=60)
@given(data=st.data())
def test_no_edge_carries_more_than_the_difference_below_it(slow: Any, data: Any) -> None:
    metric = data.draw(slow.grounds()).metric
    row, whole = (data.draw(slow.counts(metric.values)) for _ in range(2))
    p, q = slow.shares(row), slow.shares(whole)
    crossed = crossings(metric, transport(metric, np.array(row), np.array(whole)))
    for node in range(len(metric.parent) - 1):
        surplus = surplus_below(metric, p, q, node)
        assert crossed[node, True] == max(surplus, 0)
        assert crossed[node, False] == max(-surplus, 0)


@settings(max_examples=60)
@given(data=st.data())
def test_actions_cross_each_edge_once_and_cost_the_distance(slow: Any, data: Any) -> None:
    metric = data.draw(slow.grounds()).metric
    row, whole = (data.draw(slow.counts(metric.values)) for _ in range(2))
    p, q = slow.shares(row), slow.shares(whole)
    steps = actions(metric, np.array(row), np.array(whole))
    assert sum((step.cost for step in steps), Fraction(0)) == distance(metric, row, whole)
    edges = [min(step.source, step.target) for step in steps]
    assert len(set(edges)) == len(edges)
    for step, node in zip(steps, edges, strict=True):
        assert int(metric.parent[node]) == max(step.source, step.target)
        surplus = surplus_below(metric, p, q, node)
        assert step.mass == abs(surplus)
        assert (step.source == node) == (surplus > 0)
    at_nodes = [Fraction(0)] * len(metric.parent)
    for value, leaf in enumerate(metric.leaf):
        at_nodes[leaf] += p[value] - q[value]
    assert all(rest == 0 for rest in moved(at_nodes, steps)) or any(
        length == 0 for length in metric.length[:-1]
    )


@settings(max_examples=30)
@given(data=st.data())
def test_a_matrix_of_any_distances_is_levelled_at_the_least_price(slow: Any, data: Any) -> None:
    apart = data.draw(slow.matrices())
    metric, _ = matrix(apart)
    row, whole = (data.draw(slow.counts(len(apart))) for _ in range(2))
    moves = transport(metric, np.array(row), np.array(whole))
    size = range(len(apart))
    scaled = [[metric.between(i, j) for j in size] for i in size]
    assert moved(slow.shares(row), moves) == slow.shares(whole)
    spent = float(sum((move.cost for move in moves), Fraction(0)))
    assert spent == pytest.approx(slow.linear_program(row, whole, scaled), abs=1e-7)


@pytest.mark.parametrize("as_matrix", [False, True], ids=["tree", "matrix"])
def test_moves_stay_exact_beyond_64_bits(as_matrix: bool) -> None:
    size = 4
    tree = ordinal(size)
    metric = tree
    if as_matrix:
        metric = matrix([[tree.between(i, j) for j in range(size)] for i in range(size)])[0]
    row, whole = [2**70 + 1, 0, 3, 5], [2**40, 2**64 + 1, 7, 2**65]
    moves = transport(metric, np.array(row, dtype=object), np.array(whole, dtype=object))
    p = [Fraction(count, sum(row)) for count in row]
    assert moved(p, moves) == [Fraction(count, sum(whole)) for count in whole]
    found = EarthMover(metric).of(Histogram.from_dense([row]), np.array(whole, dtype=object))
    assert sum((move.cost for move in moves), Fraction(0)) == found.exact(0)


def test_equal_distributions_need_no_move() -> None:
    assert transport(ordinal(3), np.array([1, 2, 3]), np.array([10, 20, 30])) == ()
    assert actions(ordinal(3), np.array([1, 2, 3]), np.array([10, 20, 30])) == ()


@settings(max_examples=40)
@given(data=st.data(), size=st.integers(1, 9))
def test_along_an_order_surplus_meets_need_from_left_to_right(
    slow: Any, data: Any, size: int
) -> None:
    """The n-th unit too many goes to the n-th place that lacks one."""
    row, whole = (data.draw(slow.counts(size, largest=4)) for _ in range(2))
    excess = [sum(whole) * c - sum(row) * n for c, n in zip(row, whole, strict=True)]
    have = [value for value, units in enumerate(excess) for _ in range(max(units, 0))]
    want = [value for value, units in enumerate(excess) for _ in range(max(-units, 0))]
    matched = Counter(zip(have, want, strict=True))
    unit = Fraction(1, sum(row) * sum(whole))
    moves = transport(ordinal(size), np.array(row), np.array(whole))
    assert {(move.source, move.target): move.mass for move in moves} == {
        pair: units * unit for pair, units in matched.items()
    }
