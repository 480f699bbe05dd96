"""A release together with earlier ones: groups of people who are in the same classes of all."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose

RULES: dict[str, Any] = {
    "k": 2,
    "columns": {
        "zip": "quasi",
        "age": "quasi",
        "ill": {"role": "sensitive", "distance": "equal", "t": 0.5},
    },
    "release": {"rows": "keep"},
}
PLANTED = ["flu", "ulcer", "ulcer", "flu"] * 2
MAY = pa.table({"zip": list("aabbccdd"), "age": ["*"] * 8, "ill": PLANTED})
JUNE = pa.table({"zip": ["*"] * 8, "age": list("12211221"), "ill": PLANTED})


def test_two_safe_releases_give_somebody_away_together() -> None:
    assert tclose.audit(MAY, RULES).holds and tclose.audit(JUNE, RULES).holds
    together = tclose.compose(JUNE, MAY, RULES)
    assert together.holds is False and together.k == 1
    assert together.classes == 8
    (found,) = tclose.attack(JUNE, RULES, other=MAY).of("composition")
    assert found.numbers["rows in common groups below 2"] == 8


def test_the_same_classes_again_give_nothing_more_away() -> None:
    again = tclose.compose(MAY, MAY, RULES)
    alone = tclose.audit(MAY, RULES)
    assert again.holds and again.k == alone.k
    assert [v.achieved_exact for v in again.requirements] == [
        v.achieved_exact for v in alone.requirements
    ]


def test_a_release_by_the_plan_of_the_first_stays_safe() -> None:
    ages = [20 + n for n in range(24)]
    raw = pa.table({"age": ages, "ill": [["flu", "ulcer"][n % 2] for n in range(24)]})
    policy = {"k": 3, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0.3}}}
    first = tclose.anonymize(raw, policy, method="mondrian")
    again = tclose.apply(first.plan, raw)
    assert tclose.compose(again.data, first.data, policy).holds


def attain(groups: dict[Any, list[str]], everybody: list[str]) -> tuple[int, Fraction]:
    """k and the largest equal distance, from the definition."""
    table, farthest = Counter(everybody), Fraction(0)
    for values in groups.values():
        here = Counter(values)
        off = [
            abs(Fraction(here[v], len(values)) - Fraction(table[v], len(everybody))) for v in table
        ]
        farthest = max(farthest, sum(off, Fraction(0)) / 2)
    return min(map(len, groups.values())), farthest


ROWS = st.lists(
    st.tuples(*[st.sampled_from("ab")] * 3, st.sampled_from("xyz")), min_size=1, max_size=12
)


@settings(max_examples=25, deadline=None)
@given(ROWS)
def test_groups_are_those_of_the_definition(rows: list[tuple[str, ...]]) -> None:
    releases = [
        pa.table(
            {"zip": [r[at] for r in rows], "age": ["*"] * len(rows), "ill": [r[3] for r in rows]}
        )
        for at in range(3)
    ]
    groups: dict[Any, list[str]] = defaultdict(list)
    for row in rows:
        groups[row[:3]].append(row[3])
    k, farthest = attain(groups, [row[3] for row in rows])
    found = tclose.compose(releases[0], releases[1:], RULES)
    assert found.k == k and found.classes == len(groups)
    assert found.requirements[1].achieved_exact == farthest


def test_people_who_came_or_went_are_told_apart_by_a_key() -> None:
    policy = {**RULES, "columns": {**RULES["columns"], "id": "insensitive"}}
    may = pa.table({"id": [1, 2, 3, 4], "zip": ["a"] * 4, "age": ["*"] * 4, "ill": list("xyxy")})
    june = pa.table({"id": [3, 4, 5], "zip": ["a"] * 3, "age": ["*"] * 3, "ill": list("xyx")})
    found = tclose.compose(june, may, policy, key="id")
    assert (found.classes, found.k) == (2, 1)  # 5 is new, and alone in that
    with pytest.raises(tclose.UsageError, match="whose row is whose"):
        tclose.compose(june, may, policy)


def test_shuffled_rows_and_counted_rows_are_refused() -> None:
    with pytest.raises(tclose.DataError, match="shuffled"):
        tclose.compose(JUNE, MAY.take([1, 0, 2, 3, 4, 5, 6, 7]), RULES)
    counted = {**RULES, "columns": {**RULES["columns"], "n": "count"}}
    table = MAY.append_column("n", pa.array([1] * 8))
    with pytest.raises(tclose.UsageError, match="row by row"):
        tclose.compose(table, table, counted)


def test_releases_that_may_be_shuffled_are_not_linked_by_their_order() -> None:
    """Two classes of 20 in each release, with one person of their own in two intersections."""
    columns = {"zip": "quasi", "age": "quasi", "id": "insensitive"}
    rules: dict[str, Any] = {"k": 3, "columns": columns}
    number = list(range(40))
    zips = pa.table({"zip": ["ab"[at // 20] for at in number], "age": ["*"] * 40, "id": number})
    ages = ["yo"[(at < 19) + (at == 20) == 0] for at in number]
    other = pa.table({"zip": ["*"] * 40, "age": ages, "id": number})
    bare = {"k": 3, "columns": {"zip": "quasi", "age": "quasi"}}
    shuffled = [
        tclose.anonymize(table.drop_columns("id"), bare, effort=0).data for table in (zips, other)
    ]
    with pytest.raises(tclose.UsageError, match="shuffled"):
        tclose.compose(*shuffled, bare)
    with pytest.raises(tclose.UsageError, match="shuffled"):
        tclose.attack(shuffled[0], bare, other=shuffled[1])
    assert tclose.compose(shuffled[0], shuffled[0], bare).k == 20
    assert tclose.compose(zips, other, rules, key="id").k == 1
    assert tclose.compose(zips, other, {**rules, "release": {"rows": "keep"}}).k == 1


def test_the_command_ends_with_the_verdict(run: Callable[..., Any], elsewhere: Path) -> None:
    pa.csv.write_csv(MAY, "may.csv")
    pa.csv.write_csv(JUNE, "june.csv")
    Path("policy.toml").write_text(
        'k = 2\n[columns]\nzip = "quasi"\nage = "quasi"\n'
        'ill = { role = "sensitive", distance = "equal", t = 0.5 }\n[release]\nrows = "keep"\n'
    )
    result = run("compose", "june.csv", "may.csv", "--policy", "policy.toml")
    assert result.exit_code == 1 and "together in 2 releases" in result.output
    assert run("compose", "may.csv", "may.csv", "may.csv", "-p", "policy.toml").exit_code == 0
    assert run("compose", "june.csv", "absent.csv", "-p", "policy.toml").exit_code == 2
