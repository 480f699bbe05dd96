"""The thesis on t-closeness with several numerical sensitive attributes.

Its examples, and small counterexamples to the statements of it that do not hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tclose
from tclose.distance.emd import EarthMover
from tclose.distance.ground import ordinal
from tclose.distance.histogram import Histogram

F = Fraction
P, Q, R = (3, 1, 6), (4, 0, 6), (1, 7, 2)


def delta(one: Sequence[int], other: Sequence[int]) -> Fraction:
    """The thesis' δ of two vectors of whole numbers with the same sum, for mass 1."""
    assert sum(one) == sum(other)
    measured = EarthMover(ordinal(len(one))).of(Histogram.from_dense([one]), np.array(other))
    exact = measured.exact(0)
    assert exact is not None
    return exact


def at_end(vector: Sequence[int], end: int) -> list[int]:
    """All of a vector's mass at one place."""
    result = [0] * len(vector)
    result[end] = sum(vector)
    return result


def farthest(vector: Sequence[int], whole: int) -> Fraction:
    """The thesis' Δ: the largest δ to any vector on the same places, times the mass |F|."""
    mass = F(sum(vector), whole)
    if len(vector) == 1 or not mass:
        return F(0)
    return mass * max(delta(vector, at_end(vector, end)) for end in range(len(vector)))


# --- Section 3.2: worked distances --------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [(P, Q, F(5, 100)), (P, R, F(3, 10)), (Q, R, F(35, 100))],
    ids=["P-Q", "P-R", "Q-R"],
)
def test_worked_distances_between_three_vectors(
    one: tuple[int, ...], other: tuple[int, ...], apart: Fraction
) -> None:
    assert delta(one, other) == delta(other, one) == apart


