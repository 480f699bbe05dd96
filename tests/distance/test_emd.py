"""One kernel for every earth mover's distance, against linear programs and the papers' formulas."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from tclose.distance.emd import EarthMover, Reference
from tclose.distance.ground import Metric, TreeMetric, equal, hierarchical, numeric, ordinal
from tclose.distance.histogram import Histogram
from tclose.distance.matrix import matrix


def distance(metric: Metric, row: list[int], whole: list[int]) -> Fraction:
    found = EarthMover(metric).of(Histogram.from_dense([row]), np.array(whole))
    value = found.exact(0)
    assert value is not None
    assert found.value[0] == pytest.approx(float(value), abs=1e-12)
    return value


def walked(metric: TreeMetric) -> TreeMetric:
    """The same tree, denied its form as chains, so that the walk up the tree serves it."""
    plain = TreeMetric(metric.name, metric.leaf, metric.parent, metric.length, metric.diameter)
    plain.__dict__["chains"] = None
    return plain


@settings(max_examples=70)
@given(data=st.data())
def test_tree_metrics_have_the_distances_of_their_definition(slow: Any, data: Any) -> None:
    ground = data.draw(slow.grounds())
    size = ground.metric.values
    found = tuple(tuple(ground.metric.between(i, j) for j in range(size)) for i in range(size))
    assert found == ground.apart


@pytest.mark.parametrize("kind", ["ordered", "numeric", "equal", "hierarchical"])
@settings(max_examples=40)
@given(data=st.data())
def test_emd_is_the_optimum_of_the_linear_program(slow: Any, kind: str, data: Any) -> None:
    ground = data.draw(slow.grounds(kind))
    row, whole = (data.draw(slow.counts(ground.metric.values)) for _ in range(2))
    found = float(distance(ground.metric, row, whole))
    assert found == pytest.approx(slow.linear_program(row, whole, ground.apart), abs=1e-7)
    assert found == pytest.approx(slow.network_simplex(row, whole, ground.apart), abs=1e-9)


@settings(max_examples=40)
@given(data=st.data())
def test_hierarchical_emd_is_li_s_recursion_over_direct_children(slow: Any, data: Any) -> None:
    tree = data.draw(slow.trees())
    row, whole = (data.draw(slow.counts(len(tree.leaf))) for _ in range(2))
    assert distance(tree.metric(), row, whole) == slow.li_recursion(tree, row, whole)


@settings(max_examples=70)
@given(data=st.data())
def test_numeric_emd_is_the_wasserstein_distance_over_the_range(slow: Any, data: Any) -> None:
    number = st.fractions(-1000, 1000, max_denominator=50)
    places = sorted(data.draw(st.sets(number, min_size=1, max_size=12)))
    row, whole = (data.draw(slow.counts(len(places))) for _ in range(2))
    found = distance(numeric(places), row, whole)
    assert found == slow.along_line(places, row, whole)
    at = [float(place) for place in places]
    apart = wasserstein_distance(at, at, row, whole) / ((at[-1] - at[0]) or 1)
    assert float(found) == pytest.approx(apart, abs=1e-9)


@settings(max_examples=70)
@given(data=st.data(), size=st.integers(1, 12))
def test_ordered_and_equal_emd_have_closed_forms(slow: Any, data: Any, size: int) -> None:
    row, whole = (data.draw(slow.counts(size)) for _ in range(2))
    ranks = [Fraction(rank) for rank in range(size)]
    assert distance(ordinal(size), row, whole) == slow.along_line(ranks, row, whole)
    assert distance(equal(size), row, whole) == slow.variational(row, whole)


@settings(max_examples=70)
@given(data=st.data())
def test_the_chain_kernel_equals_the_walk_up_the_tree(slow: Any, data: Any) -> None:
    ground = data.draw(slow.grounds())
    rows = [data.draw(slow.counts(ground.metric.values)) for _ in range(3)]
    whole = np.array(data.draw(slow.counts(ground.metric.values)))
    classes = Histogram.from_dense(rows)
    quick = EarthMover(ground.metric).of(classes, whole)
    walk = EarthMover(walked(ground.metric)).of(classes, whole)
    assert [quick.exact(i) for i in range(3)] == [walk.exact(i) for i in range(3)]


def test_lines_and_stars_are_chains_and_a_branching_tree_is_not() -> None:
    assert ordinal(5).chains is not None
    assert ordinal(5, missing=True).chains is not None
    assert equal(5).chains is not None
    branching = hierarchical([3, 3, 4, 4, -1], [0, 0, 0, 1, 2], [0, 1, 2])
    assert branching.chains is None


@settings(max_examples=40)
@given(data=st.data())
def test_a_tree_s_distances_as_a_matrix_give_the_same_emd(slow: Any, data: Any) -> None:
    ground = data.draw(slow.grounds())
    row, whole = (data.draw(slow.counts(ground.metric.values)) for _ in range(2))
    as_matrix, _ = matrix(ground.apart)
    largest = max(entry for line in ground.apart for entry in line) or Fraction(1)
    found = distance(as_matrix, row, whole) * largest
    assert found == distance(ground.metric, row, whole)


@settings(max_examples=40)
@given(data=st.data())
def test_a_matrix_emd_is_the_linear_program_over_shortest_ways(slow: Any, data: Any) -> None:
    apart = data.draw(slow.matrices())
    row, whole = (data.draw(slow.counts(len(apart))) for _ in range(2))
    metric, notes = matrix(apart)
    short = slow.closure(apart)
    largest = max(entry for line in short for entry in line)
    scaled = [[entry / largest for entry in line] for line in short]
    size = range(len(apart))
    assert [[metric.between(i, j) for j in size] for i in size] == scaled
    assert any("shortened" in note for note in notes) == (short != apart)
    assert any("divided" in note for note in notes) == (largest != 1)
    found = float(distance(metric, row, whole))
    assert found == pytest.approx(slow.linear_program(row, whole, scaled), abs=1e-7)


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        pytest.param([[0, 1], [2, 0]], "both directions", id="not symmetric"),
        pytest.param([[0, -1], [-1, 0]], "negative", id="negative"),
        pytest.param([[1, 1], [1, 0]], "diagonal", id="diagonal"),
        pytest.param([[0, 0], [0, 0]], "distance 0", id="two names for one value"),
    ],
)
def test_a_matrix_that_is_no_distance_is_refused(rows: list[list[int]], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        matrix([[Fraction(entry) for entry in row] for row in rows])


@settings(max_examples=40)
@given(data=st.data())
def test_references_of_their_own_equal_one_class_at_a_time(slow: Any, data: Any) -> None:
    ground = data.draw(slow.grounds())
    size = ground.metric.values
    rows = [data.draw(slow.counts(size)) for _ in range(5)]
    references = [data.draw(slow.counts(size)) for _ in range(3)]
    which = data.draw(st.lists(st.integers(0, 2), min_size=5, max_size=5))
    metric = data.draw(st.sampled_from([ground.metric, matrix(ground.apart)[0]]))
    found = EarthMover(metric).against(
        Histogram.from_dense(rows), Reference(np.array(references), np.array(which))
    )
    expected = [distance(metric, row, references[at]) for row, at in zip(rows, which, strict=True)]
    assert [found.exact(i) for i in range(5)] == expected
    assert found.largest() == expected.index(max(expected))


def test_one_value_is_at_distance_zero_from_itself() -> None:
    for metric in (ordinal(1), equal(1), numeric([Fraction(7)])):
        assert distance(metric, [3], [5]) == 0


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param([1, 1, 1, 0, 0, 0, 0, 0, 0], Fraction(3, 8), id="3k 4k 5k"),
        pytest.param([0, 0, 0, 1, 0, 1, 0, 0, 1], Fraction(1, 6), id="6k 8k 11k"),
        pytest.param([0, 0, 0, 0, 1, 0, 1, 1, 0], Fraction(17, 72), id="7k 9k 10k"),
        pytest.param([1, 0, 1, 0, 0, 0, 1, 0, 0], Fraction(1, 6), id="3k 5k 9k"),
        pytest.param([0, 1, 0, 0, 1, 0, 0, 1, 0], Fraction(1, 12), id="4k 7k 10k"),
    ],
)
def test_salaries_of_the_paper(row: list[int], expected: Fraction) -> None:
    assert distance(ordinal(9), row, [1] * 9) == expected


DISEASES = ["flu", "pneumonia", "bronchitis", "ulcer", "cancer", "gastritis"]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param(["ulcer", "gastritis", "cancer"], Fraction(4, 9), id="table 4, class 1"),
        pytest.param(["gastritis", "flu", "bronchitis"], Fraction(8, 27), id="table 4, class 2"),
        pytest.param(["bronchitis", "pneumonia", "cancer"], Fraction(8, 27), id="table 4, class 3"),
        pytest.param(["ulcer", "cancer", "pneumonia"], Fraction(7, 27), id="table 5, class 1"),
        pytest.param(["gastritis", "flu", "bronchitis"], Fraction(8, 27), id="table 5, class 2"),
        pytest.param(["gastritis", "bronchitis", "cancer"], Fraction(5, 27), id="table 5, class 3"),
    ],
)
def test_diseases_of_the_paper_against_the_true_table(
    slow: Any, row: list[str], expected: Fraction
) -> None:
    """Root 0, respiratory 1, digestive 2; infection 3, vascular 4, stomach 5, colon 6; leaves."""
    parent = (-1, 0, 0, 1, 1, 2, 2, 3, 3, 3, 5, 5, 5, 4, 6)
    tree = slow.Tree(parent, (7, 8, 9, 10, 11, 12))
    table = [1, 1, 2, 1, 2, 2]  # of the nine patients of table 3
    counted = [row.count(disease) for disease in DISEASES]
    assert slow.li_recursion(tree, counted, table) == expected
    assert distance(tree.metric(), counted, table) == expected


@pytest.mark.parametrize("unit", [Fraction(1), Fraction(1, 7), Fraction(2**80)])
def test_shortest_ways_are_the_same_in_any_unit(unit: Fraction) -> None:
    """In 64 bits, and in Python's integers where a unit is too large for these."""
    chance = random.Random(3)
    size = 12
    apart = [[Fraction(0)] * size for _ in range(size)]
    for i in range(size):
        for j in range(i):
            apart[i][j] = apart[j][i] = Fraction(chance.randint(1, 40))
    found, _ = matrix([[entry * unit for entry in row] for row in apart])
    least = [list(row) for row in apart]
    for k in range(size):  # by the definition, one pair after another
        for i in range(size):
            for j in range(size):
                least[i][j] = min(least[i][j], least[i][k] + least[k][j])
    longest = max(map(max, least))
    ways = [[found.between(i, j) for j in range(size)] for i in range(size)]
    assert ways == [[entry / longest for entry in row] for row in least]


def test_a_large_matrix_takes_no_python_integers() -> None:
    ranks = range(300)
    metric, _ = matrix([[Fraction(abs(a - b), 10) for b in ranks] for a in ranks])
    assert metric.cost.dtype == np.int64 and metric.between(0, 299) == 1
