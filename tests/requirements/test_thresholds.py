"""A table that attains exactly what was asked keeps the promise; a hair less, and it does not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.distance.divergence import JensenShannon, KullbackLeibler, SmoothedJensenShannon
from tclose.distance.emd import EarthMover
from tclose.distance.ground import ordinal
from tclose.distance.matrix import matrix
from tclose.hierarchy.build import groups
from tclose.requirements.belief.beta_likeness import EnhancedBetaLikeness
from tclose.requirements.belief.delta_disclosure import DeltaDisclosure
from tclose.requirements.closeness.nt_closeness import NTCloseness
from tclose.requirements.closeness.t_closeness import TCloseness
from tclose.requirements.diversity.entropy import EntropyDiversity

HAIR = Fraction(1, 10**60)
SIZES = st.one_of(
    st.integers(1, 4),
    st.integers(2**31 - 2, 2**31 + 2),
    st.integers(2**53 - 2, 2**53 + 2),
    st.integers(2**57, 2**57 + 3),
)
BEYOND = st.one_of(SIZES, st.integers(2**63 - 2, 2**63 + 2), st.integers(2**70, 2**71))

# The way in which the limit of each exact requirement is too strict by a hair.
STRICTER = {
    "probabilistic": 1, "alpha": -1, "basic beta": -1, "equal": -1, "ordered": -1, "numeric": -1,
    "hierarchical": -1, "matrix": -1,
}  # fmt: skip


def with_matrix(brute: Any, classes: Any) -> dict[str, Any]:
    found = brute.promises(classes)
    line = found["numeric"].measure_by.metric
    size = range(line.values)
    metric, _ = matrix([[line.between(i, j) for j in size] for i in size])
    return {**found, "matrix": TCloseness("s", EarthMover(metric))}


@st.composite
def weighted(draw: st.DrawFn, sizes: Any) -> tuple[list[Any], list[int]]:
    """Rows that stand for many, so that small and huge classes share a table."""
    cell = st.tuples(st.sampled_from("abc"), st.sampled_from(["1", "2", "4", "9"]))
    rows = draw(st.lists(cell, min_size=2, max_size=8, unique=True))
    return rows, [draw(sizes) for _ in rows]


def expected(brute: Any, name: str, rows: Any, weight: list[int]) -> list[Fraction]:
    """What each class attains, in fractions."""
    words = {"probabilistic": "probabilistic-l-diversity", "alpha": "alpha-k-anonymity",
             "basic beta": "basic-beta-likeness"}  # fmt: skip
    by = {"matrix": "numeric"}.get(name, name)
    model = brute.MODELS.get((words.get(name, "t-closeness"), None if name in words else by))
    whole: Counter[Any] = Counter()
    mine: dict[Any, Counter[Any]] = {}
    for (key, value), count in zip(rows, weight, strict=True):
        whole[value] += count
        mine.setdefault(key, Counter())[value] += count
    return [model.attains(brute.Scene(mine[key], whole)) for key in sorted(mine)]


@pytest.mark.parametrize("python_integers", [False, True], ids=["int64", "beyond 64 bits"])
@settings(max_examples=40)
@given(data=st.data())
def test_exact_requirements_decide_exactly_whatever_the_counts(
    brute: Any, python_integers: bool, data: Any
) -> None:
    rows, weight = data.draw(weighted(BEYOND if python_integers else SIZES))
    counted = np.array(weight, dtype=object if python_integers else np.int64)
    classes = brute.classes_of(rows, ["u"], {"s": {"hierarchy": {"groups": {}}}}, weight=counted)
    found = with_matrix(brute, classes)
    for name, stricter in STRICTER.items():
        values = expected(brute, name, rows, weight)
        worst = (min if name == "probabilistic" else max)(values)
        measured = found[name].measure(classes)
        assert measured.exact == worst, name
        assert measured.worst == values.index(worst), name
        at = replace(found[name], limit=worst).measure(classes)
        assert not at.fails.any(), name
        tight = replace(found[name], limit=worst + stricter * HAIR).measure(classes)
        assert tight.fails.tolist() == [value == worst for value in values], name


@pytest.mark.parametrize("python_integers", [False, True], ids=["int64", "beyond 64 bits"])
@settings(max_examples=25)
@given(data=st.data(), l=st.integers(1, 3))
def test_recursive_diversity_is_strict_whatever_the_counts(
    brute: Any, python_integers: bool, data: Any, l: int
) -> None:
    rows, weight = data.draw(weighted(BEYOND if python_integers else SIZES))
    counted = np.array(weight, dtype=object if python_integers else np.int64)
    classes = brute.classes_of(rows, ["u"], {"s": {}}, weight=counted)
    ratios = []
    for key in sorted({row[0] for row in rows}):
        mine = [w for row, w in zip(rows, weight, strict=True) if row[0] == key]
        mine.sort(reverse=True)
        ratios.append(Fraction(mine[0], sum(mine[l - 1 :])) if mine[l - 1 :] else None)
    requirement = brute.RecursiveDiversity("s", l)
    for ratio in [ratio for ratio in ratios if ratio is not None]:
        for c in (ratio, ratio + HAIR):
            fails = replace(requirement, limit=c).measure(classes).fails.tolist()
            assert fails == [other is None or other >= c for other in ratios]


@pytest.mark.parametrize("size", [1, 2**31 + 1, 2**57 + 1])
def test_nt_closeness_is_exact_at_its_threshold(brute: Any, size: int) -> None:
    """Class a1 lies in A, where half have each value; a1 itself has a third."""
    rows = [("a1", "1"), ("a1", "2"), ("a2", "1"), ("a2", "2"), ("b1", "1")]
    weight = np.array([size, 2 * size, 2 * size, size, 5 * size])
    classes = brute.classes_of(rows, ["u"], {"s": {}}, weight=weight)
    tree = groups({"A": ["a1", "a2"], "B": ["b1"]}, "u")
    distance = EarthMover(classes.attributes["s"].ground("equal"))
    exactly = NTCloseness("s", distance, n=6 * size, limit=Fraction(1, 6), trees={"u": tree})
    # a1: 1/2 − 1/3 from A, farther from all; a2: 8/11 − 2/3 from all; b1: 1 − 8/11 from all.
    found = exactly.measure(classes)
    assert found.fails.tolist() == [False, False, True]
    assert found.exact == Fraction(3, 11)
    tight = replace(exactly, limit=Fraction(1, 6) - HAIR).measure(classes)
    assert tight.fails.tolist() == [True, False, True]
    assert not replace(exactly, limit=Fraction(3, 11)).measure(classes).fails.any()
    one_more = replace(exactly, n=6 * size + 1).measure(classes)
    assert one_more.fails.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("values", "l", "fails"),
    [
        pytest.param("1248", Fraction(4), False, id="four alike"),
        pytest.param("1248", 4 + HAIR, True, id="four alike, a hair more"),
        pytest.param("1" * 8 + "2" * 8, Fraction(2), False, id="halves"),
        pytest.param("1112", Fraction(2), True, id="three to one"),
        pytest.param("1111", Fraction(1), False, id="one value"),
        pytest.param("1111", 1 + HAIR, True, id="one value, a hair more"),
    ],
)
def test_entropy_equal_to_the_logarithm_holds(
    brute: Any, values: str, l: Fraction, fails: bool
) -> None:
    classes = brute.classes_of([("a", value) for value in values], ["u"], {"s": {}})
    assert EntropyDiversity("s", limit=l).measure(classes).fails.tolist() == [fails]


def test_entropy_is_decided_where_floats_are_blind(brute: Any) -> None:
    """Two values, one row apart in 2⁵⁷: not quite as uncertain as two equal ones."""
    weight = np.array([2**57, 2**57 + 1, 2**57, 2**57])
    rows = [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2")]
    classes = brute.classes_of(rows, ["u"], {"s": {}}, weight=weight)
    assert EntropyDiversity("s", limit=Fraction(2)).measure(classes).fails.tolist() == [True, False]


@pytest.mark.parametrize(
    ("distance", "limit"),
    [
        pytest.param(KullbackLeibler(), Fraction(1), id="kl, one bit"),
        pytest.param(JensenShannon(), None, id="js"),
        pytest.param(SmoothedJensenShannon(ordinal(2), Fraction(1, 2)), None, id="smoothed js"),
    ],
)
def test_a_class_certain_of_a_value_of_one_half(
    brute: Any, distance: Any, limit: Fraction | None
) -> None:
    classes = brute.classes_of([("a", "1"), ("b", "2")], ["u"], {"s": {}})
    if limit is not None:
        assert not TCloseness("s", distance, limit=limit).measure(classes).fails.any()
        assert TCloseness("s", distance, limit=limit - HAIR).measure(classes).fails.all()
    else:  # ½ log₂(4/3) + ¼ log₂(2/3) + ¼ log₂ 2 = 0.311…
        assert not TCloseness("s", distance, limit=Fraction(312, 1000)).measure(classes).fails.any()
        assert TCloseness("s", distance, limit=Fraction(311, 1000)).measure(classes).fails.all()
    same = brute.classes_of([(key, value) for key in "ab" for value in "12"], ["u"], {"s": {}})
    assert not TCloseness("s", distance, limit=Fraction(0)).measure(same).fails.any()


@pytest.mark.parametrize(("delta", "fails"), [(1, True), (1 + HAIR, False), (1 - HAIR, True)])
def test_delta_disclosure_is_strict_at_one_bit(brute: Any, delta: Fraction, fails: bool) -> None:
    """Class a has shares 1/2 and 1/2 of values that have 1/4 and 3/4 in the table."""
    rows = [("a", "1"), ("a", "2"), *[("b", "2")] * 2]
    classes = brute.classes_of(rows, ["u"], {"s": {}})
    requirement = DeltaDisclosure("s", limit=Fraction(delta), base="2", absent="ignore")
    assert requirement.measure(classes).fails.tolist() == [fails, False]


def test_enhanced_beta_is_bounded_by_the_logarithm_of_the_share(brute: Any) -> None:
    """A value of share 1/2 may gain at most ln 2 = 0.693…, whatever β allows."""
    under = [("a", "1")] * 84 + [("a", "2")] * 16 + [("b", "1")] * 16 + [("b", "2")] * 84
    over = [("a", "1")] * 85 + [("a", "2")] * 15 + [("b", "1")] * 15 + [("b", "2")] * 85
    lenient = EnhancedBetaLikeness("s", limit=Fraction(1))
    strict = EnhancedBetaLikeness("s", limit=Fraction(17, 25))
    for rows, gain, holds in ((under, Fraction(17, 25), True), (over, Fraction(7, 10), False)):
        classes = brute.classes_of(rows, ["u"], {"s": {}})
        assert (not lenient.measure(classes).fails.any()) == holds
        assert (not strict.measure(classes).fails.any()) == holds
        assert lenient.measure(classes).exact == (gain if holds else None)
    constant = brute.classes_of([("a", "1"), ("b", "1")], ["u"], {"s": {}})
    assert not EnhancedBetaLikeness("s", limit=Fraction(1, 100)).measure(constant).fails.any()


@pytest.mark.parametrize("t", ["1/6", 1 / 6, "0.1666666666666666666666"])
def test_a_third_of_a_half_is_not_what_a_float_says(brute: Any, t: Any) -> None:
    """EMD of exactly 1/6 against thresholds that look the same."""
    rows = [("a", "14"), ("a", "88"), ("b", "27"), ("b", "101")]
    column = {"role": "sensitive", "distance": "ordered", "t": t}
    table = brute.as_table(rows, ["u", "s"])
    audit = tclose.verify(table, {"columns": {"u": "quasi", "s": column}})
    assert audit.requirements[0].achieved_exact == Fraction(1, 6)
    assert audit.holds == (t == "1/6")
