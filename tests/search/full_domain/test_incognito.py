"""Incognito against every node judged by code that shares nothing with the package."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tclose.errors import UsageError
from tclose.search import Budget, method_named, problem_of
from tclose.search.full_domain import incognito as incognito_module
from tclose.search.full_domain.incognito import minimal_nodes

quick = settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def below(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


@quick
@given(data=st.data())
def test_all_minimal_nodes_and_no_other(data: st.DataObject, tables: Any, lattices: Any) -> None:
    case = data.draw(tables.cases())
    bound = case.bound()
    holding = [
        node
        for node in lattices.every(case)
        if (found := lattices.node(case, bound, node, Fraction(0), "released")) and found.left == 0
    ]
    minimal = [node for node in holding if not any(below(other, node) for other in holding)]
    found = minimal_nodes(problem_of(bound), Budget())
    assert found.finished
    assert list(found.nodes) == sorted(minimal)


@quick
@given(data=st.data())
def test_the_method_returns_the_cheapest_minimal_node(
    data: st.DataObject, tables: Any, lattices: Any, judged: Any
) -> None:
    case = data.draw(tables.cases() | tables.suited())
    bound = case.bound()
    made = [
        lattices.node(case, bound, node, Fraction(0), "released") for node in lattices.every(case)
    ]
    losses = [lattices.loss(case, bound, node, "iyengar", {}) for node in made if node]
    problem = problem_of(bound)
    if not judged(bool(losses), least=0.3):
        with pytest.raises(UsageError, match="no generalization within the levels allowed"):
            method_named("incognito").run(problem, Budget())
        return
    outcome = method_named("incognito").run(problem, Budget(suppression=Fraction(1, 2)))
    assert outcome.loss == pytest.approx(float(min(losses)), abs=1e-12)
    assert outcome.bound == outcome.loss and outcome.stopped == "finished"
    assert (outcome.label >= 0).all()


def test_level_limits_hold_for_minimal_nodes_too(tables: Any) -> None:
    rows = {"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "s": ["x", "y", "x", "y"]}
    policy = {"k": 2, "columns": {"a": "quasi", "b": "quasi", "s": {"role": "sensitive", "t": 1}}}
    free = minimal_nodes(problem_of(tables.Case(rows, policy).bound()), Budget())
    assert free.nodes == ((0, 1), (1, 0))
    policy["search"] = {"levels": {"a": [1, 1]}}
    bound = minimal_nodes(problem_of(tables.Case(rows, policy).bound()), Budget())
    assert bound.nodes == ((1, 0),)
    policy["search"] = {"levels": {"a": [0, 0], "b": [0, 0]}}
    assert minimal_nodes(problem_of(tables.Case(rows, policy).bound()), Budget()).nodes == ()


def test_tagging_and_pruning_save_judgements(tables: Any) -> None:
    rows = {name: [at >> bit & 1 for at in range(64)] for bit, name in enumerate("abcdef")}
    rows["s"] = ["x"] * 64
    policy = {"k": 64, "columns": {**{name: "quasi" for name in "abcdef"}, "s": "sensitive"}}
    found = minimal_nodes(problem_of(tables.Case(rows, policy).bound()), Budget())
    assert found.nodes == ((1,) * 6,)
    assert found.judged == 7, "no node with two raw columns is a candidate"


def test_too_many_nodes_are_refused_where_nothing_can_be_inferred(
    tables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incognito_module, "MOST_JUDGED", 3)
    rows = {"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "s": ["x", "y", "x", "y"]}
    delta = {"max": "1", "absent": "ignore"}
    columns = {"a": "quasi", "b": "quasi", "s": {"role": "sensitive", "delta": delta}}
    problem = problem_of(tables.Case(rows, {"columns": columns}).bound())
    with pytest.raises(UsageError, match="all 4 nodes would have to be judged"):
        minimal_nodes(problem, Budget())


def test_a_stopped_search_says_that_it_is_not_finished(tables: Any) -> None:
    rows = {"a": [1, 1, 2, 2], "s": ["x", "y", "x", "y"]}
    policy = {"k": 2, "columns": {"a": "quasi", "s": {"role": "sensitive", "t": 1}}}
    problem = problem_of(tables.Case(rows, policy).bound())
    stopped = Budget(cancelled=lambda: True)
    assert not minimal_nodes(problem, stopped).finished
    outcome = method_named("incognito").run(problem, stopped)
    assert outcome.levels == (1,) and outcome.bound is None and outcome.stopped == "cancelled"
