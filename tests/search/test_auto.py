"""The portfolio: never worse than the default search alone, and it says what it did and why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tclose.search import Budget, SearchProblem, method_named, problem_of
from tclose.search.registry import EXTRA, choose_method, list_challengers

pytestmark = pytest.mark.slow

quick = settings(
    max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def people(tables: Any, rows: int, limits: list[str], seed: int = 1) -> SearchProblem:
    """A generated table with as many sensitive attributes as there are limits."""
    chance = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "age": chance.integers(18, 90, rows).tolist(),
        "town": chance.integers(0, 12, rows).tolist(),
        "sex": chance.integers(0, 2, rows).tolist(),
    }
    specs: dict[str, Any] = dict.fromkeys(columns, "quasi")
    for at, limit in enumerate(limits):
        distance = "equal" if at == 2 or limit == "equal" else "ordered"
        t = "0.5" if limit == "equal" else limit
        shift = np.array(columns["age"]) // 30 * (at + 1)
        columns[f"s{at}"] = ((chance.integers(0, 8, rows) + shift) % 9).tolist()
        specs[f"s{at}"] = {"role": "sensitive", "distance": distance, "t": t}
    return problem_of(tables.Case(columns, {"k": 3, "columns": specs}).bound())


SUITE = [["0.2"], ["0.03"], ["0.05", "0.05"], ["0.3", "0.1"], ["0.02", "0.4"], ["0.06"] * 3]


@pytest.mark.parametrize("limits", SUITE, ids=lambda limits: "-".join(limits))
@pytest.mark.parametrize("rows", [60, 600])
def test_it_is_never_worse_than_the_default_search_alone(
    limits: list[str], rows: int, tables: Any
) -> None:
    problem = people(tables, rows, limits)
    budget = Budget(effort=0.6, seed=3)
    alone, both = (method_named(name).run(problem, budget) for name in ("hybrid", "auto"))
    assert both.loss <= alone.loss
    assert both.loss == pytest.approx(min(trial.loss for trial in both.tried))
    assert (both.method == "hybrid") == (both.loss == alone.loss)
    again = method_named("auto").run(problem, budget)
    assert again.label.tobytes() == both.label.tobytes() and again.why == both.why


@quick
@given(data=st.data())
def test_it_is_never_worse_on_random_promises(data: st.DataObject, tables: Any, brute: Any) -> None:
    case = data.draw(tables.suited(method_named("hybrid")))
    bound = case.bound()
    problem = problem_of(bound)
    budget = Budget(effort=0.5, seed=data.draw(st.integers(0, 3)))
    assert choose_method(problem, budget)[0] == "hybrid"
    alone, both = (method_named(name).run(problem, budget) for name in ("hybrid", "auto"))
    assert both.loss <= alone.loss
    assert both.why
    assert brute.broken(case, bound, both.label) == []


def test_it_says_what_was_tried_and_what_that_lost(tables: Any) -> None:
    outcome = method_named("auto").run(people(tables, 600, ["0.02", "0.02"]), Budget(effort=0.6))
    steps = [trial.step for trial in outcome.tried]
    assert "strict cuts" in steps and any(step.startswith("matching: ") for step in steps)
    times = [trial.seconds for trial in outcome.tried]
    assert times == sorted(times)
    assert outcome.why.startswith(f"{outcome.method}: hybrid lost 0.")
    assert "matching 0." in outcome.why


@pytest.mark.parametrize(
    ("limits", "names"),
    [
        (["0.05"], []),
        (["0.05", "0.5"], ["matching", "cover"]),
        (["0.05", "equal"], ["fragments", "cover"]),
        (["0.07", "0.5"], ["cover"]),
        (["0.05", "0.5", "0.5"], ["fragments", "cover"]),
        (["0.5", "0.5", "0.5"], ["cover"]),
    ],
)
def test_who_challenges(limits: list[str], names: list[str], tables: Any) -> None:
    found = list_challengers(people(tables, 400, limits), Budget(effort=1.0))
    assert list(found) == names


def test_a_table_too_large_for_the_effort_is_left_to_the_default_search(tables: Any) -> None:
    problem = people(tables, 400, ["0.05", "0.05"])
    assert list_challengers(problem, Budget(effort=0.01)) == {}


def test_challengers_cost_a_fifth_more_at_most() -> None:
    assert EXTRA <= 0.2 + 1e-12


def test_progress_goes_on_from_one_search_to_the_next(tables: Any) -> None:
    seen: list[Any] = []
    budget = Budget(effort=0.6, report=seen.append)
    method_named("auto").run(people(tables, 300, ["0.05", "0.05"]), budget)
    assert all(step.seconds_total == pytest.approx(0.6 * 1.2) for step in seen)
    assert seen[-1].seconds_used <= seen[-1].seconds_total
    assert max(step.seconds_used for step in seen) > 0.6


def test_with_a_clock_everything_fits_in_the_time_given(tables: Any) -> None:
    seen: list[Any] = []
    budget = Budget(seconds=0.8, report=seen.append)
    outcome = method_named("auto").run(people(tables, 300, ["0.05", "0.05"]), budget)
    assert {step.seconds_total for step in seen} == {0.8}
    assert outcome.why


@pytest.mark.parametrize(
    ("policy", "method", "word"),
    [
        ({"effort": 0.1}, "mondrian", "little time"),
        ({"n": 20}, "hybrid", "loses least"),
        ({"n": 20, "effort": 0.1}, "nt-mondrian", "closeness is promised"),
        ({"loss": "discernibility"}, "optimal", "levels"),
    ],
)
def test_it_says_why_it_chose_another_method(
    policy: dict[str, Any], method: str, word: str, tables: Any
) -> None:
    rows = {"age": list(range(40)), "ill": ["a", "b", "c", "d"] * 10}
    spec: dict[str, Any] = {"role": "sensitive", "t": "0.3", "distance": "equal"}
    rules: dict[str, Any] = {"k": 2, "columns": {"age": "quasi", "ill": spec}}
    if "n" in policy:
        spec["n"] = policy["n"]
    if "loss" in policy:
        rules["search"] = {"loss": policy["loss"]}
    problem = problem_of(tables.Case(rows, rules).bound())
    outcome = method_named("auto").run(problem, Budget(effort=policy.get("effort", 1.0)))
    assert outcome.method == method and word in outcome.why
