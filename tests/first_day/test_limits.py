"""How far columns may be generalized, and what each counts: kept exactly, or refused in words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from random_tables import Counted
from tclose.data.binding import bind
from tclose.errors import PolicyError, UsageError
from tclose.policy.model import Policy
from tclose.sample import write_hospital
from tclose.search import METHODS, Budget, method_named, problem_of, registry
from tclose.search.kernel_arrays import FORBIDDEN

ENDS = re.compile(r"\[(\d+), (\d+)\]")
ILL = ["flu", "cough", "ulcer", "burn"]
KEEPING = [
    name for name, method in METHODS.items() if method.keeps_limits and name != "nt-mondrian"
]


def make_people(rows: int, seed: int = 3) -> pa.Table:
    draw = Random(seed)
    return pa.table(
        {
            "age": [draw.randint(20, 89) for _ in range(rows)],
            "sex": [draw.choice("FM") for _ in range(rows)],
            "zip": [
                draw.choice(["13053", "13068", "14850", "14853", "14801"]) for _ in range(rows)
            ],
            "born": [date(1930, 1, 1) + timedelta(draw.randrange(25_000)) for _ in range(rows)],
            "ill": [draw.choice(ILL) for _ in range(rows)],
        }
    )


def rules(**columns: Any) -> dict[str, Any]:
    usual = {
        "age": "quasi",
        "sex": "quasi",
        "zip": {"role": "quasi", "hierarchy": {"prefix": [3, 2, 0]}},
        "born": "insensitive",
        "ill": {"role": "sensitive", "t": 0.8},
    }
    return {"k": 3, "columns": usual | columns, "release": {"rows": "keep"}}


def width_of(label: str) -> int:
    found = ENDS.fullmatch(label)
    return int(found[2]) - int(found[1]) if found else 0


PEOPLE = make_people(400)
WIDE = {"role": "quasi", "max_width": 10}
EXACT = {"role": "quasi", "exact": True}


@pytest.mark.parametrize("method", KEEPING)
def test_every_method_that_says_so_keeps_the_limits(method: str) -> None:
    ages = {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}, "max_width": 10}
    given = ages if method in ("optimal", "incognito") else WIDE
    release = tclose.anonymize(PEOPLE, rules(age=given, sex=EXACT), method=method, effort=0.1)
    labels = release.data.column("age").to_pylist()
    assert max(map(width_of, labels)) <= 10 and "*" not in labels
    assert release.data.column("sex").to_pylist() == PEOPLE.column("sex").to_pylist()
    assert release.holds and release.left_out == 0


def test_dates_are_limited_by_units_of_time_and_by_names_of_levels() -> None:
    born = {"role": "quasi", "max_width": "10 years"}
    release = tclose.anonymize(PEOPLE, rules(born=born, age="insensitive"), effort=0.1)
    for label in set(release.data.column("born").to_pylist()):
        ends = [date.fromisoformat(text) for text in re.findall(r"\d{4}-\d\d-\d\d", label)]
        assert ends and (ends[-1] - ends[0]).days <= 3652.5
    tree = {"role": "quasi", "hierarchy": {"dates": ["month", "year", "decade"]}}
    for level, form in (
        ("decade", r"\d{3}0s|\d{4}(-\d\d(-\d\d)?)?"),
        ("year", r"\d{4}(-\d\d(-\d\d)?)?"),
    ):
        policy = rules(born=tree | {"max_level": level}, age="insensitive", zip="insensitive")
        release = tclose.anonymize(PEOPLE, policy | {"k": 1}, effort=0.1)
        assert all(re.fullmatch(form, label) for label in release.data.column("born").to_pylist())


def test_large_hierarchies_with_gaps_keep_limits_and_take_weights() -> None:
    draw = Random(5)
    days = [date(1940, 1, 1) + timedelta(20 * row) for row in range(900)]
    born = [None if draw.random() < 0.05 else day for day in days]
    table = {"born": born, "sex": [draw.choice("FM") for _ in days], "ill": ["a", "b"] * 450}
    column = {"role": "quasi", "hierarchy": {"dates": ["year", "decade"]}, "max_level": "decade"}
    columns = {"born": column, "sex": "quasi", "ill": {"role": "sensitive", "t": 0.4}}
    policy = {"k": 4, "columns": columns, "search": {"weights": {"sex": 3}}}
    policy["release"] = {"rows": "keep"}
    release = tclose.anonymize(pa.table(table), policy, effort=0.1)
    for raw, label in zip(born, release.data.column("born").to_pylist(), strict=True):
        assert (raw is None) == (label is None)
        assert label is None or label[:3] == str(raw)[:3]
    assert release.holds and release.loss.columns["sex"] < release.loss.columns["born"]


def test_a_weight_stays_with_the_default_search_and_saves_its_column(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "TINY_BUDGET", 0.2)
    plain = tclose.anonymize(PEOPLE, rules(), effort=0.2)
    heavy = tclose.anonymize(PEOPLE, rules() | {"search": {"weights": {"age": 5}}}, effort=0.2)
    assert heavy.certificate.method in ("hybrid", "cover") and heavy.certificate.levels is None
    assert heavy.loss.columns["age"] < plain.loss.columns["age"]
    assert heavy.loss.columns["sex"] + heavy.loss.columns["zip"] > 0
    mean = sum(heavy.loss.columns.values()) / 3
    assert heavy.loss.overall == pytest.approx(mean)  # what is lost is told without weights

    def weigh(release: Any) -> float:
        lost = release.loss.columns
        return float(5 * lost["age"] + lost["sex"] + lost["zip"]) / 7

    assert weigh(heavy) < weigh(plain)


def test_the_cost_of_a_partition_is_its_weighted_loss_by_hand() -> None:
    table = {"age": [20, 30, 60, 60], "sex": list("FMFM"), "ill": list("abab")}
    policy = {
        "k": 2,
        "columns": {"age": "quasi", "sex": "quasi", "ill": {"role": "sensitive", "t": 1}},
        "search": {"weights": {"age": "3/2", "sex": "1/2"}},
    }
    bound = bind(Policy.model_validate(policy), Counted(table))  # type: ignore[arg-type]
    problem = problem_of(bound)
    ages = np.array(bound.cells.dictionaries["age"].positions, float)[bound.cells.codes["age"]]
    label = np.where(ages < 50, 0, 1)  # {20, 30} and {60, 60}, both sexes in each
    age, sex = Fraction(2, 4) * Fraction(10, 40), Fraction(1)
    assert problem.cost(label) == pytest.approx(float((3 * age + sex) / 4))
    assert problem.loss(label).overall == pytest.approx(float((age + sex) / 2))


def test_rows_that_may_not_be_merged_are_told_before_the_search() -> None:
    odd = pa.concat_tables([PEOPLE, make_people(2).set_column(1, "sex", pa.array(["X", "X"]))])
    with pytest.raises(UsageError, match="no release can keep the limits") as caught:
        tclose.anonymize(odd, rules(sex=EXACT), effort=0.1)
    text = str(caught.value)
    assert "'sex'" in text and "2 rows of 402" in text and "0.005" in text
    release = tclose.anonymize(odd, rules(sex=EXACT), suppression=0.01, effort=0.1)
    assert release.left_out == 2 and "X" not in release.data.column("sex").to_pylist()
    assert release.holds


def test_a_gap_that_no_interval_may_bridge_is_found_too() -> None:
    far = make_people(2).set_column(0, "age", pa.array([118, 119]))
    with pytest.raises(UsageError, match="no release can keep the limits"):
        tclose.anonymize(pa.concat_tables([PEOPLE, far]), rules(age=WIDE), effort=0.1)


def test_what_only_a_search_can_tell_is_told_at_its_end() -> None:
    """No gap is wider than 10, but the last interval has four rows only."""
    few = make_people(4).set_column(0, "age", pa.array([98, 98, 107, 107]))
    table = pa.concat_tables([PEOPLE, few])
    policy = rules(age=WIDE) | {"k": 5}
    with pytest.raises(UsageError, match="no release was found that keeps the limits") as caught:
        tclose.anonymize(table, policy, effort=0.1)
    assert "search.suppression" in str(caught.value)
    release = tclose.anonymize(table, policy, suppression=0.05, effort=0.1)
    ages = release.data.column("age").to_pylist()
    assert 2 <= release.left_out <= 20 and max(map(width_of, ages)) <= 10 and release.holds


def test_missing_values_are_not_hidden_among_others_where_a_limit_says_so() -> None:
    gaps = PEOPLE.to_pydict()
    gaps["age"] = [None if row < 7 else age for row, age in enumerate(gaps["age"])]
    release = tclose.anonymize(pa.table(gaps), rules(age=WIDE), effort=0.1)
    assert release.data.column("age").to_pylist()[:7] == [None] * 7


def test_verify_refuses_what_is_wider_than_the_policy_allows() -> None:
    policy = rules(age=WIDE, sex=EXACT)
    release = tclose.anonymize(PEOPLE, policy, effort=0.1).data
    assert tclose.verify(release, policy).holds
    labels = [*set(release.column("age").to_pylist())]
    wide = dict.fromkeys(labels, "[20, 89]")
    ages = pa.array([wide[label] for label in release.column("age").to_pylist()])
    audit = tclose.verify(release.set_column(0, "age", ages), policy)
    broken = [verdict for verdict in audit.requirements if not verdict.holds]
    assert not audit.holds and [verdict.title for verdict in broken] == ["limit of age"]
    assert broken[0].failing_rows == 400 and broken[0].required == "at most 10 wide"
    stars = pa.array(["*"] * 400)
    assert "limit of sex" in tclose.verify(release.set_column(1, "sex", stars), policy).broken


def test_a_plan_widens_no_class_beyond_the_limit() -> None:
    policy = rules(age=WIDE, sex=EXACT)
    plan = tclose.anonymize(PEOPLE, policy, effort=0.1).plan
    later = tclose.apply(plan, make_people(300, seed=8))
    labels = later.data.column("age").to_pylist()
    assert max(map(width_of, labels)) <= 10 and later.holds


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"role": "sensitive", "exact": True}, "exact is for quasi-identifiers only"),
        ({"role": "quasi", "exact": True, "max_width": 3}, "give only one of"),
        ({"role": "quasi", "max_level": 1}, "a level needs a hierarchy"),
        ({"role": "quasi", "max_width": "some"}, "a width is a number"),
        ({"role": "quasi", "hierarchy": {"prefix": [1]}, "max_width": 3}, "only intervals have"),
        ({"role": "quasi", "hierarchy": {"dates": ["year"]}, "max_level": "age"}, "with that name"),
        ({"role": "quasi", "max_width": "3 years"}, "for dates"),
        ({"role": "quasi", "hierarchy": {"intervals": [5]}, "max_level": 9}, "no such level"),
    ],
)
def test_limits_that_make_no_sense_are_refused(column: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        tclose.anonymize(PEOPLE, rules(age=column), effort=0.1)


def test_a_text_column_has_no_width_and_suppressed_rows_no_root() -> None:
    with pytest.raises(PolicyError, match="no numbers or dates"):
        tclose.anonymize(PEOPLE, rules(sex=WIDE), effort=0.1)
    with pytest.raises(PolicyError, match="leftover"):
        tclose.anonymize(PEOPLE, rules(sex=EXACT) | {"release": {"leftover": "root"}})


def test_methods_that_cannot_limit_say_so() -> None:
    with pytest.raises(UsageError, match="cannot limit how far 'sex' is generalized"):
        tclose.anonymize(PEOPLE, rules(sex=EXACT), method="mdav")


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(["hybrid", "mondrian", "auto"]))
def test_no_class_of_a_random_table_is_too_wide_or_too_small(draw: Random, method: str) -> None:
    rows, k = draw.randint(4, 40), draw.randint(1, 3)
    table = {
        "a": [draw.randint(0, 12) for _ in range(rows)],
        "b": [draw.choice("xyz") for _ in range(rows)],
        "c": [draw.choice(["p1", "p2", "q1", "q2"]) for _ in range(rows)],
        "s": [draw.choice("uv") for _ in range(rows)],
    }
    width = draw.randint(0, 6)
    groups = {"p": ["p1", "p2"], "q": ["q1", "q2"]}
    limits = {
        "a": {"role": "quasi", "max_width": width},
        "b": draw.choice(["quasi", EXACT]),
        "c": {"role": "quasi", "hierarchy": {"groups": groups}, "max_level": draw.randint(0, 2)},
    }
    policy = {"k": k, "columns": limits | {"s": {"role": "sensitive", "t": draw.choice([0.5, 1])}}}
    bound = bind(Policy.model_validate(policy), Counted(table))  # type: ignore[arg-type]
    try:
        label = method_named(method).run(problem_of(bound), Budget(effort=0.05)).label
    except UsageError as error:
        assert "limits of generalization" in str(error)
        return
    members = defaultdict(list)
    for cell, number in enumerate(label.tolist()):
        at = {n: bound.cells.dictionaries[n].labels[bound.cells.codes[n][cell]] for n in "abcs"}
        members[number] += [at] * int(bound.cells.rows[cell])
    level = limits["c"]["max_level"]
    table_share = Counter(table["s"])["u"] / rows
    for inside in members.values():
        ages = [int(at["a"]) for at in inside]
        assert max(ages) - min(ages) <= width and len(inside) >= k
        assert limits["b"] == "quasi" or len({at["b"] for at in inside}) == 1
        assert len({at["c"][: (2, 1, 0)[level]] for at in inside}) == 1
        share = sum(at["s"] == "u" for at in inside) / len(inside)
        assert abs(share - table_share) <= float(policy["columns"]["s"]["t"]) + 1e-9


def test_kernels_charge_more_than_any_loss_for_a_class_that_is_too_wide() -> None:
    bound = bind(Policy.model_validate(rules(age=WIDE)), Counted(PEOPLE.to_pydict()))  # type: ignore[arg-type]
    problem = problem_of(bound)
    one = np.zeros(problem.n_cells, dtype=np.int64)
    assert problem.cost(one) > FORBIDDEN > problem.cost(np.arange(problem.n_cells)) == 0.0
    assert problem.find_too_wide(one).tolist() == [[True, False, False]]


@pytest.mark.parametrize(
    ("rows", "effort"), [(2_000, 0.5), pytest.param(10_000, 10, marks=pytest.mark.slow)]
)
def test_the_demo_does_not_lose_birth_dates_wholly(
    rows: int, effort: float, tmp_path: Path
) -> None:
    table, policy, _ = write_hospital(tmp_path, rows=rows)
    release = tclose.anonymize(table, policy, effort=effort)
    lost = release.loss.columns
    assert release.holds and lost["birth_date"] < 0.8
    if rows == 10_000:  # as `tclose demo` makes it
        assert max(lost.values()) < 0.75 and release.loss.overall < 0.36


def test_missing_values_that_break_the_promise_by_themselves_are_named() -> None:
    gaps = PEOPLE.to_pydict()
    gaps["age"] = [None if row < 2 else age for row, age in enumerate(gaps["age"])]
    with pytest.raises(UsageError, match="rows without a value are such a group"):
        tclose.anonymize(pa.table(gaps), rules(age=WIDE), effort=0.1)
