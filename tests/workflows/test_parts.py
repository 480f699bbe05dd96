"""Tables whose cells are too many for one place: the same answers, part by part."""

from __future__ import annotations

import csv
import importlib
import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import Result

import tclose
from tclose import Reading
from tclose.data.opening import open_source
from tclose.data.summary import summarize_table
from tclose.errors import DataError, TooManyCells, UsageError
from tclose.policy.model import Policy
from tclose.search.curve import interleave_coordinates
from tclose.search.merging import merge_fragments
from tclose.verify.audit import audit_parts

pytestmark = pytest.mark.slow

SUMMARY = importlib.import_module("tclose.data.summary")
RULES: dict[str, Any] = {
    "k": 4,
    "columns": {
        "name": "identifier",
        "age": "quasi",
        "zip": {"role": "quasi", "hierarchy": {"prefix": [3, 2, 1, 0]}},
        "dose": "quasi",
        "town": "quasi",
        "ill": {"role": "sensitive", "t": 0.3, "distance": "equal"},
        "pay": {"role": "sensitive", "t": 0.25, "distance": "ordered"},
        "note": "insensitive",
    },
    "release": {"rows": "keep"},
}


def people(rows: int, seed: int = 1) -> pa.Table:
    """People whose illness depends on their age, with gaps."""
    chance = np.random.default_rng(seed)
    age = chance.integers(18, 90, rows)
    ill = np.minimum(4, (age / 30 + chance.random(rows) * 3).astype(int))
    return pa.table(
        {
            "name": [f"person {at}" for at in range(rows)],
            "age": pa.array(age, mask=chance.random(rows) < 0.02),
            "zip": [f"{code:03d}" for code in chance.integers(0, 40, rows)],
            "dose": chance.choice([1.5, 2.0, np.nan, -0.0, 0.0], rows),
            "town": chance.choice(["Ulm", "Köln", "Århus", None], rows),
            "ill": np.array(list("abcde"))[ill],
            "pay": chance.integers(1, 9, rows),
            "note": pa.array([[at] for at in range(rows)]),
        }
    )


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SUMMARY, "PART_ROWS", 60)


def lines(audit: tclose.Audit) -> list[dict[str, Any]]:
    return [one.to_json() for one in audit.requirements]


