"""The theorems behind closeness by construction, against linear programs and adversaries."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tclose.search import SearchProblem, problem_of
from tclose.search.by_construction.emd_bounds import (
    EmdConstraints,
    find_emd_constraints,
    make_emd_bounds,
)
from tclose.search.by_construction.fragments import (
    _keep_between_siblings,
    cut_into_fragments,
)
from tclose.search.by_construction.matching import count_buckets_needed, measure_bucket_bound
from tclose.search.by_construction.quotas import (
    assign_in_turn,
    count_in_proportion,
    count_most_classes,
    halve_rows,
)

MISSING = "(missing)"
GROUP_OF = {leaf: group for group in ("abc", "de", "f") for leaf in group}
quick = settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


class Seen:
    """A problem's promises of closeness, with values and ground distances made from scratch."""

    def __init__(self, problem: SearchProblem, policy: dict[str, Any], programs: Any) -> None:
        self.problem, self.transport = problem, programs.transport
        self.closeness: EmdConstraints = find_emd_constraints(
            problem, problem.make_coded_table().constraints.arrays
        )
        first = np.array(
            [int(np.argmax(self.closeness.tuple_of == at)) for at in range(self.tuples)]
        )
        self.kinds: list[str] = []
        self.labels: list[list[str]] = []
        self.values: list[np.ndarray] = []
        self.cost: list[np.ndarray] = []
        for attribute in self.closeness.attributes:
            labels = problem.classes.attributes[attribute.name].labels
            present = sorted({labels[code] for code in problem.classes.cell_codes[attribute.name]})
            kind = policy["columns"][attribute.name]["distance"]
            of_tuple = [labels[code] for code in problem.classes.cell_codes[attribute.name][first]]
            self.kinds.append(kind)
            self.labels.append(present)
            self.values.append(np.array([present.index(label) for label in of_tuple]))
            self.cost.append(programs.ground(kind, present))

    @property
    def tuples(self) -> int:
        return len(self.closeness.rows)

    def shares(self, a: int, rows: np.ndarray) -> np.ndarray:
        count = np.bincount(self.values[a], weights=rows, minlength=len(self.cost[a]))
        return np.asarray(count / count.sum())

    def emd(self, a: int, rows: np.ndarray) -> float:
        """Of a class with so many rows of each tuple, from the table."""
        return float(
            self.transport(self.shares(a, rows), self.shares(a, self.closeness.rows), self.cost[a])
        )


@pytest.fixture()
def seen(tables: Any, programs: Any) -> Callable[..., Seen]:
    """Draws a table with one to three promises of closeness of mixed kinds."""

    def drawn(data: st.DataObject, most: int = 3) -> Seen:
        case = data.draw(tables.close(data.draw(tables.kinds(1, most)), (4, 60), more=True))
        return Seen(problem_of(case.bound()), case.policy, programs)

    return drawn


def adversary(data: st.DataObject, made: Seen, fragment: np.ndarray, counts: np.ndarray) -> Any:
    """Records taken as counted, as far off as a stubborn rule can make them."""
    rule = data.draw(st.sampled_from(["lowest", "highest", "far from one", "any"]))
    a = data.draw(st.integers(0, len(made.closeness.attributes) - 1))
    pivot = data.draw(st.integers(0, len(made.cost[a]) - 1))
    taken = np.zeros(made.tuples)
    for group, count in enumerate(counts):
        inside = np.flatnonzero(fragment == group)
        value = made.values[a][inside]
        if rule == "far from one":
            inside = inside[np.argsort(-made.cost[a][pivot][value], kind="stable")]
        elif rule == "any":
            inside = np.array(data.draw(st.permutations(inside.tolist())), dtype=np.int64)
        else:
            inside = inside[np.argsort(value if rule == "lowest" else -value, kind="stable")]
        for at in inside:
            taken[at] = min(made.closeness.rows[at], count)
            count -= taken[at]
        assert count == 0
    return taken


# --------------------------------------------------------------------------------------- theorem A


@quick
@given(data=st.data())
def test_nothing_on_a_set_of_values_is_farther_than_its_worst_value(
    data: st.DataObject, seen: Any
) -> None:
    made = seen(data)
    chosen = np.array(
        data.draw(st.lists(st.booleans(), min_size=made.tuples, max_size=made.tuples))
    )
    chosen[data.draw(st.integers(0, made.tuples - 1))] = True
    rows = np.where(chosen, made.closeness.rows, 0)
    for a, attribute in enumerate(made.closeness.attributes):
        p, cost, transport = made.shares(a, rows), made.cost[a], made.transport
        bound = float(
            attribute.find_worst_cost(
                attribute.count_rows(rows, np.zeros_like(rows), 1) / rows.sum()
            )[0]
        )
        support = np.flatnonzero(p)
        vertices = [transport(p, np.eye(len(p))[v], cost) for v in support]
        assert bound == pytest.approx(max(vertices), abs=1e-7)
        mix = np.array([data.draw(st.integers(0, 5)) for _ in support], dtype=float)
        if mix.sum() > 0:
            q = np.zeros(len(p))
            q[support] = mix / mix.sum()
            assert transport(p, q, cost) <= bound + 1e-7


