"""Rows that a search leaves out: at the root, hidden or generalized; the promise still holds."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from typer.testing import Result

import tclose
from tclose.data.engines.frames.release import update_frame
from tclose.errors import PolicyError, UsageError
from tclose.recode.recoding import recode_outcome
from tclose.search import Budget, Outcome
from tclose.search.problem import number_classes
from tclose.workflows.inputs import AS_FOUND
from tclose.workflows.release.publish import Job, Targets, confirm, publish
from tclose.workflows.release.task import SearchTask

pytestmark = pytest.mark.slow

GROUPS = {"lung": ["flu", "cough"], "stomach": ["ulcer", "gastritis"], "heart": ["attack"]}
ABOVE = {leaf: group for group, leaves in GROUPS.items() for leaf in leaves}
QUASI = ("n", "c")
Row = dict[str, Any]


def rules(leftover: str, **more: Any) -> dict[str, Any]:
    ill = {"role": "sensitive", "hierarchy": {"groups": GROUPS}, "t": "2/5", **more}
    columns = {"row": "insensitive", "n": "quasi", "c": "quasi", "ill": ill}
    return {"k": 2, "columns": columns, "release": {"leftover": leftover}}


def way_up(label: str | None) -> list[tuple[str, int]]:
    """The nodes above a released value, each with its height; a group hangs below itself."""
    if label is None:
        return [("(missing)", 0), ("*", 2)]
    if label in ABOVE:
        return [(label, 0), (ABOVE[label], 1), ("*", 2)]
    if label in GROUPS:
        return [(f"{label}'", 0), (label, 1), ("*", 2)]
    return [("*'", 0), ("*", 2)]


def distance(mine: list, everyone: list) -> Fraction:
    below: dict[str, Fraction] = defaultdict(Fraction)
    length: dict[str, Fraction] = {}
    for values, sign in ((mine, 1), (everyone, -1)):
        for value in values:
            chain = way_up(value)
            for (node, low), (_, high) in pairwise(chain):
                below[node] += Fraction(sign, len(values))
                length[node] = Fraction(high - low, 4)
    return sum((length[node] * abs(mass) for node, mass in below.items()), Fraction(0))


def broken(released: list[Row]) -> list:
    classes: dict[tuple, list] = defaultdict(list)
    for row in released:
        classes[tuple(row[name] for name in QUASI)].append(row["ill"])
    everyone = [row["ill"] for row in released]
    return [
        (key, len(ills)) for key, ills in classes.items()
        if len(ills) < 2 or distance(ills, everyone) > Fraction(2, 5)
    ]  # fmt: skip


def true_of(label: str, value: Any) -> bool:
    if label in ("*", str(value)):
        return True
    inside = label[1:-1].split(", ")
    if label[0] == "[":
        return int(inside[0]) <= value <= int(inside[1])
    return label[0] == "{" and value in inside


@st.composite
def tables(draw: Callable[[Any], Any]) -> list[Row]:
    count = draw(st.integers(6, 40))
    return [
        {
            "row": at,
            "n": draw(st.integers(0, 30)),
            "c": draw(st.sampled_from("pqr")),
            "ill": draw(st.sampled_from(list(ABOVE))),
        }
        for at in range(count)
    ]


def published(rows: list[Row], leftover: str, gone: list[int], **more: Any) -> Any:
    """A release of a Mondrian search, out of which some cells are then left."""
    table = pa.table({name: [row[name] for row in rows] for name in rows[0]})
    bound = tclose.check(table, rules(leftover, **more))
    task = SearchTask.of(bound, None, "mondrian", Budget(seconds=5.0))
    outcome = task.search()
    label = outcome.label.copy()
    label[[cell for cell in gone if cell < len(label)]] = -1
    if not (label >= 0).any():
        return None
    label = number_classes(label)
    job = Job(table, AS_FOUND, bound.source, bound.policy, Targets())
    without = replace(outcome, label=label, cuts=None)
    recoding = recode_outcome(bound, without)
    draft = task.draft(job.pseudonyms, without, recoding)
    return confirm(publish(job, draft))


@pytest.mark.parametrize("leftover", ["root", "hide", "generalize"])
@settings(
    max_examples=25, deadline=None, phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(rows=tables(), gone=st.lists(st.integers(0, 39), min_size=1, max_size=6))
def test_rows_left_over_are_released_as_asked(
    leftover: str, rows: list[Row], gone: list[int], judged: Any
) -> None:
    try:
        release = published(rows, leftover, gone)
    except (UsageError, tclose.errors.InternalError):
        release = None  # the rows that are kept break the promise by themselves
    if not judged(release is not None, least=0.3):
        return
    told, released = release.leftover, release.data.to_pylist()
    assert broken(released) == []
    assert len(released) + release.left_out == len(rows) and release.left_out == told.dropped
    assert bool(told.reason) == bool(told.dropped)
    changed = 0
    for row in released:
        was = rows[row["row"]]
        assert all(true_of(row[name], was[name]) for name in QUASI)
        if row["ill"] != was["ill"]:
            changed += 1
            assert leftover == "hide" or row["ill"] in (ABOVE[was["ill"]], "*")
            assert leftover != "hide" or row["ill"] is None
    at_root = sum(all(row[name] == "*" for name in QUASI) for row in released)
    assert told.rooted == at_root
    assert told.hidden + told.generalized == changed
    assert (told.rooted == 0) or leftover == "root"
    content = release.certificate.leftover
    assert content.asked == leftover and content.dropped == told.dropped
    assert all(sum(part.values()) == told.released for part in content.parts.values())


def test_a_hidden_value_is_counted_as_missing_and_kept_in_its_type() -> None:
    rows = [{"row": at, "n": at % 4, "c": "p", "ill": list(ABOVE)[at % 5]} for at in range(40)]
    release = published(rows, "hide", [0])
    assert release.leftover.hidden > 0 and release.left_out == 0
    assert release.data.schema.field("ill").type == pa.string()
    assert release.data.column("ill").null_count == release.leftover.hidden
    assert release.holds and release.audit.rows == 40


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_hidden_values_of_a_frame_leave_the_others_as_they_are(kind: str) -> None:
    frame: Any = pa.table({"q": [1, 2, 3], "s": [7, 8, 9], "d": ["x", "y", "z"]})
    if kind == "pandas":
        frame = frame.to_pandas().set_index("q", drop=False)
    elif kind == "polars":
        frame = pytest.importorskip("polars").from_arrow(frame)
    hidden = {"s": np.array([True, False]), "d": np.array([False, True])}
    after = update_frame(frame, np.array([2, 0]), {"q": ["*", "*"]}, ["q", "s", "d"], hidden)
    assert type(after) is type(frame)
    rows = pa.Table.from_pandas(after, preserve_index=False) if kind == "pandas" else after
    rows = rows.to_arrow() if kind == "polars" else rows
    assert rows.to_pylist() == [
        {"q": "*", "s": None, "d": "z"},
        {"q": "*", "s": 7, "d": None},
    ]


@pytest.mark.parametrize(
    ("leftover", "more", "says"),
    [
        ("hide", {"missing": "forbid"}, "forbids"),
        ("generalize", {"distance": "ordered", "order": list(ABOVE)}, "generalize"),
        ("generalize", {"distance": {"matrix": "d.csv"}}, "knows groups"),
    ],
)
def test_policies_that_contradict_what_is_left_over_are_refused(
    leftover: str, more: dict[str, Any], says: str
) -> None:
    table = pa.table({"row": [1, 2], "n": [1, 2], "c": ["p", "q"], "ill": ["flu", "cough"]})
    with pytest.raises(PolicyError, match=says):
        tclose.anonymize(table, rules(leftover, **more))


def test_a_generalized_value_that_may_be_any_is_judged_as_the_worst() -> None:
    ills = ["flu", "cough", "ulcer", "attack", "lung", "lung"]
    table = pa.table({"n": [1, 1, 2, 2, 1, 2], "ill": ills})
    told = {}
    for missing in ("value", "any"):
        ill = {"role": "sensitive", "hierarchy": {"groups": GROUPS}, "t": 1, "missing": missing}
        audit = tclose.audit(table, {"columns": {"n": "quasi", "ill": ill}})
        told[missing] = next(v for v in audit.requirements if v.requirement == "t-closeness")
    everyone = [ill for ill in ills if ill != "lung"]
    worst = max(
        distance([*mine, guess], everyone)
        for mine in (["flu", "cough"], ["ulcer", "attack"])
        for guess in everyone
    )
    assert told["any"].achieved_exact == worst
    assert told["value"].achieved_exact == max(
        distance([*mine, "lung"], ills) for mine in (["flu", "cough"], ["ulcer", "attack"])
    )


def outliers(folder: Path) -> None:
    """Plain rows, and a few that are unlike all others."""
    ills = list(ABOVE)
    lines = ["row,n,c,ill"]
    lines += [f"{at},{at % 20},{'pq'[at % 2]},{ills[at * 7 % 5]}" for at in range(200)]
    lines += [f"{200 + at},{1000 * (at + 1)},r,flu" for at in range(6)]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("leftover", ["drop", "root", "hide", "generalize"])
def test_the_command_releases_what_is_left_over(
    run: Callable[..., Result], elsewhere: Path, leftover: str
) -> None:
    outliers(elsewhere)
    policy = rules(leftover) | {"k": 4}
    Path("policy.json").write_text(json.dumps(policy))
    result = run(
        "anonymize", "table.csv", "--policy", "policy.json", "-o", "out.csv", "--certificate",
        "c.json", "--effort", "0.2", "--suppression", "0.05", "--method", "hybrid", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stdout
    told = json.loads(result.stdout)
    with Path("out.csv").open(newline="") as file:
        released = [{k: v or None for k, v in row.items()} for row in csv.DictReader(file)]
    assert len(released) == told["rows"] == 206 - told["left_out"]
    counts: Mapping[str, Any] = told.get("leftover", {})
    assert (counts == {}) == (leftover == "drop")
    if counts:
        assert counts["asked"] == leftover and counts["dropped"] == told["left_out"]
        assert counts["hidden"] == sum(row["ill"] is None for row in released)
        at_root = sum(row["n"] == row["c"] == "*" for row in released)
        assert counts["rooted"] == (at_root if leftover == "root" else 0)
    assert run("verify", "out.csv", "--certificate", "c.json").exit_code == 0


def test_the_outcome_is_not_asked_twice() -> None:
    """A search that leaves nothing out has nothing left over."""
    rows = [{"row": at, "n": at % 4, "c": "p", "ill": list(ABOVE)[at % 5]} for at in range(20)]
    release = published(rows, "root", [])
    assert isinstance(release.outcome, Outcome) and not np.any(release.outcome.label < 0)
    assert release.leftover.released == release.leftover.dropped == release.left_out == 0
