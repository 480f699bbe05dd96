"""The theorems behind closeness by construction, against linear programs and adversaries."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tclose.search import Problem, problem_of
from tclose.search.close import Close, bounds_of, close_of
from tclose.search.fragmentation import OWN_WIDTH, fragmentation
from tclose.search.matching import bucket_bound, buckets_needed
from tclose.search.quotas import common_divisor, dealt, halved, most_classes

GROUPS = {"left": "abc", "right": "de", "alone": "f"}
NUMBERS = ["1", "2", "3", "5", "8"]
quick = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


# ------------------------------------------------------------------- ground distances, from scratch


def ground(kind: str, one: str, other: str, present: list[str]) -> float:
    """The distance of two values; ranks are those among the values that the table has."""
    if one == other:
        return 0.0
    if kind == "equal":
        return 1.0
    if kind == "hierarchical":
        return 0.5 if any(one in leaves and other in leaves for leaves in GROUPS.values()) else 1.0
    order = sorted(present, key=int)
    if kind == "ordered":
        return abs(order.index(one) - order.index(other)) / (len(order) - 1)
    return abs(int(one) - int(other)) / (int(order[-1]) - int(order[0]))


def transport(p: np.ndarray, q: np.ndarray, cost: np.ndarray) -> float:
    """The earth mover's distance as a linear program."""
    m = len(p)
    rows = np.kron(np.eye(m), np.ones(m))
    columns = np.kron(np.ones(m), np.eye(m))
    solved = linprog(
        cost.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([p, q]), method="highs"
    )
    assert solved.success
    return float(solved.fun)


@st.composite
def close_cases(draw: st.DrawFn, most: int = 3) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Tables with one to three promises of closeness of mixed kinds."""
    rows = draw(st.integers(4, 60))
    columns: dict[str, list[Any]] = {
        "q": draw(st.lists(st.integers(0, 9), min_size=rows, max_size=rows))
    }
    specs: dict[str, Any] = {"q": "quasi"}
    for at in range(draw(st.integers(1, most))):
        kind = draw(st.sampled_from(["ordered", "numeric", "equal", "hierarchical"]))
        values: Any = (
            [int(x) for x in NUMBERS] if kind in ("ordered", "numeric") else list("abcdef")
        )
        columns[f"s{at}"] = draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows))
        t = draw(st.sampled_from(["0.05", "0.1", "0.2", "0.35", "0.5"]))
        specs[f"s{at}"] = {"role": "sensitive", "distance": kind, "t": t}
        if kind == "hierarchical":
            groups = {name: list(leaves) for name, leaves in GROUPS.items()}
            specs[f"s{at}"]["hierarchy"] = {"groups": groups}
    return columns, {"k": draw(st.integers(1, 4)), "columns": specs}


class Seen:
    """A problem's promises of closeness, with values and ground distances made from scratch."""

    def __init__(self, problem: Problem, policy: dict[str, Any]) -> None:
        self.problem = problem
        self.close: Close = close_of(problem, problem.tables().rules)
        first = np.array([int(np.argmax(self.close.tuple_of == at)) for at in range(self.tuples)])
        self.values: list[np.ndarray] = []
        self.cost: list[np.ndarray] = []
        for attribute in self.close.attributes:
            labels = problem.classes.attributes[attribute.name].labels
            present = sorted({labels[code] for code in problem.classes.cell_codes[attribute.name]})
            kind = policy["columns"][attribute.name]["distance"]
            of_tuple = [labels[code] for code in problem.classes.cell_codes[attribute.name][first]]
            self.values.append(np.array([present.index(label) for label in of_tuple]))
            self.cost.append(
                np.array([[ground(kind, x, y, present) for y in present] for x in present])
            )

    @property
    def tuples(self) -> int:
        return len(self.close.rows)

    def shares(self, a: int, rows: np.ndarray) -> np.ndarray:
        count = np.bincount(self.values[a], weights=rows, minlength=len(self.cost[a]))
        return np.asarray(count / count.sum())

    def emd(self, a: int, rows: np.ndarray) -> float:
        """Of a class with so many rows of each tuple, from the table."""
        return transport(self.shares(a, rows), self.shares(a, self.close.rows), self.cost[a])


