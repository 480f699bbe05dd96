"""What every method owes, on random tables, judged by code that shares nothing with the package.

Tables are drawn to suit the method, and every test counts what it judged.
"""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tclose.errors import UsageError
from tclose.search import METHODS, Budget, infeasible, method_named, problem_of

every_method = pytest.mark.parametrize("name", list(METHODS))
quick = settings(
    max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
LITTLE = Budget(effort=0.02)
"""So little work that a busy clock would end it: then equal work would not be equal."""
MERGING = ["matching", "mdav", "micro-merge", "micro-swap", "micro-t-first", "wang-cluster",
           "wang-pca"]  # fmt: skip
"""Merge classes of near records until all are close: at t = 0 often everything."""


def draw_suited(data: st.DataObject, tables: Any, name: str, judged: Any) -> Any:
    """A random case whose promise the whole table keeps and the method can judge; all are."""
    method = method_named(name)
    case = data.draw(tables.suited(method))
    bound = case.bound()
    problem = problem_of(bound)
    judged(not method.cannot(problem) and not infeasible(problem), least=1)
    return case, bound, problem


def check_promise(
    name: str, data: st.DataObject, tables: Any, brute: Any, judged: Any, parted: float
) -> None:
    """Judges one outcome; a share of them must have more than one class."""
    case, bound, problem = draw_suited(data, tables, name, judged)
    share = data.draw(st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 3)]))
    budget = replace(LITTLE, suppression=share, seed=data.draw(st.integers(0, 3)))
    outcome = method_named(name).run(problem, budget)
    label = outcome.label
    judged(outcome.classes > 1, "more than one class", least=parted)
    assert label.shape == (problem.n_cells,) and label.dtype == np.int64
    assert brute.broken(case, bound, label) == []
    left_out = int(problem.rows[label < 0].sum())
    assert left_out <= share * problem.n_rows
    assert left_out == 0 or METHODS[name].suppression
    whole = np.zeros(problem.n_cells, dtype=np.int64)
    if outcome.levels is None:
        assert outcome.loss <= problem.loss(whole).overall + 1e-12
        assert outcome.loss == problem.loss(label).overall
    else:  # whole columns lose at least what their classes would lose by themselves
        assert problem.loss(label).overall <= outcome.loss + 1e-12 <= 1 + 2e-12
    firsts = [int(np.argmax(label == one)) for one in range(outcome.classes)]
    assert firsts == sorted(firsts), "classes are numbered by their first cell"
    if not outcome.uses_sensitive:
        seen: dict[tuple[int, ...], int] = {}
        for codes, one in zip(problem.codes.tolist(), label.tolist(), strict=True):
            assert seen.setdefault(tuple(codes), one) == one


@every_method
@quick
@given(data=st.data())
def test_the_promise_is_kept_exactly(
    name: str, data: st.DataObject, tables: Any, brute: Any, judged: Any
) -> None:
    check_promise(name, data, tables, brute, judged, parted=0)


@pytest.mark.slow
@every_method
@settings(quick, max_examples=150)
@given(data=st.data())
def test_the_promise_is_kept_exactly_on_many_tables(
    name: str, data: st.DataObject, tables: Any, brute: Any, judged: Any
) -> None:
    check_promise(name, data, tables, brute, judged, parted=0.05)


@pytest.mark.slow
@every_method
@pytest.mark.parametrize("tight", ["zero", "least"])
@settings(quick, max_examples=8)
@given(data=st.data())
def test_the_promise_is_kept_at_zero_and_at_the_smallest_t_that_can_be(
    name: str, tight: str, data: st.DataObject, tables: Any, brute: Any, judged: Any
) -> None:
    """The smallest t is what the whole table attains: 0, but where missing values may be any. Every
    table is there twice, so that it can be divided even at 0."""
    method = method_named(name)
    drawn = data.draw(tables.suited(method).filter(lambda case: _has_t(case, tight)))
    case = _retune(_twice(drawn), tight)
    bound = case.bound()
    problem = problem_of(bound)
    if not judged(not method.cannot(problem) and not infeasible(problem), least=0.5):
        return
    outcome = method.run(problem, LITTLE)
    least = 0 if name in MERGING else 0.5
    judged(outcome.classes > 1, "more than one class", least=least)
    assert brute.broken(case, bound, outcome.label) == []


def _twice(case: Any) -> Any:
    """Every row twice, told apart by one more quasi-identifier: each half is like the table."""
    columns = {name: [*values, *values] for name, values in case.columns.items()}
    rows = len(columns["s0"]) // 2
    specs = {"half": "quasi", **case.policy["columns"]}
    return replace(
        case,
        columns={"half": ["a"] * rows + ["b"] * rows, **columns},
        policy=case.policy | {"columns": specs},
    )


