"""The methods that are close by construction: on random tables, and on Adult."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tclose.data.binding import bind
from tclose.data.opening import open_source
from tclose.errors import UsageError
from tclose.policy.model import Policy
from tclose.search import METHODS, Budget, SearchProblem, infeasible, method_named, problem_of
from tclose.search.by_construction.construct import Construction, split_into_rows
from tclose.search.by_construction.emd_bounds import find_emd_constraints, make_emd_bounds
from tclose.search.by_construction.fragments import cut_into_fragments, plan_fragments
from tclose.search.by_construction.matching import match_buckets
from tclose.search.by_construction.quotas import (
    assign_in_turn,
    count_in_proportion,
    count_most_classes,
)
from tclose.search.outcome import Clock

pytestmark = pytest.mark.slow

NAMES = ["fragments", "fragments-thesis", "matching", "sabre", "sabre-curve"]
quick = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@pytest.mark.parametrize("name", NAMES)
@quick
@given(data=st.data())
def test_every_promise_is_kept_on_tables_that_suit_the_method(
    name: str, data: st.DataObject, tables: Any, brute: Any
) -> None:
    count = {"matching": 2, "sabre": 1, "sabre-curve": 1}.get(name) or data.draw(st.integers(1, 3))
    lines = METHODS[name].lines
    only = {"among": ["ordered", "numeric"]} if lines else {}
    kinds = data.draw(tables.kinds(count, count, **only))
    brute.kept(data.draw(tables.close(kinds, more=not lines)), name)


@pytest.mark.parametrize(
    "name",
    [name for name, one in METHODS.items() if not one.lines and (not one.close or 3 in one.close)],
)
@settings(quick, max_examples=10)
@given(data=st.data())
def test_every_method_takes_three_and_four_attributes_of_mixed_kinds(
    name: str, data: st.DataObject, tables: Any, brute: Any
) -> None:
    kinds = ["ordered", "equal", "hierarchical", *data.draw(tables.kinds(0, 1))]
    case = data.draw(tables.close(kinds, (20, 60), more=True))
    bound = case.bound()
    problem = problem_of(bound)
    assert method_named(name).cannot(problem) == () and not infeasible(problem)
    outcome = method_named(name).run(problem, Budget(effort=0.1))
    assert brute.broken(case, bound, outcome.label) == []
    whole = problem.loss(np.zeros(problem.n_cells, dtype=np.int64)).overall
    assert outcome.levels is not None or outcome.loss <= whole


@quick
@given(data=st.data())
def test_classes_of_single_rows_keep_closeness_without_any_mending(
    data: st.DataObject, tables: Any
) -> None:
    problem = split_into_rows(
        problem_of(data.draw(tables.close(data.draw(tables.kinds()))).bound())
    )
    assert not infeasible(problem)
    made = Construction(problem, Clock(Budget(effort=1.0)))
    for found, quotas in plan_fragments(made.closeness, made.k):
        reach = data.draw(st.sampled_from([1, 2, problem.n_rows]))
        made.best, made.least = np.zeros(problem.n_cells, dtype=np.int64), np.inf
        made.fill_from_fragments("test", found.of_tuple, quotas, reach)
        assert made.best.max() + 1 == quotas.classes, "nothing had to be united"


@quick
@given(data=st.data())
def test_matched_classes_of_single_rows_have_one_record_per_bucket(
    data: st.DataObject, tables: Any, judged: Any
) -> None:
    case = data.draw(tables.close(data.draw(tables.kinds(2, 2))))
    for name in ("s0", "s1"):
        case.policy["columns"][name]["t"] = "1"
    case.policy["k"] = 1
    problem = split_into_rows(problem_of(case.bound()))
    divisors = [count for count in range(1, problem.n_rows + 1) if problem.n_rows % count == 0]
    buckets = data.draw(st.integers(1, problem.n_rows) | st.sampled_from(divisors))
    made = Construction(problem, Clock(Budget(effort=1.0)))
    made.least = np.inf
    match_buckets(made, buckets)
    size = np.bincount(made.best)
    spare = problem.n_rows % buckets
    assert sorted(size.tolist()) == [1] * spare + [buckets] * (problem.n_rows // buckets) or (
        buckets == 1 and set(size.tolist()) == {1}
    )
    if not judged(spare == 0, least=0.25):
        return
    for attribute in made.closeness.attributes:
        rank = attribute.rank[made.closeness.tuple_of]
        every, r = np.sort(rank), problem.n_rows // buckets
        low, high = every.reshape(buckets, r).min(axis=1), every.reshape(buckets, r).max(axis=1)
        for number in range(len(size)):
            mine = np.sort(rank[made.best == number])
            assert (low <= mine).all() and (mine <= high).all()


@pytest.mark.parametrize(
    ("name", "kinds", "reason"),
    [
        ("matching", ["ordered"], "exactly 2"),
        ("matching", ["ordered", "equal", "equal"], "exactly 2"),
        ("sabre", ["ordered", "ordered"], "exactly 1 attribute,"),
        ("fragments", [], "at least 1"),
        ("fragments-thesis", ["ordered", "equal"], "ordered and numeric"),
    ],
)
def test_a_promise_that_does_not_suit_is_refused(
    name: str, kinds: list[str], reason: str, tables: Any
) -> None:
    columns: dict[str, Any] = {"age": [1, 2, 3, 4], "job": ["a", "b", "a", "b"]}
    specs: dict[str, Any] = {"age": "quasi", "job": {"role": "sensitive", "l": 2}}
    for at, kind in enumerate(kinds):
        columns[f"s{at}"] = [1, 2, 1, 2]
        specs[f"s{at}"] = {"role": "sensitive", "t": "0.5", "distance": kind}
    problem = problem_of(tables.Case(columns, {"k": 2, "columns": specs}).bound())
    with pytest.raises(UsageError, match=reason):
        method_named(name).run(problem, Budget(effort=0.02))


# ------------------------------------------------------------------------------------------- Adult


@pytest.fixture(scope="module")
def adult(adult_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Hours and education sensitive, seven quasi-identifiers, k = 5; the complete rows."""
    table = tmp_path_factory.mktemp("adult") / "complete.csv"
    lines = (adult_dir / "adult-full.csv").read_text().splitlines()
    table.write_text("\n".join(line for line in lines if "?" not in line) + "\n")
    quasi = ["age", "workclass", "marital-status", "occupation", "race", "sex", "native-country"]
    others = ["relationship", "capital-gain", "capital-loss", "income"]

    def made(t: str) -> SearchProblem:
        columns: dict[str, Any] = {name: "quasi" for name in quasi}
        columns |= {name: "insensitive" for name in others}
        columns |= {
            name: {"role": "sensitive", "t": t, "distance": "ordered"}
            for name in ("hours-per-week", "education-num")
        }
        policy = Policy.model_validate({"k": 5, "columns": columns})
        return problem_of(bind(policy, open_source(str(table))))

    return made


