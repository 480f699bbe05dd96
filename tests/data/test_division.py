"""Rows with equal values may be in several classes: nothing else about a release changes by it."""

from __future__ import annotations

import csv
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tclose
from random_tables import Case, suited
from tclose.data import division
from tclose.data.binding import BoundTable
from tclose.data.division import COLUMN, choose_most_equal, divide_equal_rows
from tclose.errors import UsageError
from tclose.search import METHODS, Budget, problem_of

ILL = {"role": "sensitive", "distance": "equal", "t": "0.1"}
RULES: dict[str, Any] = {
    "k": 5,
    "columns": {"name": "identifier", "home": "quasi", "ill": ILL, "note": "insensitive"},
    "search": {"effort": 0.1, "method": "hybrid"},
}


def draw_table(seed: int = 1, rows: int = 1_200) -> pa.Table:
    """Few homes, each with illnesses of its own."""
    random = np.random.default_rng(seed)
    home = random.integers(0, 5, rows)
    ill = np.where(random.random(rows) < 0.3, home % 3, random.integers(0, 3, rows))
    return pa.table({
        "name": [f"person {at}" for at in range(rows)],
        "home": np.array(["north", "south", "east", "west", "hill"])[home],
        "ill": np.array(["ache", "burn", "cold"])[ill],
        "note": random.integers(0, 400, rows),
    })  # fmt: skip


