"""A plan's cuts send new rows where the search would have, told from the plan's JSON alone."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tclose
from tclose.errors import UsageError
from tclose.recode.plan import Plan

pytestmark = pytest.mark.slow

Row = dict[str, Any]
KEPT = (3, 1, 0)
RULES: dict[str, Any] = {
    "k": 2,
    "columns": {
        "row": "insensitive",
        "n": "quasi",
        "c": "quasi",
        "z": {"role": "quasi", "hierarchy": {"prefix": list(KEPT)}},
        "s": {"role": "sensitive", "t": "1/2", "distance": "equal"},
    },
}


quick = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    phases=[Phase.generate],  # shrinking a whole release would take minutes
)


@st.composite
def tables(draw: Callable[[Any], Any], low: int, high: int, categories: str) -> list[Row]:
    count = draw(st.integers(6, 30))
    gaps = draw(st.booleans())
    number = st.integers(low, high).map(lambda n: 3 * n)
    number = st.one_of(number, number, number, st.none()) if gaps else number
    zips = st.tuples(*[st.sampled_from("13")] * 2, st.sampled_from("137")).map("".join)
    return [
        {
            "row": at,
            "n": draw(number),
            "c": draw(st.sampled_from(categories)),
            "z": draw(zips) + "0",
            "s": draw(st.sampled_from("uv")),
        }
        for at in range(count)
    ]


def as_table(rows: list[Row]) -> pa.Table:
    kinds = {"row": pa.int64(), "n": pa.int64()}
    return pa.table({
        name: pa.array([row[name] for row in rows], kinds.get(name, pa.string()))
        for name in rows[0]
    })  # fmt: skip


def ends(label: str) -> tuple[Fraction, Fraction]:
    low, high = label[1:-1].split(", ") if label[0] == "[" else (label, label)
    return Fraction(low), Fraction(high)


def members(label: str | None) -> set[str]:
    if label is None:
        return set()
    return set(label[1:-1].split(", ")) if label[0] == "{" else {label}


def holds(column: str, label: str | None, value: Any) -> bool:
    """Whether a released value is true of a raw one."""
    if label == "*":
        return True
    if label is None or value is None:
        return label is None and value is None
    if column == "n":
        low, high = ends(label)
        return low <= value <= high
    if column == "c":
        return value in members(label)
    return value.startswith(label.rstrip("*"))


def common(labels: list[str | None]) -> str:
    """The label of the smallest prefix group that all labels lie in."""
    stems = [str(label).rstrip("*") for label in labels]
    for keep in (4, *KEPT[:-1]):
        if all(len(stem) >= keep for stem in stems) and len({s[:keep] for s in stems}) == 1:
            return stems[0][:keep] + "*" * (4 - keep)
    return "*"


def in_domain(column: str, labels: list[str | None], value: Any) -> bool:
    """Whether a value lies in the hull of all that was released."""
    if value is None:
        return any(label is None or label == "*" for label in labels)
    told = [label for label in labels if label is not None and label != "*"]
    if column == "n":
        sides = [end for label in told for end in ends(label)]
        return not sides or min(sides) <= value <= max(sides)
    if column == "c":
        return any(value in members(label) for label in labels)
    return not told or "*" in labels or holds("z", common(list(told)), value)


def goes_left(column: str, border: list[Any], value: Any) -> bool:
    if value is None:
        return False
    if column == "n":
        told = [Fraction(one) for one in border if one is not None]
        return not told or value <= sum(told, Fraction(0)) / len(told)
    if column == "c":
        return value in border
    stem = border[0].rstrip("*")
    return bool(value[: len(stem)] <= stem)


def reached(plan: dict[str, Any], row: Row) -> int:
    step = plan["cuts"][0]
    while "class" not in step:
        left = goes_left(step["column"], step["border"], row[step["column"]])
        step = plan["cuts"][step["left" if left else "right"]]
    return int(step["class"])


def share(rows: list[Row], value: str) -> Fraction:
    return Fraction(sum(row["s"] == value for row in rows), len(rows))


def keeps(mine: list[Row], everyone: list[Row]) -> bool:
    far = sum(abs(share(mine, v) - share(everyone, v)) for v in "uv") / 2
    return len(mine) >= 2 and far <= Fraction(1, 2)


@settings(quick, max_examples=50)
@given(tables(0, 20, "abc"), tables(-2, 22, "abcd"))
def test_new_rows_go_the_way_of_the_cuts(judged: Any, old: list[Row], new: list[Row]) -> None:
    release = tclose.anonymize(as_table(old), RULES, method="mondrian")
    told = json.loads(json.dumps(release.plan.to_json()))
    labels = {one["column"]: one["values"] for one in told["columns"]}
    home: dict[int, int] = {}
    for row in new:
        at = reached(told, row)
        if all(
            holds(name, labels[name][at], row[name]) or in_domain(name, labels[name], row[name])
            for name in "ncz"
        ):
            home[row["row"]] = at
    try:
        applied = tclose.apply(Plan.from_json(told), as_table(new))
    except UsageError:
        judged(False, least=0.5)
        return
    judged(True, least=0.5)
    assert applied.applied is not None and applied.applied.way == "cuts"
    assert applied.outside == len(new) - len(home)
    assert applied.left_out == applied.outside + applied.applied.held_back
    released = applied.data.to_pylist()
    by_class: dict[int, list[Row]] = defaultdict(list)
    for row in released:
        by_class[home[row["row"]]].append(row)
    widened = 0
    for at, mine in by_class.items():
        assert {at} == {home[row["row"]] for row in mine}
        raw = [new[row["row"]] for row in mine]
        changed = False
        for name in "ncz":
            (label,) = {row[name] for row in mine}
            assert all(holds(name, label, row[name]) for row in raw)
            assert label == widest(name, labels[name][at], [row[name] for row in raw])
            changed |= label != labels[name][at]
        widened += changed
    assert widened == applied.applied.widened
    seen: dict[tuple, list[Row]] = defaultdict(list)
    for row in released:
        seen[tuple(row[name] for name in "ncz")].append(row)
    assert all(keeps(mine, released) for mine in seen.values())


def widest(column: str, label: str | None, values: list[Any]) -> str | None:
    """The least that covers a released value and some raw ones."""
    fresh = [value for value in values if not holds(column, label, value)]
    if not fresh:
        return label
    gap = label is None or None in fresh
    if column == "c":
        both = sorted(members(label) | set(fresh))
        return both[0] if len(both) == 1 else "{" + ", ".join(both) + "}"
    if gap:
        return "*"
    if column == "n":
        sides = [*ends(str(label)), *fresh]
        return f"[{min(sides)}, {max(sides)}]"
    return common([label, *fresh])


@settings(quick, max_examples=20)
@given(tables(0, 20, "abc"))
def test_borders_tell_no_more_numbers_and_categories_than_the_classes_do(old: list[Row]) -> None:
    plan = tclose.anonymize(as_table(old), RULES, method="mondrian").plan.to_json()
    shown = {one["column"]: set() for one in plan["columns"]}
    for one in plan["columns"]:
        for label in one["values"]:
            if label is not None and label != "*":
                parts = ends(label) if one["column"] == "n" else members(label)
                shown[one["column"]] |= {str(part) for part in parts}
    for step in plan["cuts"]:
        if step.get("column") in ("n", "c"):
            assert {one for one in step["border"] if one is not None} <= shown[step["column"]]


def test_a_value_in_a_gap_goes_to_the_nearer_class_and_widens_it() -> None:
    old = pa.table({"n": [1, 2, 3, 11, 12, 13], "s": list("uvuvuv")})
    rules = {"k": 3, "columns": {"n": "quasi", "s": {"role": "sensitive", "t": "1/2"}}}
    rules["release"] = {"rows": "keep"}
    plan = tclose.anonymize(old, rules, method="mondrian").plan
    assert [one.values for one in plan.columns] == [("[1, 3]", "[11, 13]")]
    new = pa.table({"n": [1, 2, 6, 8, 12, 13, 0, 14], "s": list("uvuvuvuv")})
    applied = tclose.apply(plan, new)
    assert applied.data.column("n").to_pylist() == ["[1, 6]"] * 3 + ["[8, 13]"] * 3
    assert applied.applied is not None
    assert (applied.outside, applied.applied.widened, applied.applied.held_back) == (2, 2, 0)


def test_plans_of_the_first_format_are_still_read() -> None:
    old = pa.table({"n": [1, 2, 3, 11, 12, 13], "s": list("uvuvuv")})
    rules = {"k": 3, "columns": {"n": "quasi", "s": {"role": "sensitive", "t": "1/2"}}}
    rules["release"] = {"rows": "keep"}
    raw = tclose.anonymize(old, rules, method="mondrian").plan.to_json()
    for key in ("cuts", "levels", "hierarchies"):
        raw.pop(key, None)
    plan = Plan.from_json(raw | {"tclose_plan": 1})
    assert plan.way == "classes"
    assert tclose.apply(plan, old).data.column("n").to_pylist() == ["[1, 3]"] * 3 + ["[11, 13]"] * 3
