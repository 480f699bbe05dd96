"""Decisions at the threshold are exact, however large the counts."""

from __future__ import annotations

import json
import math
import tomllib
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose.distance.emd import EarthMover, Reference, TreeWork
from tclose.distance.ground import TreeMetric, equal, numeric, ordinal
from tclose.distance.histogram import Histogram
from tclose.distance.matrix import matrix
from tclose.distance.numbers import Ratios, decimal_of, find_sign, to_integers
from tclose.distance.transport import find_cheapest_flow
from tclose.kernels.classes.histograms import Transport
from tclose.plain import exact

HAIR = Fraction(1, 10**80)

BIG = st.one_of(
    st.integers(0, 5),
    st.integers(2**31 - 3, 2**31 + 3),
    st.integers(2**53 - 2, 2**53 + 2),
    st.integers(2**62 - 2, 2**62 + 2),
    st.integers(2**63 - 2, 2**63 + 2),
    st.integers(2**70, 2**80),
)


def by_edges(metric: TreeMetric, row: list[int], whole: list[int]) -> Fraction:
    """Σ length · |P(below) − Q(below)| in fractions, edge by edge."""
    below = [Fraction(0)] * len(metric.parent)
    for value, leaf in enumerate(metric.leaf):
        below[leaf] += Fraction(row[value], sum(row)) - Fraction(whole[value], sum(whole))
    total = Fraction(0)
    for node, parent in enumerate(metric.parent[:-1].tolist()):
        total += Fraction(int(metric.length[node]), metric.diameter) * abs(below[node])
        below[parent] += below[node]
    return total


@settings(max_examples=100)
@given(data=st.data())
def test_counts_on_both_sides_of_64_bits_give_the_same_fractions(slow: Any, data: Any) -> None:
    metric = data.draw(slow.grounds()).metric
    line = st.lists(BIG, min_size=metric.values, max_size=metric.values).filter(any)
    small = st.lists(st.integers(0, 5), min_size=metric.values, max_size=metric.values).filter(any)
    rows = data.draw(st.lists(st.one_of(line, small), min_size=1, max_size=5))
    whole = data.draw(line)
    found = EarthMover(metric).of(Histogram.from_dense(rows), np.array(whole, dtype=object))
    expected = [by_edges(metric, row, whole) for row in rows]
    assert [found.exact(i) for i in range(len(rows))] == expected
    assert found.largest() == expected.index(max(expected))
    for limit in {*expected, *(value - HAIR for value in expected)}:
        assert found.within(limit).tolist() == [value <= limit for value in expected]


