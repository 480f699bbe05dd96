"""Nearness of cells: distances, boxes, the curve and buckets along it, against plain Python."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from tclose.kernels.records.filling import (
    Assignment,
    CurveBuckets,
    QuotaFilling,
    hilbert_keys,
    measure_distances,
)
from tclose.search import SearchProblem, problem_of
from tclose.search.curve import rank_along_curve

quick = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@pytest.mark.parametrize(("columns", "bits"), [(1, 5), (2, 1), (2, 4), (3, 3), (4, 2), (7, 1)])
def test_the_curve_visits_every_point_of_a_grid_and_steps_to_neighbours(
    columns: int, bits: int
) -> None:
    axes = np.meshgrid(*[np.arange(1 << bits)] * columns, indexing="ij")
    grid = np.stack(axes, axis=-1).reshape(-1, columns).astype(np.int64)
    keys = hilbert_keys(grid, bits)
    assert sorted(keys.tolist()) == list(range(len(grid)))
    steps = np.abs(np.diff(grid[np.argsort(keys)], axis=0)).sum(axis=1)
    assert (steps == 1).all()


def test_more_columns_than_the_curve_has_bits_for_are_no_problem() -> None:
    codes = np.arange(200).reshape(2, 100) % 3
    assert sorted(rank_along_curve(codes, np.ones(2, dtype=np.int64)).tolist()) == [0, 1]


def pair_loss(problem: SearchProblem, x: int, y: int) -> float:
    """What two cells lose together, by the loss itself: a sum over the columns."""
    label = np.full(problem.n_cells, -1)
    label[[x, y]] = 0
    return float(problem.loss(label).classes.sum()) if x != y else 0.0


@quick
@given(data=st.data())
def test_the_distance_of_two_cells_is_what_they_lose_together(
    data: st.DataObject, tables: Any
) -> None:
    problem = problem_of(data.draw(tables.cases()).bound())
    table, every = problem.make_coded_table(), np.arange(problem.n_cells)
    x = data.draw(st.integers(0, problem.n_cells - 1))
    found = measure_distances(x, every, table)
    expected = [pair_loss(problem, x, y) for y in range(problem.n_cells)]
    assert np.allclose(found, expected)


def test_numbers_dates_categories_and_missing_values_add_up(tables: Any) -> None:
    day = date(2024, 1, 1)
    rows = {
        "age": [20, 30, 70, None],
        "came": [day, day + timedelta(days=5), day + timedelta(days=20), day],
        "town": ["a", "b", "d", "a"],
        "ill": ["x", "y", "x", "y"],
    }
    tree = {"groups": {"west": ["a", "b"], "east": ["d"]}}
    specs = {"age": "quasi", "came": "quasi", "town": {"role": "quasi", "hierarchy": tree}}
    policy = {"columns": specs | {"ill": {"role": "sensitive", "l": 1}}}
    problem = problem_of(tables.Case(rows, policy).bound())
    cell = {int(age): at for at, age in enumerate(problem.codes[:, 0])}
    others = np.array([cell[1], cell[2], cell[3]])
    found = measure_distances(cell[0], others, problem.make_coded_table())
    assert found == pytest.approx([10 / 50 + 5 / 20 + 1 / 2, 1 + 1 + 1, 1 + 0 + 0])


@quick
@given(data=st.data())
def test_filling_one_class_takes_the_cells_that_widen_it_least(
    data: st.DataObject, tables: Any
) -> None:
    problem = problem_of(data.draw(tables.cases()).bound())
    n = problem.n_cells
    bucket = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    rank = rank_along_curve(problem.codes, problem.rows)
    cell = np.argsort(rank)
    quota = np.array([[data.draw(st.integers(0, int((bucket == g).any()))) for g in range(3)]])
    quota[0, bucket[0]] = max(quota[0, bucket[0]], quota.sum() == 0)
    kind = np.zeros(1, dtype=np.int64)
    filling = QuotaFilling(problem.make_coded_table(), bucket, cell, quota, kind)
    filling.fill(0, 1, n)
    label = filling.label
    assert np.bincount(bucket[label == 0], minlength=3).tolist() == quota[0].tolist()

    def loss(members: list[int]) -> float:
        mark = np.full(n, -1)
        mark[cell[members]] = 0
        return float(problem.loss(mark).classes.sum())

    seed = next(at for at in range(n) if quota[0, bucket[at]] > 0)
    chosen = [seed]
    for group in np.flatnonzero(quota[0]):
        if bucket[seed] != group:
            after = {at: loss([*chosen, at]) for at in np.flatnonzero(bucket == group).tolist()}
            (taken,) = [at for at in after if label[at] == 0]
            assert after[taken] <= min(after.values()) + 1e-9
            chosen.append(taken)


def test_taken_records_leave_no_gap_in_their_bucket() -> None:
    buckets = CurveBuckets(np.array([0, 1, 0, 1, 0, 0]), np.arange(6), 2)
    assert [buckets.list_records(at) for at in range(2)] == [[0, 2, 4, 5], [1, 3]]
    for record in (2, 0, 3):
        buckets.remove(record)
    assert [buckets.list_records(at) for at in range(2)] == [[4, 5], [1]]
    for record in (5, 4, 1):
        buckets.remove(record)
    assert [buckets.list_records(at) for at in range(2)] == [[], []]


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20])
def test_the_assignment_is_the_cheapest(n: int) -> None:
    random = np.random.default_rng(n)
    for cost in (random.random((n, n)), random.integers(0, 3, (n, n)).astype(float)):
        row_of = Assignment(n).assign(cost)
        assert sorted(row_of.tolist()) == list(range(n))
        rows, columns = linear_sum_assignment(cost)
        assert cost[row_of, np.arange(n)].sum() == pytest.approx(cost[rows, columns].sum())
