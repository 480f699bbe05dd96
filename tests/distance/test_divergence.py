"""Divergences in bits: the papers' numbers, scipy's values, and exact decisions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from tclose.distance.divergence import JensenShannon, KullbackLeibler, SmoothedJensenShannon
from tclose.distance.emd import Distance, EarthMover, Reference
from tclose.distance.ground import equal, ordinal
from tclose.distance.histogram import Histogram
from tclose.distance.numbers import LogDistances

HAIR = Fraction(1, 10**40)


def value(distance: Distance, row: list[int], whole: list[int]) -> float:
    return float(distance.of(Histogram.from_dense([row]), np.array(whole)).value[0])


SCALING = [
    pytest.param([1, 99], [11, 89], "0.2438", "0.0371", id="from one percent to eleven"),
    pytest.param([40, 60], [50, 50], "0.0294", "0.0073", id="from forty percent to fifty"),
]


@pytest.mark.parametrize(("table", "row", "kl", "js"), SCALING)
def test_divergences_weigh_a_change_of_a_rare_value_more_and_emd_does_not(
    table: list[int], row: list[int], kl: str, js: str
) -> None:
    """Li 2007, section 8: the same tenth moved, from a rare value and from a common one."""
    emd = EarthMover(equal(2)).of(Histogram.from_dense([row]), np.array(table))
    assert emd.exact(0) == Fraction(1, 10)
    assert f"{value(KullbackLeibler(), row, table):.4f}" == kl
    assert f"{value(JensenShannon(), row, table):.4f}" == js


@settings(max_examples=100)
@given(data=st.data(), size=st.integers(1, 8))
def test_kl_and_js_are_scipy_s(slow: Any, data: Any, size: int) -> None:
    whole = data.draw(slow.counts(size, full=True))
    row = data.draw(slow.counts(size))
    assert value(KullbackLeibler(), row, whole) == pytest.approx(entropy(row, whole, 2), abs=1e-9)
    other = data.draw(slow.counts(size))
    p, q = np.array(row) / sum(row), np.array(other) / sum(other)
    by_scipy = float(np.nan_to_num(jensenshannon(p, q, 2))) ** 2
    assert value(JensenShannon(), row, other) == pytest.approx(by_scipy, abs=1e-9)


@settings(max_examples=60)
@given(data=st.data(), bandwidth=st.fractions(Fraction(1, 20), 2, max_denominator=20))
def test_smoothing_is_nadaraya_watson_with_an_epanechnikov_kernel(
    slow: Any, data: Any, bandwidth: Fraction
) -> None:
    ground = data.draw(slow.grounds())
    size = ground.metric.values
    row, whole = (data.draw(slow.counts(size)) for _ in range(2))
    apart = np.array([[float(entry) for entry in line] for line in ground.apart])
    near = np.array([[entry < bandwidth for entry in line] for line in ground.apart])
    kernel = np.where(near, 0.75 / float(bandwidth) * (1 - (apart / float(bandwidth)) ** 2), 0)
    kernel = kernel / kernel.sum(axis=1, keepdims=True)
    p, q = (kernel @ (np.array(side) / sum(side)) for side in (row, whole))
    p, q = p / p.sum(), q / q.sum()
    keep = p + q > 0
    by_scipy = float(np.nan_to_num(jensenshannon(p[keep], q[keep], 2))) ** 2
    found = value(SmoothedJensenShannon(ground.metric, bandwidth), row, whole)
    assert found == pytest.approx(by_scipy, abs=1e-9)


@given(data=st.data(), size=st.integers(2, 6))
@settings(max_examples=40)
def test_a_narrow_bandwidth_smoothes_nothing(slow: Any, data: Any, size: int) -> None:
    row, whole = (data.draw(slow.counts(size)) for _ in range(2))
    smoothed = SmoothedJensenShannon(ordinal(size), Fraction(1, size - 1))
    plain = value(JensenShannon(), row, whole)
    assert value(smoothed, row, whole) == pytest.approx(plain, abs=1e-12)


AT_THE_THRESHOLD = [
    pytest.param(KullbackLeibler(), [1, 0], [1, 1], Fraction(1), id="kl: certain of a half"),
    pytest.param(KullbackLeibler(), [0, 5], [7, 1], Fraction(3), id="kl: certain of an eighth"),
    pytest.param(KullbackLeibler(), [2, 1, 1], [1, 1, 2], Fraction(1, 4), id="kl: a quarter bit"),
    pytest.param(KullbackLeibler(), [2, 4], [1, 2], Fraction(0), id="kl: the same"),
    pytest.param(JensenShannon(), [3, 0], [0, 9], Fraction(1), id="js: nothing in common"),
    pytest.param(JensenShannon(), [2, 4], [1, 2], Fraction(0), id="js: the same"),
    pytest.param(
        JensenShannon(), [1, 1, 0], [0, 1, 1], Fraction(1, 2), id="js: half in common"
    ),
    pytest.param(
        SmoothedJensenShannon(ordinal(4), Fraction(1, 3)), [1, 0, 0, 0], [0, 0, 0, 1],
        Fraction(1), id="smoothed: nothing in common",
    ),
    pytest.param(
        SmoothedJensenShannon(ordinal(3), Fraction(2)), [1, 2, 3], [2, 4, 6],
        Fraction(0), id="smoothed: the same",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("distance", "row", "table", "limit"), AT_THE_THRESHOLD)
def test_a_divergence_equal_to_its_limit_holds_and_a_hair_less_fails(
    distance: Distance, row: list[int], table: list[int], limit: Fraction
) -> None:
    found = distance.of(Histogram.from_dense([row]), np.array(table))
    assert found.within(limit)[0]
    assert not found.within(limit - HAIR)[0]
    assert found.exact(0) == (0 if limit == 0 else None)


@pytest.mark.parametrize(("row", "holds"), [(2**62, True), (2**62 + 1, False), (2**62 - 1, True)])
def test_a_limit_that_floats_cannot_see_past_is_decided(row: int, holds: bool) -> None:
    """One bit, from a share of a half in a class certain of it; off by one row in 2⁶²."""
    table = [2**62, row]
    found = KullbackLeibler().of(Histogram.from_dense([[1, 0]]), np.array(table, dtype=object))
    assert found.value[0] == 1.0
    assert found.within(Fraction(1))[0] == holds


def test_many_classes_on_the_threshold_are_decided_at_once() -> None:
    """They are alike, so the digits are computed once: a thousand take less than seconds."""
    classes = Histogram.from_dense([[1, 0], [0, 1]] * 500)
    found = KullbackLeibler().of(classes, classes.total())
    assert found.within(Fraction(1)).all()
    assert not found.within(1 - HAIR).any()
    assert found.largest() == 0


def test_a_value_that_the_reference_lacks_is_infinitely_surprising() -> None:
    found = KullbackLeibler().of(Histogram.from_dense([[1, 1], [1, 0]]), np.array([4, 0]))
    assert found.value.tolist() == [math.inf, 0.0]
    assert found.within(Fraction(10**9)).tolist() == [False, True]
    assert (found.largest(), found.exact(0), found.exact(1)) == (0, None, 0)


@pytest.mark.slow
@settings(max_examples=40)
@given(data=st.data(), size=st.integers(2, 6))
def test_references_of_their_own_equal_one_class_at_a_time(slow: Any, data: Any, size: int) -> None:
    rows = [data.draw(slow.counts(size)) for _ in range(4)]
    references = [data.draw(slow.counts(size, full=True)) for _ in range(2)]
    which = data.draw(st.lists(st.integers(0, 1), min_size=4, max_size=4))
    smoothed = SmoothedJensenShannon(ordinal(size), Fraction(2, 5))
    for distance in (KullbackLeibler(), JensenShannon(), smoothed):
        found = distance.against(
            Histogram.from_dense(rows), Reference(np.array(references), np.array(which))
        )
        single = [value(distance, row, references[at]) for row, at in zip(rows, which, strict=True)]
        assert found.value == pytest.approx(np.array(single), abs=1e-12)
        limit = Fraction(single[2]).limit_denominator(1000)
        for index, (row, at) in enumerate(zip(rows, which, strict=True)):
            alone = distance.of(Histogram.from_dense([row]), np.array(references[at]))
            assert found.within(limit)[index] == alone.within(limit)[0]


def test_identity_and_zero_probability_are_as_desired_and_semantic_awareness_needs_smoothing() -> (
    None
):
    """Li et al.'s wishes for a measure: plain JS is blind to how far apart values are."""
    table = [1, 1, 1, 1, 1, 1]
    near, far = [3, 3, 0, 0, 0, 0], [3, 0, 0, 0, 0, 3]
    assert value(JensenShannon(), near, table) == value(JensenShannon(), far, table)
    smoothed = SmoothedJensenShannon(ordinal(6), Fraction(9, 20))
    assert value(smoothed, near, table) > 2 * value(smoothed, far, table)
    assert value(smoothed, table, table) == 0