@pytest.mark.parametrize(
    ("inside", "whole", "apart"),
    [(Q, P, F(5, 100)), (P, R, F(3, 10)), (Q, R, F(35, 100))],
    ids=["Q-in-P", "P-in-R", "Q-in-R"],
)
def test_worked_distances_as_a_class_of_a_table(
    inside: tuple[int, ...], whole: tuple[int, ...], apart: Fraction
) -> None:
    times = max(-(-p // q) for p, q in zip(inside, whole, strict=True) if p)
    rest = [times * q - p for p, q in zip(inside, whole, strict=True)]
    rows = [("in", v) for v, n in enumerate(inside) for _ in range(n)]
    rows += [("out", v) for v, n in enumerate(rest) for _ in range(n)]
    table = pa.table(dict(zip(["group", "value"], zip(*rows, strict=True), strict=True)))
    assert tclose.explain(table, quasi="group", sensitive="value", class_number=1).exact == apart


def test_definition_2_as_printed_does_not_give_its_own_example() -> None:
    p, q = ([F(x, 10) for x in v] for v in (P, Q))
    printed = [abs(sum((p[i] - q[j] for j in range(i + 1)), F(0))) for i in range(2)]
    meant = [abs(sum((p[j] - q[j] for j in range(i + 1)), F(0))) for i in range(2)]
    assert sum(meant, F(0)) / 2 == delta(P, Q) == F(1, 20)
    assert sum(printed, F(0)) / 2 == F(3, 20)


# --- Sections 2.2.1 to 2.2.3: privacy models in words ---------------------------------------------


def test_nine_equal_records_are_hidden_among_eight_others() -> None:
    table = pa.table(
        {
            "zip": ["672**"] * 9,
            "age": ["20-59"] * 9,
            "diagnosis": [
                *["Bronchitis"] * 3,
                *("Pneumonia", "Pneumonia", "Bone Cancer", "Bronchitis"),
                *["Liver Cancer"] * 2,
            ],
        }
    )
    audit = tclose.audit(table, quasi=["zip", "age"], sensitive="diagnosis")
    assert (audit.k, audit.k - 1) == (9, 8)


def test_k_anonymity_hides_a_record_among_k_less_one_others() -> None:
    pairs = pa.table({"zip": ["a", "a", "b", "b"]})
    assert tclose.verify(pairs, {"k": 2, "columns": {"zip": "quasi"}}).holds
    assert not tclose.verify(pairs, {"k": 3, "columns": {"zip": "quasi"}}).holds


@pytest.fixture
def ten_and_ten() -> pa.Table:
    """Nine positives beside one negative, one beside nine, in a table with 1 % positives."""
    groups = {"first": (9, 1), "second": (1, 9), "others": (0, 980)}
    return pa.table(
        {
            "group": [name for name, pair in groups.items() for _ in range(sum(pair))],
            "test": [v for p, n in groups.values() for v in ["positive"] * p + ["negative"] * n],
        }
    )


def test_nine_positives_to_one_is_the_exposed_class_not_one_to_nine(ten_and_ten: pa.Table) -> None:
    told = {
        number: tclose.explain(ten_and_ten, quasi="group", sensitive="test", class_number=number)
        for number in (1, 3)
    }
    shares = {
        why.label["group"]: next(s.in_class for s in why.shares if s.value == "positive")
        for why in told.values()
    }
    assert shares == {"first": F(9, 10), "second": F(1, 10)}
    assert {why.label["group"]: why.exact for why in told.values()} == {
        "first": F(89, 100),
        "second": F(9, 100),
    }


def test_the_lowest_salaries_of_table_6_are_three_eighths_away() -> None:
    thousands = [23, 21, 27, 58, 49, 56, 81, 83, 91]
    table = pa.table({"class": [1, 1, 1, 2, 2, 2, 3, 3, 3], "salary": thousands})
    told = tclose.explain(table, quasi="class", sensitive="salary", class_number=1)
    mean = F(sum(thousands), 9)
    assert told.exact == F(3, 8)
    assert round(mean) == 54 and all(salary < mean for salary in thousands[:3])


def test_a_distance_of_exactly_t_is_close_enough() -> None:
    table = pa.table({"zip": list("aabb"), "salary": [14, 88, 27, 101]})
    rules: dict[str, Any] = {
        "columns": {"zip": "quasi", "salary": {"role": "sensitive", "t": "1/6"}}
    }
    assert tclose.verify(table, rules).holds
    rules["columns"]["salary"]["t"] = "0.166666666666666666"
    assert not tclose.verify(table, rules).holds


def test_closeness_needs_no_order_of_the_values() -> None:
    table = pa.table({"zip": list("aabb"), "illness": ["flu", "ulcer", "cough", "ulcer"]})
    for illness in ({"distance": "equal"}, {"hierarchy": {"groups": GROUPS}}):
        rules = {"columns": {"zip": "quasi", "illness": {"role": "sensitive", **illness}}}
        assert tclose.explain(table, rules, class_number=1).exact is not None


GROUPS = {"lung": ["flu", "cough"], "stomach": ["ulcer"]}


def test_an_arbitrary_order_gives_arbitrary_distances() -> None:
    table = pa.table({"zip": list("aabb"), "illness": ["flu", "cough", "ulcer", "rash"]})
    found = set()
    for order in (
        ["flu", "cough", "ulcer", "rash"],
        ["flu", "ulcer", "rash", "cough"],
        ["flu", "ulcer", "cough", "rash"],
    ):
        illness = {"role": "sensitive", "distance": "ordered", "order": order}
        rules = {"columns": {"zip": "quasi", "illness": illness}}
        found.add(tclose.explain(table, rules, class_number=1).exact)
    assert found == {F(1, 3), F(1, 6)}


def test_real_numbers_have_an_earth_movers_distance() -> None:
    values = ["0.125", "2.5", "3.75", "7.25"]
    table = pa.table({"group": list("aabb"), "level": values})
    rules = {"columns": {"group": "quasi", "level": {"role": "sensitive", "distance": "numeric"}}}
    # The area between the two distribution functions, over the range: class 1 holds the lower two.
    area = F(1, 4) * (F("2.5") - F("0.125")) + F(1, 2) * (F("3.75") - F("2.5"))
    area += F(1, 4) * (F("7.25") - F("3.75"))
    assert tclose.explain(table, rules, class_number=1).exact == area / (F("7.25") - F("0.125"))


# --- Sections 3.2.7 and 3.3: bounds ---------------------------------------------------------------


def test_a_left_heavy_vector_is_farthest_from_the_right_end() -> None:
    left_heavy = [7, 2, 1]
    assert delta(left_heavy, at_end(left_heavy, 0)) == F(1, 5)
    assert delta(left_heavy, at_end(left_heavy, 2)) == F(4, 5)


def test_the_bounds_of_figure_15_before_its_split() -> None:
    assert farthest([5, 5], 10) == F(1, 2)
    assert farthest([3, 7], 10) == F(7, 10)


def test_padding_with_zeros_shrinks_the_distance_that_proposition_3_calls_unchanged() -> None:
    assert delta([1, 0], [0, 1]) == 1
    assert delta([1, 0, 0, 0], [0, 1, 0, 0]) == F(1, 3)


@pytest.mark.parametrize("places", [2, 3, 4])
def test_every_fragment_of_two_rows_or_more_is_bounded_by_no_less_than_half_its_mass(
    places: int,
) -> None:
    for vector in product(range(4), repeat=places):
        if sum(vector):
            assert farthest(vector, sum(vector)) >= F(1, 2)


def test_a_split_can_raise_both_bounds_against_proposition_6() -> None:
    # Rows are values of one attribute, columns of the other; half of the records in each corner.
    matrix = np.array([[1, 0], [0, 0], [0, 0], [0, 1]])
    upper, lower = matrix[:2], matrix[2:]

    def bounds(*fragments: Any) -> tuple[Fraction, Fraction]:
        rows = sum((farthest(part.sum(axis=1).tolist(), 2) for part in fragments), F(0))
        columns = sum((farthest(part.sum(axis=0).tolist(), 2) for part in fragments), F(0))
        return rows, columns

    assert bounds(matrix) == (F(1, 2), F(1, 2))
    assert bounds(upper, lower) == (F(1), F(1))


def test_one_common_scale_makes_the_row_bound_fall_with_that_split() -> None:
    # The same split, each fragment's distance measured on the scale of all four rows.
    apart = ordinal(4)
    upper = max(apart.between(0, end) for end in (0, 1)) / 2
    lower = max(apart.between(3, end) for end in (2, 3)) / 2
    assert upper + lower == F(1, 3) < F(1, 2)
