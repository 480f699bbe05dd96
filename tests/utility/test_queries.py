"""Random counts: the same queries answered by loops over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.errors import UsageError
from tclose.utility.pair import pair_of
from tclose.utility.queries import count_actual, draw_workload, estimate_counts
from tclose.workflows.inputs import check

QUASI = ("age", "town", "hue")
SEEDS = st.integers(0, 10**6)
ORDER = {"town": ["ann", "bob", "cid", "dee", "eve"]}


def places(case: Any, column: str) -> list[Any]:
    """The values of a column in the order in which ranges run along them."""
    domain = case.domain(column)
    return [value for value in ORDER.get(column, domain) if value in domain]


@pytest.mark.slow
@settings(max_examples=15)
@given(SEEDS, st.booleans(), st.integers(1, 4), st.sampled_from([0.05, 0.3, 1.0]))
def test_counts_and_estimates_are_those_of_loops(
    tiny: Any, policy: Any, seed: int, left_out: bool, columns: int, share: float
) -> None:
    case = tiny(seed, left_out=left_out)
    original, release = case.original, case.release
    pair = pair_of(check(original, policy), check(release, policy))
    work = draw_workload(pair, 12, share, columns, seed)
    actual, estimate = count_actual(pair, work), estimate_counts(pair, work)
    illnesses = sorted({row["ill"] for row in case.rows})
    names = [one.name for one in pair.covering.columns]
    for query in range(12):
        asked = {
            name: places(case, name)[work.low[query, at] : work.high[query, at]]
            for at, name in enumerate(names)
        }
        ill = illnesses[slice(*work.part[query])]
        counted = sum(
            all(row[name] in asked[name] for name in QUASI) and row["ill"] in ill
            for row in case.rows
        )
        spread = 0.0
        for at in case.kept:
            part = 1.0
            for name in QUASI:
                covered = case.covered(at, name)
                part *= sum(value in asked[name] for value in covered) / len(covered)
            spread += part * (case.rows[at]["ill"] in ill)
        assert actual[query] == counted
        assert estimate[query] == pytest.approx(spread)


def test_each_query_asks_about_so_many_columns_and_a_sensitive_range(
    tiny: Any, policy: Any
) -> None:
    case = tiny(5)
    original = case.original
    bound = check(original, policy)
    pair = pair_of(bound, bound)
    work = draw_workload(pair, 200, 0.001, 2, 1)
    whole = np.array([one.values for one in pair.covering.columns])
    assert ((work.high - work.low < whole).sum(axis=1) == 2).all()
    assert (work.part[:, 1] - work.part[:, 0] == 1).all()
    again = draw_workload(pair, 200, 0.001, 2, 1)
    assert (again.low == work.low).all() and (again.part == work.part).all()
    assert (draw_workload(pair, 200, 0.001, 2, 2).low != work.low).any()


def test_queries_that_select_nothing_are_divided_by_a_thousandth_of_the_rows(
    tiny: Any, measured: Any
) -> None:
    found = measured(tiny(5), queries=300, share=0.001)["query-error"]
    assert found.numbers["selecting nothing"] > 0
    assert np.isfinite(found.numbers["mean"])
    assert found.overall == found.numbers["median"]


def test_more_columns_than_there_are_is_all_of_them(tiny: Any, measured: Any) -> None:
    assert measured(tiny(5), queries=5, columns=9)["query-error"].numbers["columns"] == 3


def test_a_table_without_sensitive_columns_can_be_asked_too(tiny: Any) -> None:
    case = tiny(5)
    rules = {"columns": {"age": "quasi", "town": "quasi", "hue": "quasi", "ill": "insensitive"}}
    found = tclose.measure(original=case.original, release=case.original, policy=rules, queries=30)
    assert found["query-error"].overall == pytest.approx(0.0)
    assert found["reconstruction"].overall == pytest.approx(0.0)


@pytest.mark.parametrize("asked", [{"share": 0.0}, {"share": 1.5}, {"columns": 0}])
def test_senseless_queries_are_refused(tiny: Any, measured: Any, asked: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="queries need"):
        measured(tiny(5), queries=5, **asked)
