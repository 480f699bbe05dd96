"""Releases that keep the promise together with earlier ones about the same people."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tclose

RULES: dict[str, Any] = {
    "k": 2,
    "columns": {
        "id": {"role": "insensitive", "accept": "a number of the study"},
        "zip": "quasi",
        "age": "quasi",
        "ill": {"role": "sensitive", "distance": "equal", "t": 0.4},
    },
}
NAMES = ("id", "zip", "age", "ill")
# Classes by zip code and classes by age show two illnesses each, and have one in common.
PLANTED = [
    (at, zip_code, age, ill)
    for at, (zip_code, age, ill) in enumerate(
        [
            (1, 40, "b"),
            (1, 60, "a"),
            (2, 20, "b"),
            (2, 60, "c"),
            (3, 20, "a"),
            (3, 40, "c"),
        ]
        * 3
    )
]
EARLIER = [(at, str(zip_code), "*", ill) for at, zip_code, _, ill in PLANTED]


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.table({name: [row[at] for row in rows] for at, name in enumerate(NAMES)})


def release(rows: list[tuple[Any, ...]], **more: Any) -> tclose.Release:
    """By age alone, unless something hinders it: zip codes are of no use."""
    rules = {**RULES, "search": {"weights": {"age": 5}}}
    return tclose.anonymize(table(rows), rules, effort=0.05, **more)


def groups_of(*releases: pa.Table) -> dict[Any, list[str]]:
    """The illnesses of people in the same classes of all releases, from the definition; whoever is
    not in a release has None there."""
    classes: dict[Any, list[Any]] = defaultdict(lambda: [None] * len(releases))
    ill = {}
    for at, each in enumerate(releases):
        for row in each.to_pylist():
            classes[row["id"]][at] = (row["zip"], row["age"])
            ill.setdefault(row["id"], row["ill"])
    groups: dict[Any, list[str]] = defaultdict(list)
    for person, found in classes.items():
        groups[tuple(found)].append(ill[person])
    return groups


def keeps(values: list[str], everybody: Counter[str], k: int, t: Fraction) -> bool:
    here, rows = Counter(values), everybody.total()
    off = sum(
        (abs(Fraction(here[v], len(values)) - Fraction(everybody[v], rows)) for v in everybody),
        Fraction(0),
    )
    return len(values) >= k and off / 2 <= t


def test_planted_cases_are_found_before_and_none_after() -> None:
    before = release(PLANTED)
    assert before.holds
    (found,) = tclose.attack(before.data, RULES, other=table(EARLIER), key="id").of("composition")
    assert found.affected == len(PLANTED)  # everybody's illness is certain
    assert tclose.compose(before.data, table(EARLIER), RULES, key="id").holds is False

    after = release(PLANTED, given=table(EARLIER), given_key="id")
    assert after.holds and after.audit.rows == len(PLANTED)
    (found,) = tclose.attack(after.data, RULES, other=table(EARLIER), key="id").of("composition")
    assert found.affected == 0
    assert found.numbers["rows in common groups below 2"] == 0
    assert tclose.compose(after.data, table(EARLIER), RULES, key="id").holds
    told = after.certificate.given
    assert told is not None and (told.groups, told.left_out) == (3, 0)
    assert "together with 1 earlier release" in after.notes[0]
    assert "together with 1 earlier release" in str(after.report(attacks=False))


ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(20, 24), st.sampled_from("xy")),
    min_size=8,
    max_size=20,
)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    drawn=ROWS,
    classes=st.lists(st.integers(0, 2), min_size=20, max_size=20),
    left=st.integers(0, 3),
)
def test_every_group_keeps_the_promise_by_the_definition(
    judged: Any, drawn: list[tuple[Any, ...]], classes: list[int], left: int
) -> None:
    rows = [(at, *row) for at, row in enumerate(drawn)]
    earlier = table([(at, str(classes[at]), "*", ill) for at, _, _, ill in rows])
    later = table(rows[left:])
    made = None
    with suppress(tclose.UsageError):  # nobody can be released
        made = tclose.anonymize(
            later, RULES, given=earlier, given_key="id", suppression=1, method="mondrian"
        )
    if not judged(made is not None, least=0.3):
        return
    assert made is not None
    everybody = Counter(made.data.column("ill").to_pylist())
    before = Counter(earlier.column("ill").to_pylist())
    whole = groups_of(earlier)
    for (first, second), values in groups_of(earlier, made.data).items():
        if second is None:  # gone or left out: nothing new, or as many as may be told apart
            same = len(values) == len(whole[(first,)])
            assert same or keeps(values, before, 2, Fraction(2, 5))
        else:
            assert keeps(values, everybody, 2, Fraction(2, 5))


def list_partitions(rows: list[int]) -> list[list[list[int]]]:
    """All ways to divide some rows into classes."""
    if not rows:
        return [[]]
    first, *rest = rows
    found = []
    for partition in list_partitions(rest):
        found.append([[first], *partition])
        for at, members in enumerate(partition):
            found.append([*partition[:at], [first, *members], *partition[at + 1 :]])
    return found


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.integers(0, 9), min_size=7, max_size=7),
    st.lists(st.booleans(), min_size=7, max_size=7),
    st.lists(st.sampled_from("xy"), min_size=7, max_size=7),
)
def test_the_least_loss_is_attained_within_earlier_groups(
    ages: list[int], earlier: list[bool], ills: list[str]
) -> None:
    everybody = Counter(ills)

    def loss(partition: list[list[int]]) -> int:
        wide = (max(ages[at] for at in m) - min(ages[at] for at in m) for m in partition)
        return sum(len(members) * width for members, width in zip(partition, wide, strict=True))

    def divide(members: list[int]) -> list[list[int]]:
        parts = [[at for at in members if earlier[at] is side] for side in (False, True)]
        return [part for part in parts if part]

    safe = [
        partition
        for partition in list_partitions(list(range(7)))
        if all(
            keeps([ills[at] for at in part], everybody, 2, Fraction(2, 5))
            for members in partition
            for part in divide(members)
        )
    ]
    within = [partition for partition in safe if all(len(divide(m)) == 1 for m in partition)]
    assert bool(safe) == bool(within)
    assert min(map(loss, safe), default=0) == min(map(loss, within), default=0)


def test_several_earlier_releases_are_kept_to_at_once() -> None:
    rows = [(at, at // 8, 20 + at % 8, "xy"[at % 2]) for at in range(32)]
    first = table([(at, str(zip_code), "*", ill) for at, zip_code, _, ill in rows])
    second = table([(at, "*", "old" if age > 23 else "young", ill) for at, _, age, ill in rows])
    made = tclose.anonymize(table(rows), RULES, given=[first, second], given_key="id", effort=0.2)
    assert tclose.compose(made.data, [first, second], RULES, key="id").holds
    assert len(groups_of(first, second, made.data)) >= 8


def test_who_left_is_not_told_by_who_stayed() -> None:
    rows = [(at, 1, 20 + at, "xy"[at % 2]) for at in range(8)]
    earlier = table([(at, "1", "low" if at < 4 else "high", ill) for at, _, _, ill in rows])
    later = table(rows[1:])  # one of the low ones left: the others of that class would name her
    with pytest.raises(tclose.UsageError, match=r"3 rows of 7 .* or those who left"):
        tclose.anonymize(later, RULES, given=earlier, given_key="id", effort=0.1)
    made = tclose.anonymize(
        later, RULES, given=earlier, given_key="id", effort=0.1, suppression=0.5
    )
    assert sorted(made.data.column("id").to_pylist()) == [4, 5, 6, 7]
    assert made.certificate.given is not None and made.certificate.given.left_out == 3


def test_people_who_came_are_a_group_of_their_own() -> None:
    rows = [(at, 1, 20 + at, "xy"[at % 2]) for at in range(9)]
    earlier = table([(at, "1", "*", ill) for at, _, _, ill in rows[:8]])
    with pytest.raises(tclose.UsageError, match="1 row of 9"):
        tclose.anonymize(table(rows), RULES, given=earlier, given_key="id", effort=0.1)
    more = [*rows, (9, 1, 29, "y")]
    made = tclose.anonymize(table(more), RULES, given=earlier, given_key="id", effort=0.1)
    assert made.audit.rows == 10


def test_pseudonyms_are_known_again_by_the_stewards_key() -> None:
    columns = {**RULES["columns"], "id": "identifier"}
    rules = {**RULES, "columns": columns, "release": {"identifiers": "pseudonym"}}
    raw = table(PLANTED)
    first = tclose.anonymize(raw, rules, key=b"the steward's", effort=0.1)
    again = tclose.anonymize(
        raw, rules, key=b"the steward's", given=first.data, given_key="id", effort=0.1, seed=9
    )
    assert tclose.compose(again.data, first.data, rules, key="id").holds
    with pytest.raises(tclose.DataError, match="no key occurs in both"):
        tclose.anonymize(raw, rules, given=first.data, given_key="id", effort=0.1)


@pytest.mark.parametrize("order", ["keep", "shuffle"])
def test_a_release_of_the_same_rows_needs_no_key(order: str) -> None:
    rules = {**RULES, "release": {"rows": order}}
    raw = table([(at, at % 5, 20 + at, "xy"[at % 2]) for at in range(24)])
    first = tclose.anonymize(raw, rules, effort=0.1)
    made = tclose.anonymize(raw, rules, given=first.data, effort=0.1, method="mondrian")
    assert tclose.compose(made.data, first.data, rules, key="id").holds
    strange = first.data.set_column(3, "ill", [first.data.column("ill").to_pylist()[::-1]])
    if order == "keep":
        with pytest.raises(tclose.UsageError, match="whose row is whose"):
            tclose.anonymize(raw.slice(1), rules, given=strange, effort=0.1)


def test_rows_that_may_be_shuffled_and_fit_two_classes_need_a_key() -> None:
    """Somebody in (a, y) may be in either class; that equal places fit may be by chance."""
    rules: dict[str, Any] = {"k": 3, "columns": {"zip": "quasi", "age": "quasi"}}
    raw = pa.table({"zip": list("a" * 25 + "b" * 15), "age": list("o" * 15 + "y" * 25)})
    earlier = pa.table({"zip": list("a" * 20 + "*" * 20), "age": list("*" * 20 + "y" * 20)})
    with pytest.raises(tclose.UsageError, match="whose row is whose"):
        tclose.anonymize(raw, rules, given=earlier, effort=0)
    kept = {**rules, "release": {"rows": "keep"}}
    assert tclose.anonymize(raw, kept, given=earlier, effort=0).holds


@pytest.mark.parametrize("method", ["mondrian", "optimal", "incognito", "hybrid"])
def test_methods_that_can_keep_groups_apart_do(method: str) -> None:
    rows = [(at, at % 3, 20 + at % 7, "xy"[at % 2]) for at in range(42)]
    earlier = table([(at, "abc"[at % 3], "*", ill) for at, _, _, ill in rows])
    made = tclose.anonymize(
        table(rows), RULES, given=earlier, given_key="id", method=method, effort=0.2
    )
    assert made.holds and tclose.compose(made.data, earlier, RULES, key="id").holds


@pytest.mark.parametrize(
    ("change", "more", "message"),
    [
        ({"release": {"leftover": "root"}}, {}, "rows that are left out"),
        ({}, {"method": "mdav"}, "cannot limit"),
        ({}, {"population": "population.csv"}, "population"),
        ({}, {"plan": "plan.json"}, "plan"),
        ({}, {"given": None}, "only with earlier releases"),
    ],
)
def test_what_cannot_be_promised_together_is_refused(
    change: dict[str, Any], more: dict[str, Any], message: str, elsewhere: Path
) -> None:
    asked = {"given": table(EARLIER), "given_key": "id", "effort": 0.1, **more}
    with pytest.raises(tclose.UsageError, match=message):
        tclose.anonymize(table(PLANTED), {**RULES, **change}, **asked)


def test_the_command_takes_earlier_releases(run: Callable[..., Any], elsewhere: Path) -> None:
    pa.csv.write_csv(table(PLANTED), "june.csv")
    pa.csv.write_csv(table(EARLIER), "may.csv")
    Path("policy.json").write_text(json.dumps(RULES))
    asked = ("june.csv", "-p", "policy.json", "-o", "out.csv", "--effort", "0.1")
    linked = ("--given", "may.csv", "--given-key", "id")
    made = run("anonymize", *asked, *linked, "--certificate", "c.json")
    assert made.exit_code == 0 and "1 earlier release" in " ".join(made.output.split())
    assert len(json.loads(Path("c.json").read_text())["given"]["releases"]) == 1
    assert run("compose", "out.csv", "may.csv", "-p", "policy.json", "--key", "id").exit_code == 0
    assert run("anonymize", *asked, "--force", "--given", "absent.csv").exit_code == 2
