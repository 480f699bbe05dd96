"""k and t of combinations of quasi-identifiers, against groups that are counted by hand."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.errors import PolicyError, UsageError
from tclose.verify.recheck import recheck

QUASI = ("age", "sex", "zip")
TREES: dict[str, Any] = {
    "age": {"intervals": [10, 20]},
    "sex": {"prefix": [0]},
    "zip": {"prefix": [2, 1]},
}
Rows = list[dict[str, Any]]


def make_rows(seed: int, count: int) -> Rows:
    chance = random.Random(seed)
    return [
        {
            "age": chance.choice([21, 25, 34, 38, 47]),
            "sex": chance.choice("fm"),
            "zip": chance.choice(["111", "112", "121", "211"]),
            "ill": chance.choices(["flu", "gout", "ulcer"], [5, 3, 1])[0],
        }
        for _ in range(count)
    ]


def make_policy(*combinations: dict[str, Any], **more: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {
        name: {"role": "quasi", "hierarchy": TREES[name]} for name in QUASI
    } | {"ill": {"role": "sensitive", **more.pop("ill", {})}}
    return {"columns": columns, "combinations": list(combinations), **more}


def group(rows: Rows, names: tuple[str, ...]) -> list[Rows]:
    found: dict[tuple[Any, ...], Rows] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return list(found.values())


def apart(rows: Rows, table: Rows) -> Fraction:
    mine, whole = Counter(row["ill"] for row in rows), Counter(row["ill"] for row in table)
    gaps = (abs(Fraction(mine[v], len(rows)) - Fraction(whole[v], len(table))) for v in whole)
    return sum(gaps, Fraction(0)) / 2


def list_groups(rows: Rows, size: int) -> list[Rows]:
    sets = itertools.combinations(QUASI, size)
    return [part for names in sets for part in group(rows, names)]


@given(seed=st.integers(0, 10**6), count=st.integers(5, 60), size=st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_what_is_attained_is_the_worst_of_all_groups(seed: int, count: int, size: int) -> None:
    rows = make_rows(seed, count)
    groups = list_groups(rows, size)
    small, far = min(map(len, groups)), max(apart(part, rows) for part in groups)
    policy = make_policy({"size": size, "k": small, "t": str(far)})
    audit = tclose.audit(pa.Table.from_pylist(rows), policy)
    k, t = audit.requirements
    assert (k.achieved_exact, t.achieved_exact, audit.holds) == (small, far, True)
    stricter = make_policy({"size": size, "k": small + 1})
    audit = tclose.audit(pa.Table.from_pylist(rows), stricter)
    failing = {
        tuple(row[name] for name in QUASI) for part in groups if len(part) <= small for row in part
    }
    assert audit.holds is False and audit.requirements[0].failing_classes == len(failing)


def test_the_combination_that_breaks_it_is_named() -> None:
    rows = make_rows(3, 40)
    rows.append(rows[0] | {"age": 21, "zip": "999"})
    audit = tclose.audit(pa.Table.from_pylist(rows), make_policy({"size": 1, "k": 2}))
    assert audit.requirements[0].note == "worst by zip; 1 of 3 combinations break it"
    assert audit.requirements[0].title == "k-anonymity of combinations (by any 1 quasi-identifier)"
    named = make_policy({"columns": ["age", "sex"], "k": 1})
    assert tclose.audit(pa.Table.from_pylist(rows), named).requirements[0].reading == "by age × sex"


def generalize(row: dict[str, Any], levels: tuple[int, ...]) -> dict[str, Any]:
    low = row["age"]
    age = [low, low // 10 * 10, low // 20 * 20, "*"][levels[0]]
    zips = [row["zip"], row["zip"][:2], row["zip"][:1], "*"][levels[2]]
    return row | {"age": age, "sex": [row["sex"], "*"][levels[1]], "zip": zips}


@pytest.mark.parametrize("method", ["auto", "optimal", "incognito"])
@pytest.mark.parametrize("seed", range(3))
def test_searches_find_the_least_levels_that_keep_it(seed: int, method: str) -> None:
    rows, t = make_rows(seed, 80), Fraction(1, 4)
    policy = make_policy({"size": 2, "k": 12, "t": "1/4"}, k=3, ill={"t": "1/2"})
    keeping = set()
    for levels in itertools.product(range(4), range(2), range(4)):
        table = [generalize(row, levels) for row in rows]
        classes = group(table, QUASI)
        if (
            min(map(len, classes)) >= 3
            and max(apart(part, table) for part in classes) <= Fraction(1, 2)
            and min(map(len, list_groups(table, 2))) >= 12
            and max(apart(part, table) for part in list_groups(table, 2)) <= t
        ):
            keeping.add(levels)
    release = tclose.anonymize(pa.Table.from_pylist(rows), policy, method=method, effort=0.3)
    levels = release.certificate.levels
    assert levels is not None and tuple(levels[name] for name in QUASI) in keeping
    assert tclose.verify(release).holds
    if method != "incognito":
        optimality = release.certificate.optimality
        assert optimality is not None and optimality.optimal


@pytest.mark.parametrize("method", ["auto", "hybrid", "mondrian"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(at, marks=pytest.mark.slow) for at in (1, 2))])
def test_single_cells_are_suppressed_until_it_holds(seed: int, method: str) -> None:
    """As local suppression does elsewhere; with no more stars than whole columns would take."""
    rows = make_rows(seed, 150)
    rows[0]["age"], rows[1]["age"] = 21, 88
    policy = make_policy(
        {"size": 1, "k": 12}, {"size": 2, "k": 6, "t": "1/3"}, k=2, ill={"t": "1/2"}
    )
    policy["release"] = {"recoding": "suppress-cells"}
    release = tclose.anonymize(pa.Table.from_pylist(rows), policy, method=method, effort=0.2)
    table = release.data.to_pylist()
    assert min(map(len, list_groups(table, 1))) >= 12
    assert min(map(len, list_groups(table, 2))) >= 6
    assert max(apart(part, table) for part in list_groups(table, 2)) <= Fraction(1, 3)
    audit = tclose.verify(release)
    checks = recheck(release.certificate, audit, release.certificate.hashes.output)
    assert audit.holds and not [check for check in checks if check.confirmed is False]
    columns = tclose.anonymize(pa.Table.from_pylist(rows), policy, method="optimal", effort=1)
    if method == "auto":
        assert release.loss.overall <= columns.loss.overall


def test_what_is_implied_is_left_to_every_method() -> None:
    rows = make_rows(1, 80)
    policy = make_policy({"size": 2, "k": 3, "t": "1/3"}, k=3, ill={"t": "1/3"})
    release = tclose.anonymize(pa.Table.from_pylist(rows), policy, method="hybrid", effort=0.1)
    assert release.holds and len(release.certificate.requirements) == 4


def test_other_methods_say_what_they_cannot_do() -> None:
    rows = make_rows(1, 80)
    policy = make_policy({"size": 2, "k": 12}, k=3, ill={"t": "1/3"})
    with pytest.raises(UsageError, match="does not recode whole columns"):
        tclose.anonymize(pa.Table.from_pylist(rows), policy, method="hybrid")


@pytest.mark.parametrize("form", ["anatomy", "projections"])
def test_several_tables_promise_nothing_of_combinations(form: Any) -> None:
    policy = make_policy({"size": 2, "k": 3}, k=3, ill={"l": 2})
    with pytest.raises(UsageError, match="combinations"):
        tclose.split(pa.Table.from_pylist(make_rows(1, 80)), policy, form=form)


def test_persons_are_counted_once() -> None:
    table = pa.table({"zip": ["a", "a", "b"], "who": ["p", "p", "q"], "sex": ["f", "m", "f"]})
    columns = {"zip": "quasi", "sex": "quasi", "who": "subject"}
    policy = {"columns": columns, "combinations": [{"columns": ["zip"], "k": 2}]}
    assert tclose.audit(table, policy).requirements[0].achieved == 1
    policy["combinations"] = [{"columns": ["sex"], "k": 2}]
    assert tclose.audit(table, policy).requirements[0].failing_rows == 1


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"size": 2}, "requires nothing"),
        ({"k": 2}, "which combinations"),
        ({"size": 2, "columns": ["age"], "k": 2}, "which combinations"),
        ({"size": 4, "k": 2}, "there are 3 quasi-identifiers"),
        ({"columns": ["ill"], "k": 2}, "not a quasi-identifier"),
        ({"columns": ["age", "age"], "k": 2}, "twice"),
        ({"size": 1, "t": 2}, r"\[0, 1\]"),
    ],
)
def test_what_makes_no_sense_is_refused(entry: dict[str, Any], says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        tclose.audit(pa.Table.from_pylist(make_rows(1, 10)), make_policy(entry))