def worst_distances(problem: SearchProblem, label: np.ndarray) -> list[float]:
    """The largest EMD of any class, for each attribute, by running sums in floats."""
    found = []
    for codes in problem.sensitive.T:
        count = np.zeros((label.max() + 1, codes.max() + 1))
        np.add.at(count, (label, codes), problem.rows)
        table = count.sum(axis=0) / count.sum()
        gap = np.cumsum(count / count.sum(axis=1, keepdims=True) - table, axis=1)[:, :-1]
        found.append(float(np.abs(gap).sum(axis=1).max() / gap.shape[1]))
    return found


def test_the_corrected_bound_needs_few_fragments_where_the_published_one_needs_all(
    adult: Any,
) -> None:
    problem = adult("0.2")
    closeness = find_emd_constraints(problem, problem.make_coded_table().constraints.arrays)
    assert cut_into_fragments(closeness, [0.2, 0.2]).count == 7
    published = cut_into_fragments(closeness, [0.2, 0.2], own_width=True)
    assert published.count == 1486
    assert count_in_proportion(published.rows, (), 5) == 1


@pytest.mark.parametrize(("t", "most"), [("0.1", 11.0), ("0.15", 7.5), ("0.2", 6.0)])
def test_small_classes_are_guaranteed_on_adult(adult: Any, t: str, most: float) -> None:
    problem = adult(t)
    closeness = find_emd_constraints(problem, problem.make_coded_table().constraints.arrays)
    sizes = []
    for share in (0.2, 0.3, 0.4):
        found = cut_into_fragments(closeness, [share * one.t for one in closeness.attributes])
        bounds = make_emd_bounds(closeness, found.of_tuple, found.coarser)
        classes = count_most_classes(found.rows, bounds, 5)
        counts = assign_in_turn(found.rows, classes)
        assert counts.counts.sum(axis=1).min() >= 5
        for bound, one in zip(bounds, closeness.attributes, strict=True):
            assert bound.evaluate(counts.counts).max() <= one.t
        sizes.append(problem.n_rows / classes)
    assert min(sizes) <= most


def test_matching_with_twelve_buckets_on_adult(adult: Any) -> None:
    problem = split_into_rows(adult("0.05"))
    made = Construction(problem, Clock(Budget(effort=20.0)))
    match_buckets(made, 12)
    assert max(worst_distances(problem, made.best)) <= 0.05
    assert made.least <= 0.285
    assert made.best.max() + 1 >= 2_500


@pytest.mark.parametrize(
    ("name", "t", "most"), [("fragments", "0.1", 0.2), ("matching", "0.05", 0.25)]
)
def test_whole_cells_on_adult(adult: Any, name: str, t: str, most: float) -> None:
    problem = adult(t)
    outcome = method_named(name).run(problem, Budget(effort=3.0))
    assert max(worst_distances(problem, outcome.label)) <= float(t) + 1e-9
    assert outcome.loss <= most
    assert np.bincount(outcome.label, weights=problem.rows).min() >= 5


@pytest.mark.parametrize("t", ["0.05", "0.1", "0.2"])
def test_the_portfolio_on_adult_is_no_worse_than_hybrid_or_matching(adult: Any, t: str) -> None:
    problem = adult(t)
    alone, both = (
        method_named(name).run(problem, Budget(effort=2.0)) for name in ("hybrid", "auto")
    )
    assert "cover" in both.why, "it has challengers"
    assert both.loss <= min(alone.loss, 0.285)


def test_the_published_method_makes_one_class_of_adult(adult: Any) -> None:
    outcome = method_named("fragments-thesis").run(adult("0.2"), Budget(effort=1.0))
    assert outcome.classes == 1