def _has_t(case: Any, tight: str) -> bool:
    """Whether closeness is promised; for zero, of nothing that may be any value."""
    stated = [spec for spec in case.policy["columns"].values() if "t" in spec]
    return bool(stated) and (
        tight == "least" or all(spec.get("missing") != "any" for spec in stated)
    )


def _retune(case: Any, tight: str) -> Any:
    """The same table with every t as small as asked for."""
    columns = {
        name: spec | {"t": "0"} if "t" in spec else spec
        for name, spec in case.policy["columns"].items()
    }
    policy = case.policy | {"columns": columns}
    if "joint" in policy:
        policy["joint"] = [each | {"t": "1"} for each in policy["joint"]]
    found = replace(case, policy=policy)
    if tight == "least":
        for reason in infeasible(problem_of(found.bound())):
            if "closeness of " in reason.title and reason.exact is not None:
                columns[reason.title.split(" of ")[1]]["t"] = str(reason.exact)
    return found


@pytest.mark.slow
@every_method
@settings(quick, max_examples=10)
@given(data=st.data())
def test_equal_work_gives_equal_bytes(
    name: str, data: st.DataObject, tables: Any, judged: Any
) -> None:
    problem = draw_suited(data, tables, name, judged)[2]
    budget = replace(LITTLE, seed=7, suppression=Fraction(1, 5))
    one, other = (method_named(name).run(problem, budget) for _ in range(2))
    assert one.label.tobytes() == other.label.tobytes()
    assert one.cuts == other.cuts


@pytest.mark.slow
@every_method
@settings(quick, max_examples=10)
@given(data=st.data())
def test_the_order_of_the_cells_does_not_matter(
    name: str, data: st.DataObject, tables: Any, judged: Any
) -> None:
    problem = draw_suited(data, tables, name, judged)[2]
    turned = problem.reorder(np.arange(problem.n_cells)[::-1].copy())
    one, other = (method_named(name).run(some, LITTLE).label for some in (problem, turned))
    together = other[::-1]
    assert len(set(zip(one.tolist(), together.tolist(), strict=True))) == one.max() + 1
    assert one.max() == other.max()


@pytest.mark.slow
@every_method
@settings(quick, max_examples=10)
@given(data=st.data())
def test_a_cancelled_search_still_keeps_the_promise(
    name: str, data: st.DataObject, tables: Any, brute: Any, judged: Any
) -> None:
    case, bound, problem = draw_suited(data, tables, name, judged)
    looks = iter([False] * data.draw(st.integers(0, 3)))
    begun = time.perf_counter()
    budget = Budget(seconds=60, cancelled=lambda: next(looks, True))
    outcome = method_named(name).run(problem, budget)
    assert outcome.stopped in ("cancelled", "finished")
    assert time.perf_counter() - begun < 30
    assert brute.broken(case, bound, outcome.label) == []


@every_method
def test_a_method_says_what_it_cannot_judge(name: str, tables: Any) -> None:
    policy = {
        "columns": {
            "age": "quasi",
            "illness": {"role": "sensitive", "t": "0.5", "distance": "smoothed-js"},
        }
    }
    rows = {"age": [1, 2, 3, 4], "illness": ["a", "b", "a", "b"]}
    policy["columns"]["illness"]["distance"] = {
        "name": "smoothed-js", "over": "equal", "bandwidth": "0.5",
    }  # fmt: skip
    problem = problem_of(tables.Case(rows, policy).bound())
    if METHODS[name].any_requirement:
        assert method_named(name).run(problem, Budget(effort=0.05)).classes >= 1
    else:
        with pytest.raises(UsageError, match="cannot judge"):
            method_named(name).run(problem, Budget(effort=0.05))


@settings(quick, max_examples=60)
@given(data=st.data())
def test_what_is_called_infeasible_is_broken_by_the_whole_table_and_nothing_else_is(
    data: st.DataObject, tables: Any, brute: Any
) -> None:
    case = data.draw(tables.cases())
    bound = case.bound()
    problem = problem_of(bound)
    whole = np.zeros(problem.n_cells, dtype=np.int64)
    assert bool(infeasible(problem)) == bool(brute.broken(case, bound, whole))


def test_a_method_that_does_not_exist_is_named_with_a_hint() -> None:
    with pytest.raises(UsageError, match="did you mean 'mondrian'"):
        method_named("mondrain")
