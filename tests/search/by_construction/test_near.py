"""Nearness of cells: distances, boxes, the curve and the shelves, against plain Python."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tclose.search import Problem, problem_of
from tclose.search.by_construction.construct import fill
from tclose.search.by_construction.near import (
    HELD,
    LEFT,
    RIGHT,
    along_curve,
    distances,
    farthest,
    hilbert_keys,
    make_box,
    make_shelves,
    nearest,
)

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
    assert sorted(along_curve(codes, np.ones(2, dtype=np.int64)).tolist()) == [0, 1]


def pair_loss(problem: Problem, x: int, y: int) -> float:
    """What two cells lose together, by the loss itself: a sum over the columns."""
    label = np.full(problem.cells, -1)
    label[[x, y]] = 0
    return float(problem.loss(label).classes.sum()) if x != y else 0.0


@quick
@given(data=st.data())
def test_the_distance_of_two_cells_is_what_they_lose_together(
    data: st.DataObject, tables: Any
) -> None:
    problem = problem_of(data.draw(tables.cases()).bound())
    tab, every = problem.tables(), np.arange(problem.cells)
    x = data.draw(st.integers(0, problem.cells - 1))
    found = distances(x, every, tab)
    expected = [pair_loss(problem, x, y) for y in range(problem.cells)]
    assert np.allclose(found, expected)
    assert farthest(x, every, tab) == int(np.argmax(found))
    few = nearest(x, every, 3, tab)
    assert np.allclose(np.sort(found)[:3], found[few])


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
    found = distances(cell[0], np.array([cell[1], cell[2], cell[3]]), problem.tables())
    assert found == pytest.approx([10 / 50 + 5 / 20 + 1 / 2, 1 + 1 + 1, 1 + 0 + 0])


@quick
@given(data=st.data())
def test_filling_one_class_takes_the_cells_that_widen_it_least(
    data: st.DataObject, tables: Any
) -> None:
    problem = problem_of(data.draw(tables.cases()).bound())
    tab, n = problem.tables(), problem.cells
    shelf = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    rank = along_curve(problem.codes, problem.weight)
    cell = np.argsort(rank)
    shelves, everyone = make_shelves(shelf, cell, 3), make_shelves(np.zeros_like(shelf), cell, 1)
    quota = np.array([[data.draw(st.integers(0, int((shelf == g).any()))) for g in range(3)]])
    if quota.sum() == 0:
        return
    label = np.full(n, -1)
    kind = np.zeros(1, dtype=np.int64)
    box = make_box(len(problem.columns))
    fill(0, 1, quota, kind, n, shelves, everyone, box, tab, label)
    assert np.bincount(shelf[label == 0], minlength=3).tolist() == quota[0].tolist()

    def loss(members: list[int]) -> float:
        mark = np.full(n, -1)
        mark[cell[members]] = 0
        return float(problem.loss(mark).classes.sum())

    seed = next(at for at in range(n) if quota[0, shelf[at]] > 0)
    chosen = [seed]
    for group in np.flatnonzero(quota[0]):
        if shelf[seed] != group:
            after = {at: loss([*chosen, at]) for at in np.flatnonzero(shelf == group).tolist()}
            (taken,) = [at for at in after if label[at] == 0]
            assert after[taken] <= min(after.values()) + 1e-9
            chosen.append(taken)


def test_taken_records_leave_no_gap_on_their_shelf() -> None:
    shelf = np.array([0, 1, 0, 1, 0, 0])
    shelves = make_shelves(shelf, np.arange(6), 2)
    first = [shelves.link[HELD, at] for at in range(shelves.first[0], shelves.first[1] - 1)]
    assert first == [0, 2, 4, 5]
    assert shelves.link[LEFT, shelves.place[2]] == shelves.place[0]
    assert shelves.link[RIGHT, shelves.place[2]] == shelves.place[4]
    assert shelves.link[HELD, shelves.first[1] - 1] == -1, "a shelf ends with an empty place"