VALUES = st.lists(
    st.tuples(
        st.sampled_from(["x", "y", "z", None]),
        st.sampled_from([1.5, 2.0, float("nan"), 0.0, -0.0, None]),
        st.sampled_from("abc"),
        st.sampled_from([1, 2, 3, None]),
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=25, deadline=None)
@given(rows=VALUES, parts=st.integers(1, 5))
def test_an_audit_by_parts_is_the_audit(rows: list[tuple[Any, ...]], parts: int) -> None:
    first, second, ill, pay = zip(*rows, strict=True)
    table = pa.table(
        {
            "a": pa.array(first, pa.string()),
            "b": pa.array(second, pa.float64()),
            "ill": pa.array(ill),
            "pay": pa.array(pay, pa.int64()),
        }
    )
    rules = {
        "k": 2,
        "readings": ["separate", "cross"],
        "columns": {
            "a": "quasi",
            "b": "quasi",
            "ill": {"role": "sensitive", "t": 0.4, "l": {"distinct": 2, "entropy": 1.5}},
            "pay": {"role": "sensitive", "t": 0.2, "beta": {"basic": 2}, "delta": {"max": 1}},
        },
    }
    source = open_source(table)
    whole = summarize_table(Policy.model_validate(rules), source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SUMMARY, "PART_ROWS", max(1, len(rows) // parts))
        found = audit_parts(whole, source)
    known = tclose.audit(table, rules)
    assert lines(found) == lines(known)
    mine = {one.title: one.to_json() for one in found.measured}
    for one in known.measured:
        if one.reading != "joint":
            assert mine.pop(one.title) == one.to_json()
    assert not mine
    assert found.worst == known.worst
    for key in ("rows", "classes", "k", "holds", "counts"):
        assert getattr(found, key) == getattr(known, key)


def closeness(rows: list[tuple[str, ...]], quasi: int, at: int, order: list[str]) -> Fraction:
    """The largest distance of a class from the table, by definition (order []: equal)."""
    table = Counter(row[at] for row in rows)
    classes: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        classes.setdefault(row[:quasi], []).append(row[at])
    worst = Fraction(0)
    for members in classes.values():
        count = Counter(members)
        gaps = [
            Fraction(count[value], len(members)) - Fraction(table[value], len(rows))
            for value in (order or sorted(table))
        ]
        if order:
            moved = sum(abs(sum(gaps[: end + 1], Fraction(0))) for end in range(len(gaps) - 1))
            worst = max(worst, moved / (len(order) - 1))
        else:
            worst = max(worst, sum((abs(gap) for gap in gaps), Fraction(0)) / 2)
    return worst


@pytest.mark.parametrize("method", ["mondrian", "hybrid", "mondrian-relaxed"])
def test_a_release_in_fragments_keeps_the_promise_by_definition(
    small_parts: None, method: str
) -> None:
    table = people(700)
    release = tclose.anonymize(table, RULES, method=method, effort=2, reading=Reading(max_cells=90))
    content = release.certificate.to_json()
    assert content["fragments"] > 1 and content["method"] == f"{method}, in fragments"
    assert release.data.num_rows == 700 and release.left_out == 0
    assert release.data.column("note").equals(table.column("note"))
    assert release.data.column_names == [name for name in table.column_names if name != "name"]
    order = ["age", "zip", "dose", "town", "ill", "pay"]
    texts = [map(str, release.data.column(name).to_pylist()) for name in order]
    rows = list(zip(*texts, strict=True))
    assert min(Counter(row[:4] for row in rows).values()) >= 4
    assert closeness(rows, 4, 4, []) <= Fraction(3, 10)
    assert closeness(rows, 4, 5, [str(pay) for pay in range(1, 9)]) <= Fraction(1, 4)
    assert lines(tclose.verify(release.data, RULES)) == lines(release.audit)


def test_the_cells_of_a_row_are_inside_what_it_is_released_as(small_parts: None) -> None:
    table = people(400)
    release = tclose.anonymize(table, RULES, reading=Reading(max_cells=60))
    for age, released in zip(
        table.column("age").to_pylist(), release.data.column("age").to_pylist(), strict=True
    ):
        if released is not None and released != "*" and released.startswith("["):
            low, high = (int(end) for end in released[1:-1].split(", "))
            assert age is not None and low <= age <= high
    for raw, released in zip(
        table.column("zip").to_pylist(), release.data.column("zip").to_pylist(), strict=True
    ):
        assert all(mark in (own, "*") for own, mark in zip(raw, released, strict=True))


def test_the_same_release_whatever_the_order_of_rows(small_parts: None) -> None:
    table = people(500)
    turned = table.take(pa.array(np.random.default_rng(5).permutation(500)))
    made = [
        tclose.anonymize(one, RULES, reading=Reading(max_cells=80)).certificate.to_json()
        for one in (table, turned)
    ]
    assert made[0] == made[1]


def test_frames_and_files_come_out_as_they_went_in(small_parts: None, tmp_path: Path) -> None:
    table = people(300).drop_columns(["note"])
    rules = {"k": 4, "columns": {n: c for n, c in RULES["columns"].items() if n != "note"}}
    rules["release"] = {"rows": "keep"}
    frame = table.to_pandas().astype({"town": "category"}).set_index(pd.Index(range(7, 307)))
    reading = Reading(max_cells=50)
    made = tclose.anonymize(frame, rules, reading=reading).data
    assert isinstance(made, pd.DataFrame) and list(made.index) == list(range(300))
    assert made["pay"].dtype == frame["pay"].dtype
    pq.write_table(table, tmp_path / "in.parquet")
    out = tmp_path / "out.parquet"
    release = tclose.anonymize(
        tmp_path / "in.parquet", rules, output=out, certificate=tmp_path / "c.json", reading=reading
    )
    assert release.data is None and pq.read_table(out).num_rows == 300
    assert json.loads((tmp_path / "c.json").read_text()) == release.certificate.to_json()
    assert pq.read_table(out).column("age").to_pylist() == made["age"].to_list()
    assert not [one for one in tmp_path.iterdir() if one.name.startswith(".")]


def test_a_spreadsheet_can_be_written_in_parts(small_parts: None, tmp_path: Path) -> None:
    table = people(300).drop_columns(["note"])
    rules = RULES | {"columns": {n: c for n, c in RULES["columns"].items() if n != "note"}}
    out, reading = tmp_path / "out.xlsx", Reading(max_cells=50)
    release = tclose.anonymize(table, rules, output=out, method="mondrian", reading=reading)
    assert release.audit.in_parts and tclose.verify(out, rules).holds


def test_a_strict_promise_unites_fragments(small_parts: None) -> None:
    columns = {**RULES["columns"], "ill": {"role": "sensitive", "t": 0}}
    table = people(300)
    release = tclose.anonymize(table, {**RULES, "columns": columns}, reading=Reading(max_cells=40))
    assert release.classes == 1 and release.certificate.fragments == 1
    assert release.loss.overall == pytest.approx(1, abs=0.2)


def test_a_promise_that_nothing_keeps_is_refused(small_parts: None) -> None:
    with pytest.raises(UsageError, match="no release can keep"):
        tclose.anonymize(people(300), {**RULES, "k": 301}, reading=Reading(max_cells=40))


def counted(rows: int, seed: int = 3) -> pa.Table:
    """The same people, with weights, and with several rows for many of them."""
    chance, table = np.random.default_rng(seed), people(rows, seed)
    weight = chance.choice(["0.5", "1", "2.25", "3"], rows)
    who = [f"no {at}" for at in chance.integers(0, rows // 2, rows)]
    return table.append_column("weight", pa.array(weight)).append_column("who", pa.array(who))


COUNTING = [("weight", "weight"), ("who", "subject")]


def rules_by(column: str, role: str) -> dict[str, Any]:
    further = {"weight": "insensitive", "who": "insensitive", column: role}
    return {**RULES, "columns": {**RULES["columns"], **further}}


@pytest.mark.parametrize(("column", "role"), COUNTING)
def test_weights_and_persons_count_in_parts_as_in_one_piece(
    column: str, role: str, small_parts: None
) -> None:
    table, rules = counted(400), rules_by(column, role)
    known = tclose.audit(table, rules)
    found = tclose.audit(table, rules, reading=Reading(max_cells=50))
    assert found.in_parts
    assert lines(found) == lines(known)
    assert lines(found) != lines(tclose.audit(table, rules_by(column, "insensitive")))
    for key in ("rows", "classes", "k", "holds", "counts", "worst"):
        assert getattr(found, key) == getattr(known, key)


@pytest.mark.parametrize(("column", "role"), COUNTING)
def test_a_release_in_fragments_counts_weights_and_persons(
    column: str, role: str, small_parts: None, tmp_path: Path
) -> None:
    rules, place, target = rules_by(column, role), tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(counted(600).drop_columns(["note"]), place)
    rules["columns"].pop("note")
    few = Reading(max_cells=150)
    hashes = set()
    for _ in range(2):
        release = tclose.anonymize(
            place, rules, output=target, method="mondrian", reading=few, key=b"a key"
        )
        hashes.add(target.read_bytes())
    assert len(hashes) == 1
    assert release.audit.in_parts
    assert release.holds
    assert 0 < release.loss.overall < 1
    whole = tclose.verify(target, rules)
    assert whole.holds
    assert not whole.in_parts
    assert pq.read_table(target).num_rows == 600
    if role == "subject":  # by definition: no class has fewer persons than promised
        made = pq.read_table(target).to_pandas()
        quasi = ["age", "zip", "dose", "town"]
        assert made.groupby(quasi, dropna=False)["who"].nunique().min() >= 4
        assert not set(made["who"]) & set(counted(600).column("who").to_pylist())


def test_rows_of_nobody_are_refused_in_parts(small_parts: None) -> None:
    table = counted(200)
    at = table.column_names.index("who")
    table = table.set_column(at, "who", pa.array([None, *table.column("who").to_pylist()[1:]]))
    with pytest.raises(DataError, match="1 row has no person in the subject column"):
        tclose.audit(table, rules_by("who", "subject"), reading=Reading(max_cells=50))


def test_a_promise_to_persons_that_nothing_keeps_is_refused(small_parts: None) -> None:
    rules = {**rules_by("who", "subject"), "k": 290}
    with pytest.raises(UsageError, match="no release can keep this promise"):
        tclose.anonymize(counted(300), rules, reading=Reading(max_cells=50))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"joint": [{"columns": ["ill", "pay"], "t": 0.5}]}, "joint.*: no column tells by itself"),
        (
            {"columns": {"pay": {"role": "sensitive", "t": 0.2, "n": 9}}},
            r"\(n,t\).*: what a class is close to is made of classes in several parts",
        ),
        (
            {"columns": {"age": {"role": "quasi", "missing": "any"}}},
            "any.*: such rows belong to classes of several parts",
        ),
        ({"columns": {"pay": "count"}}, "count column.*: a record would stand for many rows"),
        ({"release": {"leftover": "root"}}, "left out.*change the distribution"),
        ({"search": {"suppression": 0.05}}, "left out.*change the distribution"),
        ({"search": {"method": "optimal"}}, "one place"),
    ],
)
def test_what_needs_all_cells_is_refused(change: dict[str, Any], told: str) -> None:
    columns = {**RULES["columns"], **change.pop("columns", {})}
    with pytest.raises(UsageError, match=told):
        tclose.anonymize(
            people(300), {**RULES, **change, "columns": columns}, reading=Reading(max_cells=40)
        )


def test_there_is_no_plan_and_no_report(small_parts: None, tmp_path: Path) -> None:
    reading = Reading(max_cells=40)
    with pytest.raises(UsageError, match="without a plan"):
        tclose.anonymize(people(300), RULES, plan=tmp_path / "plan.json", reading=reading)
    release = tclose.anonymize(people(300), RULES, reading=reading)
    with pytest.raises(UsageError, match="fragments"):
        release.report()
    with pytest.raises(UsageError, match="part by part"):
        tclose.audit_report(tclose.audit(people(300), RULES, reading=reading))
    assert not (tmp_path / "plan.json").exists()


def test_a_column_with_too_many_values_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("tclose.data.source"), "VALUES", 20)
    with pytest.raises(TooManyCells, match="more than 20 "):
        tclose.audit(people(300), RULES, reading=Reading(max_cells=20))


