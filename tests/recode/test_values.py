"""What classes are released as, and that the labels read back as what they mean."""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tclose.data.encode.labels import cover_test, covers_missing, read_set
from tclose.recode.plan import Plan, build_plan
from tclose.recode.recoding import recode_outcome
from tclose.recode.values import quote_member, write_values
from tclose.search import Outcome
from tclose.utility.loss import code_quasi
from tclose.workflows.inputs import check


def labels(values: Any, label: list[int], recoding: str = "local", **column: Any) -> list:
    """What each class of the rows is released as."""
    table = pa.table({"q": pa.array(values), "n": list(range(len(values)))})
    rules = {"role": "quasi", **column}
    bound = check(table, {"k": 1, "columns": {"q": rules, "n": "sensitive"}})
    by_row = np.array(label)[bound.cells.codes["n"]]
    (released,) = write_values(bound, code_quasi(bound), by_row, recoding=recoding)
    return list(released.values)


NASTY = st.text(st.sampled_from('ab*,{}"\\ ()[]é\n'), max_size=6)


@given(st.lists(st.one_of(NASTY, st.just("(missing)")), min_size=1, max_size=5, unique=True))
@example(["*"])
@settings(max_examples=100, deadline=None)
def test_any_texts_in_a_set_are_read_back(members: list[str]) -> None:
    inside = ", ".join(quote_member(text) for text in members)
    label = "{" + inside + "}"
    assert read_set(label) == (members, False)
    assert all(cover_test(label)(text) for text in members)
    assert not covers_missing(label)
    assert covers_missing("{" + inside + ", (missing)}")
    # A member may be a label of its own, as "*" or "(*" is, that this text lies under.
    is_text = any(cover_test(text)("(missing)") for text in members)
    assert cover_test("{" + inside + ", (missing)}")("(missing)") == is_text


@given(
    st.lists(st.one_of(NASTY, st.none()), min_size=1, max_size=8),
    st.lists(st.integers(0, 2), min_size=8, max_size=8),
)
@settings(max_examples=15, deadline=None)
def test_texts_lie_under_their_labels(values: list, classes: list) -> None:
    label = classes[: len(values)]
    label = [sorted(set(label)).index(one) for one in label]
    made = labels(pa.array(values, pa.string()), label)
    for value, at in zip(values, label, strict=True):
        if value is None:
            assert made[at] is None or covers_missing(made[at])
        else:
            assert made[at] is not None and cover_test(made[at])(value), (made[at], value)


def test_numbers_and_dates_become_closed_intervals() -> None:
    assert labels([30, 25, 37, 41], [0, 0, 0, 1]) == ["[25, 37]", "41"]
    assert labels(["2020-05-01", "2019-12-31", None], [0, 0, 1]) == [
        "[2019-12-31, 2020-05-01]",
        None,
    ]
    assert labels([1.5, 2.0, None], [0, 0, 0]) == ["*"]
    assert labels(["10", "9", "-3"], [0, 0, 0]) == ["[-3, 10]"]


def test_numbers_with_a_unit_and_moments_are_read_back() -> None:
    (made,) = labels(["3K", "11K", "7K"], [0, 0, 0])
    assert made == "[3K, 11K]"
    assert cover_test(made)("7K") and not cover_test(made)("12K") and not cover_test(made)("7")
    noon = ["2024-01-01T10:00:00", "2024-01-01T12:00:00"]
    (made,) = labels(noon, [0, 0])
    assert cover_test(made)("2024-01-01T11:59:59") and not cover_test(made)("2024-01-01T12:00:01")
    (made,) = labels(pa.array([36_000, 40_000], pa.time32("s")), [0, 0])
    assert cover_test(made)("10:30:00") and not cover_test(made)("12:00:00")


def test_one_number_written_in_two_ways_stays_true_of_both() -> None:
    (made,) = labels(["7", "007"], [0, 0])
    assert cover_test(made)("7") and cover_test(made)("007")
    assert labels(["7", "007", "8"], [0, 0, 1])[1] == "8"


def test_trees_give_the_lowest_common_ancestor() -> None:
    groups = {"lung": ["flu", "cough"], "stomach": ["ulcer"]}
    made = labels(
        ["flu", "cough", "ulcer", "flu", "ulcer", None, None],
        [0, 0, 1, 2, 2, 3, 2],
        hierarchy={"groups": groups},
    )
    assert made == ["lung", "ulcer", "*", None]
    assert labels(["00-950", "00-123"], [0, 0], hierarchy={"prefix": [2, 0]}) == ["00****"]
    dates = {"hierarchy": {"dates": ["month", "year"]}}
    assert labels(["2021-03-05", "2021-03-09"], [0, 0], **dates) == ["2021-03"]


def test_sets_are_in_the_order_of_their_values() -> None:
    assert labels(["b", "a, c", "d", None], [0, 0, 1, 0]) == ['{"a, c", b, (missing)}', "d"]


def test_numbers_beyond_measure_are_released_as_sets() -> None:
    assert labels(["1e400", "2"], [0, 0]) == ["{2, 1e400}"]
    assert labels([float("inf"), 2.0], [0, 0]) == ["{2, inf}"]


@pytest.mark.slow
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=12))
@settings(max_examples=8, deadline=None)
def test_central_numbers(values: list[int]) -> None:
    whole = [0] * len(values)
    (mean,) = labels(values, whole, "mean")
    assert float(mean) == pytest.approx(fmean(values), rel=1e-11, abs=1e-12)
    (median,) = labels(values, whole, "median")
    assert int(median) == sorted(values)[(len(values) - 1) // 2]
    (mode,) = labels(values, whole, "mode")
    often = Counter(values)
    assert int(mode) == min(v for v in often if often[v] == max(often.values()))


def test_central_values_of_what_is_no_number() -> None:
    dates = ["2020-01-01", "2020-01-03", "2020-02-01"]
    for how in ("mean", "median"):
        assert labels(dates, [0, 0, 0], how) == ["2020-01-03"]
    assert labels(["b", "a", "b", None], [0, 0, 0, 0], "mean") == ["b"]
    tree = {"hierarchy": {"groups": {"x": ["a", "b"], "y": ["c"]}}}
    assert labels(["a", "c", "c"], [0, 0, 0], "median", **tree) == ["c"]
    assert labels([None, 4, 5], [0, 1, 1], "mean") == [None, "4.5"]
    assert labels([1234567, 1234568], [0, 0], "mean") == ["1234567.5"]
    assert labels(["3K", "5K", "5K"], [0, 0, 0], "mean") == ["4.33333333333K"]


def test_classes_released_alike_are_one_class_of_the_plan() -> None:
    table = pa.table({"q": ["a", "a", "b"], "n": [1, 2, 3]})
    bound = check(table, {"k": 1, "columns": {"q": "quasi", "n": "sensitive"}})
    outcome = Outcome(np.array([0, 1, 2]), 0.0, "mondrian", "finished", (), True)
    plan = build_plan(bound, outcome, recode_outcome(bound, outcome), 1)
    assert plan.classes == 2
    assert Plan.from_json(plan.to_json()) == plan