# --------------------------------------------------------------------------------------- theorem B


@pytest.mark.slow
@quick
@given(data=st.data())
def test_whatever_records_are_taken_the_bound_of_their_counts_holds(
    data: st.DataObject, seen: Any
) -> None:
    made = seen(data)
    target = [
        data.draw(st.sampled_from([0.1, 0.3, 0.6])) * one.t for one in made.closeness.attributes
    ]
    found = cut_into_fragments(made.closeness, target)
    assert all(x <= y + 1e-9 for x, y in zip(found.attained, target, strict=True))
    counts = np.array([[data.draw(st.integers(0, int(rows))) for rows in found.rows]])
    counts[0, 0] = max(counts[0, 0], counts.sum() == 0)
    taken = adversary(data, made, found.of_tuple, counts[0].copy())
    for a, bound in enumerate(make_emd_bounds(made.closeness, found.of_tuple, found.coarser)):
        assert made.emd(a, taken) <= bound.evaluate(counts)[0] + 1e-7


@quick
@given(data=st.data())
def test_classes_in_proportion_are_within_the_aggregate_bound(
    data: st.DataObject, seen: Any
) -> None:
    made = seen(data)
    found = cut_into_fragments(made.closeness, [one.t for one in made.closeness.attributes])
    whole = found.rows[None, :]
    for one, bound in zip(
        found.attained, make_emd_bounds(made.closeness, found.of_tuple, found.coarser), strict=True
    ):
        assert bound.evaluate(whole)[0] <= one + 1e-9


@quick
@given(data=st.data())
def test_dealt_and_halved_classes_are_close_whatever_records_they_take(
    data: st.DataObject, seen: Any
) -> None:
    made = seen(data)
    k = data.draw(st.integers(1, 4))
    share = data.draw(st.sampled_from([0.2, 0.5, 0.8]))
    found = cut_into_fragments(made.closeness, [share * one.t for one in made.closeness.attributes])
    bounds = make_emd_bounds(made.closeness, found.of_tuple, found.coarser)
    quotas = data.draw(st.sampled_from([
        assign_in_turn(found.rows, count_most_classes(found.rows, bounds, k)),
        halve_rows(found.rows, bounds, k),
    ]))  # fmt: skip
    counts = quotas.counts[quotas.kind]
    assert counts.sum(axis=0).tolist() == found.rows.tolist()
    assert len(counts) == 1 or counts.sum(axis=1).min() >= k
    assert all(one.evaluate(quotas.counts).max() <= one.t for one in bounds)
    taken = adversary(
        data, made, found.of_tuple, counts[data.draw(st.integers(0, len(counts) - 1))]
    )
    for a, attribute in enumerate(made.closeness.attributes):
        assert made.emd(a, taken) <= attribute.t + 1e-7


# ------------------------------------------------------------------------------- fragments by cuts


@quick
@given(data=st.data())
def test_fragments_are_intervals_or_nodes_side_by_side(data: st.DataObject, seen: Any) -> None:
    """Runs of an order have no gap. On a hierarchy only children of the lowest node above a
    fragment are parted; for the equal distance all values are siblings, so any may be."""
    made = seen(data, most=1)
    attribute, kind = made.closeness.attributes[0], made.kinds[0]
    order = np.argsort(attribute.rank)[data.draw(st.integers(0, made.tuples - 1)) :]
    label = [made.labels[0][value] for value in made.values[0][order]]
    if kind in ("ordered", "numeric"):
        known = [int(one) for one in label if one != MISSING]
        assert known == sorted(known) and MISSING not in label[:-1]
        return
    everywhere = np.arange(1, len(order))
    group = label if kind == "equal" else [GROUP_OF.get(one, one) for one in label]
    parted = label if len(set(group)) == 1 else group
    allowed = [at for at in everywhere if parted[at - 1] != parted[at]]
    assert _keep_between_siblings(attribute, order, everywhere).tolist() == allowed
    assert len(set(group)) == sum(x != y for x, y in pairwise([None, *group])), "side by side"


