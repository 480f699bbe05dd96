"""Published baselines: groups of like records, and rows assigned by frequency."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tclose.errors import UsageError
from tclose.search import Budget, infeasible, method_named, problem_of
from tclose.search.by_construction.baselines import (
    assign_by_frequency,
    find_coordinates,
    group_by_clusters,
    group_by_component,
    measure_from_sites,
    rank_along_component,
)
from tclose.search.by_construction.construct import Construction, split_into_rows
from tclose.search.by_construction.emd_bounds import find_emd_constraints
from tclose.search.by_construction.quotas import count_subset_rows
from tclose.search.outcome import Clock

quick = settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


SEVERAL = ["ordered", "equal", "hierarchical"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wang-cluster", "wang-pca", "gowda-frequency"])
@quick
@given(data=st.data())
def test_every_promise_is_kept(name: str, data: st.DataObject, tables: Any, brute: Any) -> None:
    kinds = [data.draw(st.sampled_from(SEVERAL))] if name == "gowda-frequency" else SEVERAL
    brute.kept(data.draw(tables.close(kinds, more=True)), name)


@pytest.mark.parametrize("make_buckets", [group_by_clusters, group_by_component])
@quick
@given(data=st.data())
def test_groups_part_all_rows_and_are_of_equal_size(
    make_buckets: Any, data: st.DataObject, tables: Any
) -> None:
    problem = problem_of(data.draw(tables.close(SEVERAL)).bound())
    made = Construction(problem, Clock(Budget(effort=1.0)))
    groups = data.draw(st.integers(1, min(8, problem.n_rows)))
    bucket = make_buckets(made, groups)
    assert (
        np.bincount(bucket, minlength=groups).tolist()
        == count_subset_rows(problem.n_rows, groups).tolist()
    )


def test_clusters_of_plainly_separate_values_are_found(tables: Any) -> None:
    low, high = [1, 2, 3, 2], [97, 98, 99, 98]
    rows = {"age": list(range(8)), "pay": [*low, *high], "days": [*high, *low]}
    spec = {"role": "sensitive", "distance": "numeric", "t": "0.5"}
    policy = {"k": 2, "columns": {"age": "quasi", "pay": spec, "days": spec}}
    problem = problem_of(tables.Case(rows, policy).bound())
    for make_buckets in (group_by_clusters, group_by_component):
        made = Construction(problem, Clock(Budget(effort=1.0)))
        bucket = make_buckets(made, 2)
        pay = problem.sensitive[made.cell, 0]
        assert (
            len({(int(group), int(code) >= 3) for group, code in zip(bucket, pay, strict=True)})
            == 2
        )


@pytest.mark.slow
@quick
@given(data=st.data())
def test_coordinates_and_distances_are_those_of_the_ground(
    data: st.DataObject, tables: Any, programs: Any
) -> None:
    case = data.draw(tables.close(SEVERAL))
    problem = split_into_rows(problem_of(case.bound()))
    closeness = find_emd_constraints(problem, problem.make_coded_table().constraints.arrays)
    first = [int(np.argmax(closeness.tuple_of == one)) for one in range(len(closeness.rows))]
    for at, attribute in enumerate(closeness.attributes):
        values = sorted({str(value) for value in case.columns[f"s{at}"]})
        code = problem.sensitive[first, at]
        wanted = programs.ground(SEVERAL[at], values)[np.ix_(code, code)]
        assert measure_from_sites(attribute, np.arange(len(first))) == pytest.approx(wanted)
        place = find_coordinates(attribute)
        apart = place[:, None] - place
        if SEVERAL[at] == "ordered":
            assert np.abs(apart).sum(axis=2) == pytest.approx(wanted)
        else:
            assert np.square(apart).sum(axis=2) == pytest.approx(wanted)


@quick
@given(data=st.data())
def test_no_direction_spreads_the_rows_more_than_the_component(
    data: st.DataObject, tables: Any
) -> None:
    problem = problem_of(data.draw(tables.close(SEVERAL)).bound())
    closeness = find_emd_constraints(problem, problem.make_coded_table().constraints.arrays)
    place = np.concatenate([find_coordinates(one) for one in closeness.attributes], axis=1)
    rows = np.repeat(np.arange(len(closeness.rows)), closeness.rows)
    found = np.var(rank_along_component(closeness)[rows] * 1e-9)
    chance = np.random.default_rng(data.draw(st.integers(0, 99)))
    for _ in range(20):
        axis = chance.normal(size=place.shape[1])
        assert np.var((place @ (axis / np.linalg.norm(axis)))[rows]) <= found + 1e-7


@quick
@given(data=st.data())
def test_every_value_is_assigned_evenly_and_nothing_needs_merging(
    data: st.DataObject, tables: Any
) -> None:
    problem = split_into_rows(problem_of(data.draw(tables.close(["equal"])).bound()))
    assert not infeasible(problem)
    made = Construction(problem, Clock(Budget(effort=1.0)))
    made.least = np.inf
    assign_by_frequency(made)
    for value in np.unique(problem.sensitive):
        mine = np.bincount(
            made.best[problem.sensitive[:, 0] == value], minlength=made.best.max() + 1
        )
        assert np.ptp(mine) <= 1


def test_assigning_by_frequency_takes_one_attribute(tables: Any) -> None:
    spec = {"role": "sensitive", "t": "0.5", "distance": "equal"}
    rows = {"age": [1, 2, 3, 4], "a": [1, 2, 1, 2], "b": [1, 1, 2, 2]}
    policy = {"k": 2, "columns": {"age": "quasi", "a": spec, "b": spec}}
    problem = problem_of(tables.Case(rows, policy).bound())
    with pytest.raises(UsageError, match="exactly 1"):
        method_named("gowda-frequency").run(problem, Budget(effort=0.02))