def list_rows(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def judge(raw: list[dict[str, Any]], released: list[dict[str, Any]]) -> tuple[int, Fraction]:
    """The smallest class, and the largest distance of one from the table, by the definitions."""
    whole = Counter(row["ill"] for row in raw)
    sizes = Counter(row["home"] for row in released)
    farthest = Fraction(0)
    for home, size in sizes.items():
        here = Counter(row["ill"] for row in released if row["home"] == home)
        apart = [
            abs(Fraction(here[value], size) - Fraction(count, len(raw)))
            for value, count in whole.items()
        ]
        farthest = max(farthest, sum(apart, Fraction(0)) / 2)
    return min(sizes.values()), farthest


@settings(max_examples=60, deadline=None)
@given(counts=st.lists(st.integers(1, 90), min_size=1, max_size=6), most=st.integers(1, 40))
def test_cells_hold_no_more_than_so_many_of_the_same_rows(counts: list[int], most: int) -> None:
    values = np.repeat(np.arange(len(counts)), counts)
    table = pa.table({"home": [f"h{value}" for value in values], "ill": ["a"] * len(values)})
    rules = {"k": 1, "columns": {"home": "quasi", "ill": {"role": "sensitive", "t": 1}}}
    plain = tclose.check(table, rules)
    divided = divide_equal_rows(plain, most)
    assert divided.cells.rows.max() <= most
    assert sum(-(-count // most) for count in counts) == len(divided.cells.rows)
    of_home = np.bincount(divided.cells.codes["home"], divided.cells.rows)
    assert of_home.tolist() == np.bincount(plain.cells.codes["home"], plain.cells.rows).tolist()
    found = np.concatenate([cell for _, cell in divided.locate(plain.source.stream())])
    assert np.bincount(found).tolist() == divided.cells.rows.tolist()
    homes = divided.cells.dictionaries["home"].labels
    assert [homes[code] for code in divided.cells.codes["home"][found]] == table["home"].to_pylist()


def test_few_equal_rows_stay_together_and_large_tables_do_not_grow_beyond_measure() -> None:
    assert choose_most_equal(np.array([10, 10, 1])) is None
    for rows in (np.full(500, 2_000), np.full(30_000, 100), np.full(1_500_000, 40)):
        most = choose_most_equal(rows)
        cells = int(np.ceil(rows / (most or rows.max())).sum())
        assert cells <= max(20_000, min(2 * len(rows), 2_000_000))


def test_a_release_of_few_cells_loses_less_and_keeps_its_promise_by_the_definitions() -> None:
    table = draw_table()
    release = tclose.anonymize(table, RULES, seed=1)
    raw, released = list_rows(table), list_rows(release.data)
    least, farthest = judge(raw, released)
    assert least >= 5 and farthest <= Fraction(1, 10)
    kept = Counter((row["ill"], row["note"]) for row in raw)
    assert Counter((row["ill"], row["note"]) for row in released) == kept
    budget = Budget(effort=0.1, seed=1)
    whole = METHODS["hybrid"].run(problem_of(tclose.check(table, RULES)), budget)
    assert release.loss.overall < 0.9 * whole.loss
    assert release.plan is not None and release.plan.most_equal == 10


def test_every_row_is_released_with_its_own_values_and_a_home_that_covers_them() -> None:
    table = draw_table(2)
    rules = RULES | {"columns": RULES["columns"] | {"name": "insensitive"}}
    rows = {row["name"]: row for row in list_rows(tclose.anonymize(table, rules).data)}
    assert len(rows) == table.num_rows
    for row in list_rows(table):
        released = rows[row["name"]]
        assert (released["ill"], released["note"]) == (row["ill"], row["note"])
        assert released["home"] == "*" or row["home"] in released["home"]


@pytest.mark.parametrize("order", ["shuffle", "keep"])
def test_neither_the_order_of_rows_nor_a_dropped_column_decides_which_row_is_where(
    order: str,
) -> None:
    table = draw_table(3)
    rules = RULES | {"release": {"rows": order}}
    renamed = table.set_column(0, "name", pa.array(list(reversed(table["name"].to_pylist()))))
    back = np.random.default_rng(0).permutation(table.num_rows)

    def release(some: pa.Table) -> list[str]:
        return sorted(map(str, list_rows(tclose.anonymize(some, rules).data)))

    first = release(table)
    assert release(renamed) == first
    assert release(table.take(back)) == first


def test_a_file_and_a_frame_are_released_alike(tmp_path: Path) -> None:
    table = draw_table(4)
    pyarrow.csv.write_csv(table, tmp_path / "raw.csv")
    tclose.anonymize(tmp_path / "raw.csv", RULES, output=tmp_path / "out.csv")
    pa.parquet.write_table(table, tmp_path / "raw.parquet")
    tclose.anonymize(tmp_path / "raw.parquet", RULES, output=tmp_path / "out.parquet")
    frame = tclose.anonymize(table, RULES).data
    with (tmp_path / "out.csv").open(encoding="utf-8") as file:
        lines = [tuple(row.values()) for row in csv.DictReader(file)]
    assert lines == [tuple(map(str, row.values())) for row in list_rows(frame)]
    assert pa.parquet.read_table(tmp_path / "out.parquet").to_pylist() == list_rows(frame)


def test_a_plan_releases_its_own_rows_again_and_starts_a_search() -> None:
    table = draw_table(5)
    release = tclose.anonymize(table, RULES)
    assert release.plan is not None
    again = tclose.apply(release.plan, table)
    assert list_rows(again.data) == list_rows(release.data)
    further = tclose.anonymize(table, RULES, start_from=release.plan, effort=0.1)
    assert further.loss.overall <= release.loss.overall
    points = tclose.frontier(table, RULES, t=["0.1"], start_from=release.plan, methods="hybrid")
    assert points.points[0].loss <= release.loss.overall


def test_a_plan_takes_new_rows_of_which_many_are_equal() -> None:
    release = tclose.anonymize(draw_table(6), RULES)
    assert release.plan is not None
    table = draw_table(7)
    applied = tclose.apply(release.plan, table)
    raw, released = list_rows(table), list_rows(applied.data)
    least, farthest = judge(released, released)
    assert least >= 5 and farthest <= Fraction(1, 10)
    assert len(released) + applied.left_out == len(raw)


def test_what_the_classes_of_rows_are_follows_the_plan() -> None:
    table = draw_table(8)
    rules = RULES | {"release": {"rows": "keep"}}
    release = tclose.anonymize(table, rules)
    assert release.list_classes is not None and release.plan is not None
    words = release.plan.columns[0].values
    assert [words[at] for at in release.list_classes()] == release.data["home"].to_pylist()


def test_an_engine_that_rewrites_its_own_rows_keeps_equal_ones_together() -> None:
    table = draw_table(9)
    relation = duckdb.connect().from_arrow(table)
    release = tclose.anonymize(relation, RULES)
    assert release.plan is not None and release.plan.most_equal is None
    assert any("equal values stay together" in note for note in release.notes)
    divided = tclose.anonymize(table, RULES).plan
    assert divided is not None
    with pytest.raises(UsageError, match="rewrites rows by their values"):
        tclose.apply(divided, relation)
    with pytest.raises(UsageError, match="rewrites rows by their values"):
        tclose.anonymize(relation, RULES, start_from=divided)


@pytest.mark.parametrize(
    "change",
    [
        {"columns": RULES["columns"] | {"note": "weight"}},
        {"columns": RULES["columns"] | {"note": "subject"}},
        {"columns": RULES["columns"] | {"note": "count"}},
        {"search": {"effort": 0.1, "method": "mondrian"}},
        {
            "search": {"effort": 0.1, "method": "hybrid", "masking": "hide"},
            "columns": RULES["columns"] | {"ill": ILL | {"masked": "spread"}},
        },
    ],
)
def test_rows_that_count_otherwise_and_methods_that_cut_values_stay_undivided(
    change: dict[str, Any],
) -> None:
    table = draw_table(10)
    note = pa.array([1 + at % 7 for at in range(table.num_rows)])
    release = tclose.anonymize(table.set_column(3, "note", note), RULES | change)
    assert release.plan is not None and release.plan.most_equal is None


def test_the_further_column_is_no_part_of_the_table() -> None:
    plain = tclose.check(draw_table(11), RULES)
    divided: BoundTable = divide_equal_rows(plain, 20)
    assert COLUMN in divided.cell_columns and COLUMN not in divided.released_columns
    assert divided.plain is plain and plain.plain is plain


def test_a_table_that_changes_between_two_looks_is_refused(tmp_path: Path) -> None:
    table = draw_table(12)
    divided = divide_equal_rows(tclose.check(table, RULES), 20)
    assert divided.further is not None
    twice = tclose.check(pa.concat_tables([table, table]), RULES)
    with pytest.raises(tclose.TcloseError, match="more rows when it was read again"):
        list(divided.further.add_to(twice.source.stream()))


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(case=suited(METHODS["hybrid"]), times=st.integers(1, 6), data=st.data())
def test_any_promise_is_kept_and_repeated_where_every_row_is_a_cell(
    case: Case, times: int, data: st.DataObject, judged: Any
) -> None:
    table = pa.table({name: values * times for name, values in case.columns.items()})
    share = data.draw(st.sampled_from(["0", "0.2"]))
    search = {"method": "hybrid", "effort": 0.02, "suppression": share}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(division, "LEAST", 1)
        try:
            release = tclose.anonymize(table, case.policy | {"search": search})
        except UsageError:  # a promise that no release keeps, or that the method does not take
            judged(False, least=0.6)
            return
    assert release.plan is not None
    if not judged(release.plan.most_equal is not None, least=0.6):
        return
    assert tclose.audit(release.data, case.policy).holds is True
    again = tclose.apply(release.plan, table)
    assert sorted(map(str, list_rows(again.data))) == sorted(map(str, list_rows(release.data)))