def seen(data: st.DataObject, tables: Any, most: int = 3) -> Seen:
    columns, policy = data.draw(close_cases(most))
    return Seen(problem_of(tables.Case(columns, policy).bound()), policy)


def adversary(data: st.DataObject, made: Seen, fragment: np.ndarray, counts: np.ndarray) -> Any:
    """Records taken as counted, as far off as a stubborn rule can make them."""
    rule = data.draw(st.sampled_from(["lowest", "highest", "far from one", "any"]))
    a = data.draw(st.integers(0, len(made.close.attributes) - 1))
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
            taken[at] = min(made.close.rows[at], count)
            count -= taken[at]
        assert count == 0
    return taken


# --------------------------------------------------------------------------------------- theorem A


@quick
@given(data=st.data())
def test_nothing_on_a_set_of_values_is_farther_than_its_worst_value(
    data: st.DataObject, tables: Any
) -> None:
    made = seen(data, tables)
    chosen = np.array(
        data.draw(st.lists(st.booleans(), min_size=made.tuples, max_size=made.tuples))
    )
    rows = np.where(chosen, made.close.rows, 0)
    if not chosen.any():
        return
    for a, attribute in enumerate(made.close.attributes):
        p, cost = made.shares(a, rows), made.cost[a]
        bound = float(
            attribute.farthest(attribute.held(rows, np.zeros_like(rows), 1) / rows.sum())[0]
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


@quick
@given(data=st.data())
def test_whatever_records_are_taken_the_bound_of_their_counts_holds(
    data: st.DataObject, tables: Any
) -> None:
    made = seen(data, tables)
    target = [data.draw(st.sampled_from([0.1, 0.3, 0.6])) * one.t for one in made.close.attributes]
    found = fragmentation(made.close, target)
    assert all(x <= y + 1e-9 for x, y in zip(found.attained, target, strict=True))
    counts = np.array([[data.draw(st.integers(0, int(rows))) for rows in found.rows]])
    if counts.sum() == 0:
        return
    taken = adversary(data, made, found.of_tuple, counts[0].copy())
    for a, bound in enumerate(bounds_of(made.close, found.of_tuple, found.coarser)):
        assert made.emd(a, taken) <= bound.of(counts)[0] + 1e-7


@quick
@given(data=st.data())
def test_classes_in_proportion_are_within_the_aggregate_bound(
    data: st.DataObject, tables: Any
) -> None:
    made = seen(data, tables)
    found = fragmentation(made.close, [one.t for one in made.close.attributes])
    whole = found.rows[None, :]
    for one, bound in zip(
        found.attained, bounds_of(made.close, found.of_tuple, found.coarser), strict=True
    ):
        assert bound.of(whole)[0] <= one + 1e-9


@quick
@given(data=st.data())
def test_dealt_and_halved_classes_are_close_whatever_records_they_take(
    data: st.DataObject, tables: Any
) -> None:
    made = seen(data, tables)
    k = data.draw(st.integers(1, 4))
    share = data.draw(st.sampled_from([0.2, 0.5, 0.8]))
    found = fragmentation(made.close, [share * one.t for one in made.close.attributes])
    bounds = bounds_of(made.close, found.of_tuple, found.coarser)
    quotas = data.draw(st.sampled_from([
        dealt(found.rows, most_classes(found.rows, bounds, k)), halved(found.rows, bounds, k),
    ]))  # fmt: skip
    counts = quotas.counts[quotas.kind]
    assert counts.sum(axis=0).tolist() == found.rows.tolist()
    assert len(counts) == 1 or counts.sum(axis=1).min() >= k
    taken = adversary(
        data, made, found.of_tuple, counts[data.draw(st.integers(0, len(counts) - 1))]
    )
    for a, attribute in enumerate(made.close.attributes):
        assert made.emd(a, taken) <= attribute.t + 1e-7


# ------------------------------------------------------------------------------- fragments by cuts


@quick
@given(data=st.data())
def test_a_cut_never_raises_the_bound_of_the_attribute_it_cuts(
    data: st.DataObject, tables: Any
) -> None:
    made = seen(data, tables)
    attribute = data.draw(st.sampled_from(made.close.attributes))
    border = data.draw(st.integers(0, int(attribute.rank.max()) + 1))
    half = (attribute.rank >= border).astype(np.int64)
    rows = made.close.rows
    whole = attribute.farthest(attribute.held(rows, np.zeros_like(half), 1)).sum()
    assert attribute.farthest(attribute.held(rows, half, 2)).sum() <= whole + 1e-9


def test_the_published_bound_may_rise_where_the_corrected_one_falls(tables: Any) -> None:
    """The counterexample to the thesis' Proposition 6: <.5, 0, 0, .5> cut in the middle."""
    columns = {"q": list(range(8)), "s": [1, 1, 1, 1, 4, 4, 4, 4]}
    policy = {
        "k": 1,
        "columns": {"q": "quasi", "s": {"role": "sensitive", "t": "0.1", "distance": "ordered"}},
    }
    made = Seen(problem_of(tables.Case(columns, policy).bound()), policy)
    corrected = fragmentation(made.close, [0.1])
    assert corrected.count == 2 and corrected.attained == (0.0,)
    whole = fragmentation(made.close, [0.5], OWN_WIDTH)
    assert whole.count == 1 and whole.attained == (0.5,)


@quick
@given(rows=st.lists(st.integers(1, 40), min_size=1, max_size=8), data=st.data())
def test_dealing_splits_every_run_evenly(rows: list[int], data: st.DataObject) -> None:
    classes = data.draw(st.integers(1, sum(rows)))
    made = dealt(np.array(rows), classes)
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
    assert common_divisor(np.array([250, 100, 350, 300]), 5).classes == 50
    assert common_divisor(np.array([250, 100, 350, 301]), 5).classes == 1
    assert common_divisor(np.array([40, 60]), 30).classes == 2, "20 classes of 5 would be too small"


# ----------------------------------------------------------------------------------------- buckets


@quick
@given(data=st.data())
def test_one_record_per_bucket_is_within_the_bucket_bound(data: st.DataObject, tables: Any) -> None:
    made = seen(data, tables)
    total = made.close.total
    buckets = data.draw(st.sampled_from([k for k in range(1, total + 1) if total % k == 0]))
    a = data.draw(st.integers(0, len(made.close.attributes) - 1))
    attribute = made.close.attributes[a]
    order = np.argsort(attribute.rank, kind="stable")
    row = np.repeat(order, made.close.rows[order]).reshape(buckets, -1)
    taken = np.zeros(made.tuples)
    for bucket in row:
        value = made.values[a][bucket]
        ends = [int(np.argmin(value)), int(np.argmax(value)), *range(len(bucket))]
        taken[bucket[ends[data.draw(st.integers(0, len(ends) - 1))]]] += 1
    bound = bucket_bound(made.close, attribute, buckets)
    assert made.emd(a, taken) <= bound + 1e-7
    if attribute.position is not None:
        assert bound <= 1 / buckets + 1e-9


@quick
@given(data=st.data())
def test_as_many_buckets_as_needed_keep_both_promises(data: st.DataObject, tables: Any) -> None:
    made = seen(data, tables)
    needed = buckets_needed(made.close, 1)
    for attribute in made.close.attributes:
        assert bucket_bound(made.close, attribute, needed) <= attribute.t