def test_only_equal_distributions_are_at_distance_zero() -> None:
    """A trillion rows that differ in one: logarithms hardly tell, whole numbers do."""
    many = 10**12
    rows = Histogram.from_dense([[3, 6], [many, 2 * many], [many + 1, 2 * many - 1], [0, 9]])
    for distance in (KullbackLeibler(), JensenShannon()):
        found = distance.of(rows, np.array([many, 2 * many]))
        assert [found.exact(index) for index in range(4)] == [0, 0, None, None]
        assert found.within(Fraction(0)).tolist() == [True, True, False, False]
        huge = distance.of(Histogram.from_dense([[2**70, 2**71]]), np.array([1, 2]))
        assert huge.exact(0) == 0


def test_smoothing_can_make_different_distributions_equal() -> None:
    """With a bandwidth beyond the range the kernel is a parabola: it sees mass, mean and variance,
    and these two have the same."""
    smoothed = SmoothedJensenShannon(ordinal(4), Fraction(2))
    found = smoothed.of(Histogram.from_dense([[2, 0, 4, 0], [2, 0, 3, 1]]), np.array([1, 3, 1, 1]))
    assert [found.exact(0), found.exact(1)] == [0, None]
    assert found.within(Fraction(0)).tolist() == [True, False]


def test_no_logarithm_is_taken_where_a_distance_is_clearly_not_zero() -> None:
    def refuse(*given: Any) -> Any:
        raise AssertionError("this is asked for every class with very many values")

    found = LogDistances(np.array([0.5, 0.0]), refuse, refuse, lambda index: True)
    assert (found.exact(0), found.exact(1)) == (None, 0)
    assert found.within(Fraction(0)).tolist() == [False, True]