@pytest.mark.parametrize("target", [0.2, 0.1, 0.05, 0.03])
@pytest.mark.parametrize("kind", ["ordered", "numeric"])
def test_a_missing_value_takes_one_fragment_more(kind: str, target: float, tables: Any) -> None:
    def needed(values: list[Any]) -> int:
        spec = {"role": "sensitive", "t": "0.5", "distance": kind}
        policy = {"columns": {"q": "quasi", "s": spec}}
        problem = problem_of(tables.Case({"q": values, "s": values}, policy).bound())
        return cut_into_fragments(
            find_emd_constraints(problem, problem.make_coded_table().constraints.arrays), [target]
        ).count

    days: list[Any] = list(range(1, 42))
    assert needed([*days, None]) == needed(days) + 1


@quick
@given(data=st.data())
def test_a_cut_never_raises_the_bound_of_the_attribute_it_cuts(
    data: st.DataObject, seen: Any
) -> None:
    made = seen(data)
    attribute = data.draw(st.sampled_from(made.closeness.attributes))
    border = data.draw(st.integers(0, int(attribute.rank.max()) + 1))
    half = (attribute.rank >= border).astype(np.int64)
    rows = made.closeness.rows
    whole = attribute.find_worst_cost(attribute.count_rows(rows, np.zeros_like(half), 1)).sum()
    assert attribute.find_worst_cost(attribute.count_rows(rows, half, 2)).sum() <= whole + 1e-9


def test_the_published_bound_may_rise_where_the_corrected_one_falls(
    tables: Any, programs: Any
) -> None:
    """The counterexample to the thesis' Proposition 6: <.5, 0, 0, .5> cut in the middle."""
    columns = {"q": list(range(8)), "s": [1, 1, 1, 1, 4, 4, 4, 4]}
    policy = {
        "k": 1,
        "columns": {"q": "quasi", "s": {"role": "sensitive", "t": "0.1", "distance": "ordered"}},
    }
    made = Seen(problem_of(tables.Case(columns, policy).bound()), policy, programs)
    corrected = cut_into_fragments(made.closeness, [0.1])
    assert corrected.count == 2 and corrected.attained == (0.0,)
    whole = cut_into_fragments(made.closeness, [0.5], own_width=True)
    assert whole.count == 1 and whole.attained == (0.5,)


@quick
@given(rows=st.lists(st.integers(1, 40), min_size=1, max_size=8), data=st.data())
def test_dealing_splits_every_run_evenly(rows: list[int], data: st.DataObject) -> None:
    classes = data.draw(st.integers(1, sum(rows)))
    made = assign_in_turn(np.array(rows), classes)
    plain = np.zeros((classes, len(rows)), dtype=np.int64)
    for position, group in enumerate(np.repeat(np.arange(len(rows)), rows)):
        plain[position % classes, group] += 1
    assert made.counts[made.kind].tolist() == plain.tolist()
    size, total = plain.sum(axis=1), sum(rows)
    for upto in range(1, len(rows) + 1):
        length = sum(rows[:upto])
        for held, r in zip(plain[:, :upto].sum(axis=1).tolist(), size.tolist(), strict=True):
            assert abs(Fraction(held, r) - Fraction(length, total)) < Fraction(1, r)


def test_the_published_class_size_is_a_common_divisor() -> None:
    assert count_in_proportion(np.array([250, 100, 350, 300]), (), 5) == 50
    assert count_in_proportion(np.array([250, 100, 350, 301]), (), 5) == 1
    assert count_in_proportion(np.array([40, 60]), (), 30) == 2, (
        "20 classes of 5 would be too small"
    )


# ----------------------------------------------------------------------------------------- buckets


@quick
@given(data=st.data())
def test_one_record_per_bucket_is_within_the_bucket_bound(data: st.DataObject, seen: Any) -> None:
    made = seen(data)
    total = made.closeness.total
    buckets = data.draw(st.sampled_from([k for k in range(1, total + 1) if total % k == 0]))
    a = data.draw(st.integers(0, len(made.closeness.attributes) - 1))
    attribute = made.closeness.attributes[a]
    order = np.argsort(attribute.rank, kind="stable")
    row = np.repeat(order, made.closeness.rows[order]).reshape(buckets, -1)
    taken = np.zeros(made.tuples)
    for bucket in row:
        value = made.values[a][bucket]
        ends = [int(np.argmin(value)), int(np.argmax(value)), *range(len(bucket))]
        taken[bucket[ends[data.draw(st.integers(0, len(ends) - 1))]]] += 1
    bound = measure_bucket_bound(made.closeness, attribute, buckets)
    assert made.emd(a, taken) <= bound + 1e-7
    if attribute.position is not None:
        assert bound <= 1 / buckets + 1e-9


@quick
@given(data=st.data())
def test_as_many_buckets_as_needed_keep_both_promises(data: st.DataObject, seen: Any) -> None:
    made = seen(data)
    needed = count_buckets_needed(made.closeness, 1)
    for attribute in made.closeness.attributes:
        assert measure_bucket_bound(made.closeness, attribute, needed) <= attribute.t