def test_the_commands_go_on_part_by_part(
    small_parts: None, run: Callable[..., Result], tmp_path: Path
) -> None:
    table = people(300).drop_columns(["note"])
    with (tmp_path / "in.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table.column_names)
        writer.writerows(zip(*(one.to_pylist() for one in table.columns), strict=True))
    rules = {"k": 4, "columns": {n: c for n, c in RULES["columns"].items() if n != "note"}}
    (tmp_path / "p.json").write_text(json.dumps(rules))
    files = [tmp_path / "in.csv", "-p", tmp_path / "p.json"]
    found = run("audit", *files, "--cells", "60", "--json")
    assert found.exit_code == 1, found.output
    known = run("audit", *files, "--json")
    assert json.loads(found.stdout)["requirements"] == json.loads(known.stdout)["requirements"]
    made = run(
        "anonymize", *files, "-o", tmp_path / "out.csv", "--certificate", tmp_path / "c.json",
        "--cells", "60",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    for more in ([], ["--cells", "60"]):
        checked = run(
            "verify", tmp_path / "out.csv", "--certificate", tmp_path / "c.json", "--json", *more
        )
        assert checked.exit_code == 0, checked.output


def test_neighbours_on_the_curve_differ_in_one_step() -> None:
    side = np.arange(4)
    across, up = (one.ravel() for one in np.meshgrid(side, side))
    order = interleave_coordinates([across, up])
    assert sorted(order.tolist()) == list(range(16))
    quarter = {
        (int(x) // 2, int(y) // 2) for x, y, at in zip(across, up, order, strict=True) if at < 4
    }
    assert quarter == {(0, 0)}


@given(sizes=st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_united_fragments_do_not_fail(sizes: list[int]) -> None:
    rows = np.array(sizes)
    if rows.sum() < 4:
        with pytest.raises(tclose.UsageError, match="even the whole table as one class"):
            merge_fragments(len(rows), lambda label: np.bincount(label, rows) < 4)
        return
    label = merge_fragments(len(rows), lambda label: np.bincount(label, rows) < 4)
    assert (np.diff(label) >= 0).all() and label[0] == 0 and (np.diff(label) <= 1).all()
    assert label.max() == 0 or (np.bincount(label, rows) >= 4).all()
