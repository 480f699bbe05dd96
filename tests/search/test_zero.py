"""t = 0: classes exactly like the table, where its counts have a common divisor."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tclose
from tclose.search import Budget, SearchProblem, method_named, problem_of
from tclose.search.registry import tighten_to_zero

BY_CONSTRUCTION = ["fragments", "sabre", "sabre-curve", "micro-t-first", "gowda-frequency"]


def make_problem(tables: Any, counts: list[int], t: str = "0", **more: Any) -> SearchProblem:
    """Everybody of an age of their own; so many have each of the sensitive values."""
    values = np.repeat(np.arange(len(counts)), counts)
    np.random.default_rng(5).shuffle(values)
    rows = {"age": list(range(len(values))), "pay": values.tolist()}
    pay = {"role": "sensitive", "distance": "ordered", "t": t, **more}
    return problem_of(tables.Case(rows, {"k": 5, "columns": {"age": "quasi", "pay": pay}}).bound())


@pytest.mark.parametrize("name", BY_CONSTRUCTION)
@pytest.mark.parametrize("distance", ["ordered", "equal"])
@pytest.mark.parametrize("counts", [[48, 16, 80], [250, 100, 350, 300], [22, 33]])
def test_as_many_classes_as_the_common_divisor_allows(
    name: str, distance: str, counts: list[int], tables: Any
) -> None:
    problem = make_problem(tables, counts, distance=distance)
    outcome = method_named(name).run(problem, Budget(effort=0.03))
    common = math.gcd(*counts)
    most = max(d for d in range(1, common + 1) if common % d == 0 and sum(counts) // d >= 5)
    assert outcome.classes == most  # 16, 50 and 11
    pay = problem.sensitive[:, 0]
    for number in range(most):
        mine = Counter(pay[outcome.label == number].tolist())
        assert [mine[value] for value in range(len(counts))] == [n // most for n in counts]


@pytest.mark.parametrize("t", ["0", "0.001"])
def test_matched_classes_are_exactly_like_the_table_in_both_attributes(t: str, tables: Any) -> None:
    """8 divides all counts: 18 buckets hold one value each, and a class has a record of each."""
    chance, counts = np.random.default_rng(4), {"pay": [48, 16, 80], "age": [72, 24, 48]}
    rows = {name: np.repeat(range(3), each).tolist() for name, each in counts.items()}
    rows = {name: chance.permutation(column).tolist() for name, column in rows.items()}
    stated = {"role": "sensitive", "distance": "ordered", "t": t}
    columns = {"zip": "quasi", "pay": stated, "age": stated}
    case = tables.Case({"zip": list(range(144)), **rows}, {"k": 5, "columns": columns})
    problem = problem_of(case.bound())
    outcome = method_named("matching").run(problem, Budget(effort=0.05))
    assert outcome.classes == 8
    for number in range(8):
        for column, each in enumerate(counts.values()):
            mine = Counter(problem.sensitive[outcome.label == number, column].tolist())
            assert [mine[value] for value in range(3)] == [count // 8 for count in each]


CUTTING = ["hybrid", "mondrian", "mondrian-median", "mondrian-relaxed", "nt-mondrian",
           "optimal", "incognito"]  # fmt: skip


@pytest.mark.parametrize("name", CUTTING)
@pytest.mark.parametrize("distance", ["equal", "ordered", "kl", "js"])
def test_a_table_that_is_there_twice_is_divided_in_two(
    name: str, distance: str, tables: Any
) -> None:
    """Also by logarithms, which keep a margin from every other t."""
    pay = np.repeat(["a", "b", "c"], [3, 8, 6]).tolist()
    rows = {"half": ["x"] * 17 + ["y"] * 17, "age": list(range(34)), "pay": [*pay, *pay]}
    stated = {"role": "sensitive", "distance": distance, "t": "0"}
    if distance == "ordered":
        stated["order"] = ["a", "b", "c"]
    columns = {"half": "quasi", "age": "quasi", "pay": stated}
    problem = problem_of(tables.Case(rows, {"k": 5, "columns": columns}).bound())
    outcome = method_named(name).run(problem, Budget(effort=0.05))
    assert outcome.classes == 2  # 3, 8 and 6 have no common divisor
    for number in range(2):
        mine = Counter(problem.sensitive[outcome.label == number, 0].tolist())
        assert sorted(mine.values()) == [3, 6, 8]


@pytest.mark.parametrize("name", BY_CONSTRUCTION)
def test_without_a_common_divisor_there_is_one_class(name: str, tables: Any) -> None:
    problem = make_problem(tables, [25, 36])
    assert method_named(name).run(problem, Budget(effort=0.1)).classes == 1


@pytest.mark.slow
@pytest.mark.parametrize("effort", [0.2, 0.6])  # by cuts alone, and by everything
def test_what_is_found_for_zero_counts_for_every_larger_t(effort: float, tables: Any) -> None:
    counts = [24, 12, 36, 24]
    losses = [
        method_named("auto").run(make_problem(tables, counts, t), Budget(effort=effort)).loss
        for t in ("0", "0.001", "0.01", "0.03", "0.1")
    ]
    assert max(losses) == losses[0] and (effort < 0.5 or losses[0] < 1)


def test_zero_is_tried_only_where_it_allows_several_classes(tables: Any) -> None:
    found = tighten_to_zero(make_problem(tables, [24, 12, 36], "0.1"))
    assert found is not None
    assert [each.threshold for each in found.constraints.compiled] == [Fraction(0)]
    assert tighten_to_zero(make_problem(tables, [24, 12, 35], "0.1")) is None
    assert tighten_to_zero(make_problem(tables, [24, 12, 36], "0")) is None
    assert tighten_to_zero(make_problem(tables, [24, 12, 36], "0.1", n=20)) is None


@pytest.mark.slow
def test_a_frontier_from_zero_never_rises() -> None:
    chance = np.random.default_rng(3)
    pay = chance.permutation(np.repeat([1, 2, 3], [40, 20, 60])).tolist()
    table = {"age": chance.integers(20, 80, 120).tolist(), "pay": pay}
    rules = {"k": 2, "columns": {"age": "quasi", "pay": {"role": "sensitive", "t": "0.1"}}}
    found = tclose.frontier(pa.table(table), rules, t="0,0.001,0.01,0.05,0.2", effort=1.0)
    losses = [point.loss for point in found.curves[0].points]
    assert losses == sorted(losses, reverse=True) and losses[0] < 1
