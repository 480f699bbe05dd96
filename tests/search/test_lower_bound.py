"""No partition loses less than the bound: every partition of small tables is tried."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tclose.search import Budget, method_named, problem_of
from tclose.search.local_search.lower_bound import bound_loss


def partitions(count: int) -> Iterator[list[int]]:
    """Every partition of so many cells, each once, as labels in the order of first cells."""

    def extend(label: list[int], used: int) -> Iterator[list[int]]:
        if len(label) == count:
            yield label
            return
        for number in range(used + 1):
            yield from extend([*label, number], max(used, number + 1))

    yield from extend([0], 1)


def draw_table(tables: Any, seed: int, distance: str, t: str) -> Any:
    """Six rows with an interval, a set and a hierarchy."""
    random = np.random.default_rng(seed)
    columns = {
        "age": random.integers(20, 40, 6).tolist(),
        "job": random.choice(list("abc"), 6).tolist(),
        "town": random.choice(list("uvwxyz"), 6).tolist(),
        "pay": random.choice([10, 20, 40], 6).tolist(),
    }
    groups = {"left": ["u", "v", "w"], "right": ["x", "y", "z"]}
    roles = {
        "age": "quasi", "job": "quasi", "town": {"role": "quasi", "hierarchy": {"groups": groups}},
        "pay": {"role": "sensitive", "distance": distance, "t": t},
    }  # fmt: skip
    return problem_of(tables.Case(columns, {"k": 2, "columns": roles}).bound())


@pytest.mark.parametrize("distance", ["equal", "ordered", "numeric"])
def test_no_partition_loses_less(tables: Any, distance: str) -> None:
    tight = 0
    for seed in range(6):
        problem = draw_table(tables, seed, distance, ["0.2", "0.35"][seed % 2])
        labels = [np.array(label) for label in partitions(problem.n_cells)]
        least = min(
            problem.cost(label) for label in labels if not problem.find_failing(label).any()
        )
        bound = bound_loss(problem)
        assert 0 < bound <= least
        tight += bound > 0.4 * least
    assert tight >= 2


def test_the_outcome_carries_it_where_no_row_is_left_out(tables: Any) -> None:
    problem, hybrid = draw_table(tables, 1, "equal", "0.3"), method_named("hybrid")
    outcome = hybrid.run(problem, Budget(effort=0.1))
    assert outcome.bound == bound_loss(problem) and 0 <= outcome.gap < 1
    assert hybrid.run(problem, Budget(effort=0.1, suppression=Fraction(1, 10))).bound is None


@pytest.mark.parametrize("distance", ["equal", "ordered", "numeric", "hierarchical"])
@pytest.mark.parametrize("t", ["0.05", "0.15", "0.2", "0.3"])
def test_no_class_of_fewer_rows_than_are_needed_is_close(
    tables: Any, distance: str, t: str
) -> None:
    """Every class of fewer rows is looked at; along a line one of just as many rows is close."""
    pay = np.repeat([1000, 1100, 2000, 4000], [23, 11, 5, 8])
    role = {"role": "sensitive", "distance": distance, "t": t}
    if distance == "hierarchical":
        role["hierarchy"] = {"prefix": [3, 2, 1, 0]}
    columns = {"age": list(range(len(pay))), "pay": [str(each) for each in pay]}
    if distance in ("ordered", "numeric"):
        columns["pay"] = pay.tolist()
    case = tables.Case(columns, {"k": 2, "columns": {"age": "quasi", "pay": role}})
    problem = problem_of(case.bound())
    needed = int(problem.make_coded_table().constraints.arrays.least_rows[0])

    first = np.flatnonzero(np.diff(pay, prepend=0))
    for rows in range(2, min(needed, 9) + 1):
        found = False
        for counts in itertools.product(range(rows + 1), repeat=4):
            if sum(counts) == rows and all(np.array(counts) <= [23, 11, 5, 8]):
                label = np.ones(len(pay), dtype=np.int64)
                for value, count in enumerate(counts):
                    label[first[value] : first[value] + count] = 0
                found = found or not problem.find_failing(label)[0]
        assert not found or rows == needed
        if rows == needed and distance in ("ordered", "numeric"):
            assert found
    assert needed > 2 or t != "0.05"