@pytest.mark.parametrize("total", [2**10, 2**31, 2**40, 2**59, 2**61])
def test_one_table_may_mix_classes_within_and_beyond_the_guard(total: int) -> None:
    """A table of 64-bit weights whose classes range from one row to nearly all."""
    metric = ordinal(5)
    rows = [[1, 0, 0, 0, 0], [0, total // 3, 0, 1, 0], [0, 0, 7, 0, 0], [5, 0, 0, 0, total // 3]]
    owner, code = np.nonzero(np.array(rows))
    weight = np.array([rows[i][j] for i, j in zip(owner, code, strict=True)], dtype=np.int64)
    classes = Histogram.from_cells(owner, code, weight, classes=4, values=5)
    assert classes.count.dtype == np.int64
    whole = classes.total()
    found = EarthMover(metric).of(classes, whole)
    expected = [by_edges(metric, row, whole.tolist()) for row in rows]
    assert [found.exact(i) for i in range(4)] == expected
    assert found.within(expected[1]).tolist() == [value <= expected[1] for value in expected]


def test_long_edges_push_a_class_over_the_guard_as_well() -> None:
    places = [Fraction(0), Fraction(1), Fraction(2**61), Fraction(2**61 + 1)]
    metric = numeric(places)
    row, whole = [3, 0, 0, 1], [1, 1, 1, 1]
    found = EarthMover(metric).of(Histogram.from_dense([row]), np.array(whole))
    assert found.exact(0) == by_edges(metric, row, whole)


@settings(max_examples=40)
@given(data=st.data())
def test_a_matrix_is_exact_beyond_64_bits_too(slow: Any, data: Any) -> None:
    ground = data.draw(slow.grounds().filter(lambda ground: ground.metric.values > 1))
    line = st.lists(BIG, min_size=ground.metric.values, max_size=ground.metric.values).filter(any)
    row, whole = data.draw(line), data.draw(line)
    largest = max(entry for entries in ground.apart for entry in entries)
    found = EarthMover(matrix(ground.apart)[0]).of(
        Histogram.from_dense([row]), np.array(whole, dtype=object)
    )
    value = by_edges(ground.metric, row, whole) / largest
    assert found.exact(0) == value
    assert found.within(value)[0]
    assert not found.within(value - HAIR)[0]


@pytest.mark.parametrize("off", [-1, 0, 1])
def test_distances_that_floats_cannot_tell_apart_are_told_apart(off: int) -> None:
    size = 10**18
    row, whole = [size + off, size - off], [1, 1]
    found = EarthMover(equal(2)).of(Histogram.from_dense([[size, size], row]), np.array(whole))
    assert found.value[1] == pytest.approx(0, abs=1e-12)
    assert found.within(Fraction(0)).tolist() == [True, off == 0]
    assert found.largest() == (0 if off == 0 else 1)


@settings(max_examples=100)
@given(
    pairs=st.lists(st.tuples(BIG, BIG), min_size=1, max_size=6),
    at=st.integers(0, 5),
)
def test_ratios_compare_as_fractions_and_zero_below_is_infinite(
    pairs: list[tuple[int, int]], at: int
) -> None:
    above, below = (np.array(side, dtype=object) for side in zip(*pairs, strict=True))
    ratios = Ratios((above,), (below,))
    values = [Fraction(a, b) if b else None for a, b in pairs]
    assert [ratios.exact(i) for i in range(len(pairs))] == values
    ranked = [math.inf if value is None else value for value in values]
    assert ratios.largest() == ranked.index(max(ranked))
    limit = values[at % len(values)]
    if limit is not None:
        for bound in (limit, limit - HAIR, limit + HAIR):
            assert ratios.within(bound).tolist() == [value <= bound for value in ranked]
            assert ratios.within(bound, strictly=True).tolist() == [
                value < bound for value in ranked
            ]


@given(st.decimals(-1000, 1000, allow_nan=False, places=6))
def test_a_number_is_read_as_it_is_written(number: Decimal) -> None:
    digits = f"{number:f}"
    sign, _, rest = digits.rpartition("-")
    whole, _, part = rest.partition(".")
    by_hand = Fraction(int(whole or 0)) + Fraction(int(part or 0), 10 ** len(part))
    assert exact(digits) == (-by_hand if sign or digits.startswith("-") else by_hand)


@pytest.mark.parametrize(
    "given", [0.2, np.float64(0.2), "0.2", "1/5", " 1 / 5 ", Decimal("0.20"), "2e-1"]
)
def test_a_fifth_is_a_fifth_however_it_is_written(given: Any) -> None:
    assert exact(given) == Fraction(1, 5)


def test_a_fifth_survives_toml_and_json() -> None:
    assert exact(tomllib.loads("t = 0.2")["t"]) == Fraction(1, 5)
    assert exact(json.loads("0.2")) == Fraction(1, 5)
    assert exact(json.loads("0.2", parse_float=Decimal)) == Fraction(1, 5)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1_0",
        "1/0",
        "1/2/3",
        "nan",
        "inf",
        "-inf",
        True,
        [1],
        None,
        "1e999999999",
        "1/1e999999",
    ],
)
def test_what_is_no_number_is_refused(text: Any) -> None:
    with pytest.raises(ValueError):
        exact(text)


@given(st.lists(st.fractions(max_denominator=1000), min_size=1, max_size=8))
def test_whole_numbers_keep_the_ratios(numbers: list[Fraction]) -> None:
    whole, scale = to_integers(numbers)
    assert [Fraction(number, scale) for number in whole] == numbers


@pytest.mark.parametrize("sign", [-1, 0, 1])
def test_logarithms_next_to_a_limit_are_told_apart_by_their_digits(sign: int) -> None:
    limit = 3 - sign * Fraction(1, 10**100)
    assert find_sign(lambda: Decimal(8).ln() / Decimal(2).ln() - decimal_of(limit)) == sign


@settings(max_examples=100)
@given(data=st.data())
def test_compiled_work_is_the_work_in_python_integers(slow: Any, data: Any) -> None:
    metric = data.draw(slow.grounds()).metric
    line = st.lists(st.integers(0, 30), min_size=metric.values, max_size=metric.values).filter(any)
    rows, wholes = (
        data.draw(st.lists(line, min_size=1, max_size=6)),
        data.draw(st.lists(line, min_size=1, max_size=3)),
    )
    against = np.arange(len(rows)) % len(wholes)
    given = (metric, Histogram.from_dense(rows), Reference(np.array(wholes), against))
    compiled = TreeWork(*given, np.dtype(np.int64)).by_kernels()
    assert compiled.tolist() == TreeWork(*given, np.dtype(object)).by_python().tolist()


@settings(max_examples=60)
@given(data=st.data())
def test_a_compiled_transport_costs_what_python_integers_say(data: Any) -> None:
    sources, sinks = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    supply = data.draw(st.lists(st.integers(1, 9), min_size=sources, max_size=sources))
    cuts = data.draw(st.lists(st.integers(0, sum(supply)), min_size=sinks - 1, max_size=sinks - 1))
    demand = np.diff([0, *sorted(cuts), sum(supply)])
    price = st.lists(st.integers(0, 20), min_size=sinks, max_size=sinks)
    cost = np.array(data.draw(st.lists(price, min_size=sources, max_size=sources)))
    found = Transport(np.array(supply), demand, cost)
    whole = (np.array(numbers, dtype=object) for numbers in (supply, demand, cost))
    work, flow = find_cheapest_flow(*whole)
    assert found.work == work == (found.flow * cost).sum() == (flow * cost).sum()
    for carried in (found.flow, flow):
        assert carried.min() >= 0
        assert carried.sum(axis=1).tolist() == supply
        assert carried.sum(axis=0).tolist() == demand.tolist()
