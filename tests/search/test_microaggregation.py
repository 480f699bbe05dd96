"""Microaggregation: MDAV, merging the worst first, and the bound of one record per subset."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tclose.kernels.records.filling import measure_distances
from tclose.kernels.records.gathering import RecordPool
from tclose.search import Budget, problem_of
from tclose.search.by_construction.construct import Construction, split_into_rows
from tclose.search.by_construction.emd_bounds import find_emd_constraints
from tclose.search.by_construction.quotas import (
    count_subset_rows,
    count_subsets_needed,
    make_subset_bound,
    take_one_of_each,
)
from tclose.search.outcome import Clock

NAMES = ["mdav", "micro-merge", "micro-swap", "micro-t-first"]
quick = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@quick
@given(data=st.data())
def test_every_promise_is_kept(name: str, data: st.DataObject, tables: Any, brute: Any) -> None:
    kinds = data.draw(tables.kinds(1, 1 if name == "micro-t-first" else 3))
    brute.kept(data.draw(tables.close(kinds, more=True)), name)


# -------------------------------------------------------------------------------------------- MDAV


@quick
@given(data=st.data())
def test_gathered_classes_have_k_to_two_k_records_and_the_nearest_ones(
    data: st.DataObject, tables: Any
) -> None:
    case = data.draw(tables.close(data.draw(tables.kinds(1, 1)), (4, 40)))
    problem = split_into_rows(problem_of(case.bound()))
    k = data.draw(st.integers(1, min(6, problem.n_rows)))
    made = Construction(problem, Clock(Budget(effort=1.0)))
    block = data.draw(st.sampled_from([problem.n_rows, max(3 * k, 7)]))
    pool = RecordPool(made.table, made.cell, k, block, 0)
    label = pool.label
    while not pool.is_empty:
        before, begun = label.copy(), pool.next_record
        pool.gather(1)
        fresh = np.flatnonzero((label >= 0) & (before < 0))
        if pool.next_record > begun:  # what was left of the block before is no gathered class
            fresh = fresh[fresh >= begun]
        left = np.flatnonzero(label[: pool.next_record] < 0)
        assert len(left) == pool.n_left
        first = np.flatnonzero(label == label[fresh].min())
        if len(first) > k or len(left) == 0:
            continue
        reached = [  # around some member, no record left is nearer than all of the class
            measure_distances(made.cell[seed], made.cell[first], made.table).max()
            <= measure_distances(made.cell[seed], made.cell[left], made.table).min() + 1e-12
            for seed in first
        ]
        assert any(reached)
    assert (label >= 0).all()
    size = np.bincount(label)
    assert len(size) == pool.n_classes
    assert k <= size.min() and size.max() <= max(2 * k - 1, 1)


def test_the_farthest_records_are_gathered_first(tables: Any) -> None:
    rows = {"age": [1, 2, 3, 50, 51, 52, 97, 98, 105], "ill": ["a", "b", "c"] * 3}
    policy = {"k": 3, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 1}}}
    problem = problem_of(tables.Case(rows, policy).bound())
    problem = problem.reorder(problem.natural_order())
    made = Construction(problem, Clock(Budget(effort=1.0)))
    pool = RecordPool(made.table, made.cell, 3, 9, 0)
    pool.gather(10**9)
    label = pool.label
    ages = problem.codes[made.cell, 0]
    assert [sorted(ages[label == one].tolist()) for one in range(3)] == [
        [6, 7, 8], [0, 1, 2], [3, 4, 5],
    ]  # fmt: skip


@pytest.mark.slow
@quick
@given(data=st.data())
def test_exchanges_bring_a_class_nearer_to_the_table(
    data: st.DataObject, tables: Any, programs: Any
) -> None:
    (kind,) = data.draw(tables.kinds(1, 1))
    case = data.draw(tables.close([kind], (8, 40)))
    problem = split_into_rows(problem_of(case.bound()))
    made = Construction(problem, Clock(Budget(effort=1.0)))
    values = sorted({str(value) for value in case.columns["s0"]})
    cost = programs.ground(kind, values)
    table = np.bincount(problem.sensitive[:, 0], minlength=len(values)) / problem.n_rows

    def first_class(candidates: int) -> float:
        pool = RecordPool(made.table, made.cell, 4, problem.n_rows, candidates)
        pool.gather(1)
        mine = problem.sensitive[made.cell[pool.label == 0], 0]
        share = np.bincount(mine, minlength=len(values)) / len(mine)
        return float(programs.transport(share, table, cost))

    plain, exchanged = first_class(0), first_class(problem.n_rows)
    assert exchanged <= plain + 1e-9


# ------------------------------------------------------------------------------------------ subsets


@given(st.data(), st.integers(1, 300))
def test_rows_beyond_a_multiple_are_spread_over_subsets_and_classes(
    data: st.DataObject, rows: int
) -> None:
    subsets = data.draw(st.integers(1, rows))
    quotas = take_one_of_each(rows, subsets)
    counts = quotas.counts[quotas.kind]
    assert counts.shape == (rows // subsets, subsets)
    assert counts.sum() == rows and counts.min() == 1
    assert count_subset_rows(rows, subsets).tolist() == counts.sum(axis=0).tolist()
    assert np.ptp(counts.sum(axis=0)) <= 1 and np.ptp(counts.sum(axis=1)) <= 1


@pytest.mark.slow
@quick
@given(data=st.data())
def test_no_choice_of_records_is_farther_than_the_bound(
    data: st.DataObject, tables: Any, programs: Any
) -> None:
    (kind,) = data.draw(tables.kinds(1, 1))
    case = data.draw(tables.close([kind], (4, 11)))
    problem = split_into_rows(problem_of(case.bound()))
    made = Construction(problem, Clock(Budget(effort=1.0)))
    attribute = made.closeness.attributes[0]
    subsets = data.draw(st.integers(1, min(4, problem.n_rows)))
    values = sorted({str(value) for value in case.columns["s0"]})
    cost = programs.ground(kind, values)
    code = problem.sensitive[made.cell, 0]
    table = np.bincount(code, minlength=len(values)) / problem.n_rows
    bucket = made.assign_runs(attribute.rank, count_subset_rows(made.problem.n_rows, subsets))
    bound = make_subset_bound(made.closeness, attribute, subsets)
    for counts in take_one_of_each(problem.n_rows, subsets).counts:
        ways = [
            {tuple(sorted(some)) for some in combinations(code[bucket == b].tolist(), int(many))}
            for b, many in enumerate(counts)
        ]
        worst = max(
            programs.transport(
                np.bincount(np.concatenate(picked).astype(int), minlength=len(values))
                / counts.sum(), table, cost,
            )
            for picked in {tuple(choice) for choice in product(*(sorted(way) for way in ways))}
        )  # fmt: skip
        assert worst <= float(bound.evaluate(counts[None])[0]) + 1e-9


def test_the_bound_counts_ties_where_the_published_one_does_not(tables: Any) -> None:
    rows = {"age": list(range(8)), "pay": [1, 1, 1, 2, 3, 3, 3, 4]}
    spec = {"role": "sensitive", "distance": "ordered", "t": "0.22"}
    problem = problem_of(
        tables.Case(rows, {"k": 2, "columns": {"age": "quasi", "pay": spec}}).bound()
    )
    closeness = find_emd_constraints(problem, problem.make_coded_table().constraints.arrays)
    published = Fraction(8 - 2, 2 * (8 - 1) * 2)
    assert published < Fraction("0.22")
    bound = make_subset_bound(closeness, closeness.attributes[0], 2)
    assert bound.evaluate(np.ones((1, 2), dtype=np.int64))[0] == pytest.approx(0.25)
    assert count_subsets_needed(closeness, closeness.attributes[0], 2) > 2


@pytest.mark.parametrize(("n", "t"), [(1003, "0.1"), (103, "0.05"), (1080, "0.05"), (997, "0.02")])
def test_classes_of_single_rows_are_close_though_the_subsets_do_not_divide_them(
    n: int, t: str, tables: Any
) -> None:
    chance = np.random.default_rng(n)
    pay = chance.permutation(n).tolist()
    rows = {"age": chance.integers(18, 90, n).tolist(), "pay": pay}
    spec = {"role": "sensitive", "distance": "ordered", "t": t}
    problem = problem_of(
        tables.Case(rows, {"k": 2, "columns": {"age": "quasi", "pay": spec}}).bound()
    )
    made = Construction(problem, Clock(Budget(effort=1.0)))
    attribute = made.closeness.attributes[0]
    subsets = count_subsets_needed(made.closeness, attribute, 2)
    made.least = np.inf
    bucket = made.assign_runs(attribute.rank, count_subset_rows(made.problem.n_rows, subsets))
    made.fill_from_buckets("test", bucket, take_one_of_each(n, subsets), n)
    assert made.best.max() + 1 == n // subsets, "nothing had to be united"
    for number in range(made.best.max() + 1):
        inside = problem.sensitive[made.best == number, 0]
        share = np.bincount(inside, minlength=n)
        far = np.abs(np.cumsum(share * n - len(inside))).sum()
        assert Fraction(int(far), n * len(inside) * (n - 1)) <= Fraction(t)
