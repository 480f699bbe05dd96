"""The order of rows tells nothing beyond the rows, unless the policy keeps the table's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from typer.testing import Result

import tclose
from tclose.data.io.counting import connect_to_shared
from tclose.data.io.files import take_rows
from tclose.data.io.order import hash_rows, shuffle_rows, shuffle_table

ROWS = 40
ILLS = [f"illness {at * 7 % ROWS:02}" for at in range(ROWS)]
TABLE = pa.table(
    {
        "name": [f"Person {at:02}" for at in range(ROWS)],
        "age": [20 + at * 11 % 40 for at in range(ROWS)],
        "illness": ILLS,
    }
)


def rules(**release: str) -> dict[str, Any]:
    illness = {"role": "sensitive", "t": 1}
    columns = {"name": "identifier", "age": "quasi", "illness": illness}
    return {"k": 4, "columns": columns, "release": release}


def anonymize(data: Any = TABLE, seed: int = 1, **more: Any) -> tclose.Release:
    return tclose.anonymize(data, more.pop("policy", rules()), effort=0, seed=seed, **more)


def read_ills(release: tclose.Release) -> list[str]:
    return release.data.column("illness").to_pylist()


def count_read_off(release: tclose.Release) -> int:
    """How many illnesses somebody who knows the order of the names reads off by position."""
    return sum(a == b for a, b in zip(read_ills(release), ILLS, strict=True))


def test_of_a_table_sorted_by_name_no_more_illnesses_are_read_off_than_by_chance() -> None:
    assert count_read_off(anonymize(policy=rules(rows="keep"))) == ROWS
    assert count_read_off(anonymize()) < ROWS / 4


def test_the_order_follows_from_the_released_rows_alone() -> None:
    first = anonymize().data
    assert read_ills(anonymize()) == first.column("illness").to_pylist()
    others = TABLE.set_column(0, "name", pa.array([f"Another {at}" for at in range(ROWS)]))
    for same in (
        anonymize(seed=2),
        anonymize(others),
        anonymize(key=b"a key of the steward's own"),
        anonymize(policy={**rules(), "context": {"recipient": "a university"}}),
    ):
        assert same.data.to_pylist() == sorted(
            same.data.to_pylist(), key=first.to_pylist().index
        ), "equal rows, equal order"
    columns = ", ".join(f'CAST("{name}" AS VARCHAR)' for name in first.column_names)
    hashes = duckdb.from_arrow(first).project(f"hash({columns})").fetchall()
    assert hashes == sorted(hashes), "anybody can repeat it from the release"


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "lazy", "duckdb", "csv", "parquet"])
def test_the_order_of_the_table_leaves_no_trace(kind: str, tmp_path: Path) -> None:
    backwards = TABLE.take(list(reversed(range(ROWS))))
    mixed = TABLE.take([at * 7 % ROWS for at in range(ROWS)])
    found = {release_bytes(table, kind, tmp_path) for table in (TABLE, backwards, mixed)}
    assert len(found) == 1


def release_bytes(table: pa.Table, kind: str, folder: Path) -> bytes:
    """A release of the table as this kind of thing, in bytes."""
    if kind in ("csv", "parquet"):
        write = csv.write_csv if kind == "csv" else parquet.write_table
        write(table, folder / f"in.{kind}")
        anonymize(folder / f"in.{kind}", output=folder / f"out.{kind}")
        return (folder / f"out.{kind}").read_bytes()
    polars = pytest.importorskip("polars")
    given: Any = {
        "arrow": lambda: table,
        "pandas": table.to_pandas,
        "polars": lambda: polars.from_arrow(table),
        "lazy": lambda: polars.from_arrow(table).lazy(),
        "duckdb": lambda: duckdb.from_arrow(table),
    }[kind]
    made: Any = anonymize(given()).data
    made = made.collect() if kind == "lazy" else made.pl() if kind == "duckdb" else made
    if kind == "arrow":
        return repr(made.to_pydict()).encode()
    return repr(made.to_dict() if kind == "pandas" else made.rows()).encode()


def test_files_are_shuffled_alike_byte_for_byte(tmp_path: Path) -> None:
    csv.write_csv(TABLE, tmp_path / "in.csv")
    outs = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for out in outs:
        anonymize(tmp_path / "in.csv", output=out)
    assert outs[0].read_bytes() == outs[1].read_bytes()
    found = csv.read_csv(outs[0]).column("illness").to_pylist()
    assert found != ILLS and sorted(found) == sorted(ILLS)


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "duckdb"])
def test_every_kind_of_frame_is_shuffled(kind: str) -> None:
    polars = pytest.importorskip("polars")
    given: Any = {
        "pandas": TABLE.to_pandas,
        "polars": lambda: polars.from_arrow(TABLE),
        "lazy": lambda: polars.from_arrow(TABLE).lazy(),
        "duckdb": lambda: duckdb.from_arrow(TABLE),
    }[kind]

    def ills() -> list[str]:
        made = anonymize(given()).data
        made = made.collect() if kind == "lazy" else made.pl() if kind == "duckdb" else made
        return list(made["illness"])

    assert ills() == ills() != ILLS and sorted(ills()) == sorted(ILLS)


def test_a_certificate_says_whether_rows_were_kept_in_order_and_warns() -> None:
    kept = anonymize(policy=rules(rows="keep")).certificate
    assert kept.row_order == "keep" and kept.warnings
    assert any("order of the table" in warning for warning in kept.warnings)
    shuffled = anonymize().certificate
    assert shuffled.row_order == "shuffle"
    assert not any("order of the table" in warning for warning in shuffled.warnings or ())


@pytest.mark.parametrize(("how", "affected"), [("keep", ROWS), ("shuffle", 0)])
def test_an_attack_tries_the_order(how: str, affected: int) -> None:
    release = anonymize(policy=rules(rows=how))
    (found,) = tclose.attack(release, original=TABLE).of("order")
    assert found.affected == affected and found.total == ROWS


def test_whoever_has_the_table_can_still_hold_a_shuffled_release_against_it() -> None:
    policies = [rules(), rules(rows="keep")]
    reports = [tclose.attack(anonymize(policy=rule), original=TABLE) for rule in policies]
    linkages = [report.of("linkage")[0] for report in reports]
    assert linkages[0].numbers == linkages[1].numbers
    assert linkages[0].numbers["known whose row is whose"] is True


def test_new_rows_are_shuffled_too(run: Callable[..., Result], clinic: Mapping[str, Path]) -> None:
    plan = anonymize().plan
    assert plan is not None
    again = tclose.apply(plan, TABLE)
    assert again.certificate.row_order == "shuffle"
    assert count_read_off(again) < ROWS / 4


def test_the_order_is_told_and_may_be_any_of_two() -> None:
    content = json.loads(json.dumps(anonymize().certificate.to_json()))
    assert content["row_order"] in ("keep", "shuffle")
    with pytest.raises(tclose.PolicyError):
        anonymize(policy=rules(rows="sorted"))


@pytest.mark.parametrize("memory", ["100kB", "4MB", None])
def test_rows_come_in_the_order_of_their_hashes_whatever_fits_memory(memory: str | None) -> None:
    table = pa.table(
        {
            "row": range(3000),
            "text": [f"{row % 7} " * (row % 90) for row in range(3000)],
            "kind": pa.array([f"k{row % 5}" for row in range(3000)]).dictionary_encode(),
        }
    )
    parts = table.to_batches(max_chunksize=200)
    made = pa.Table.from_batches(shuffle_rows(iter(parts), table.schema, memory))
    assert made.equals(table.take(shuffle_table(table)))
    assert made.column("row").to_pylist() != table.column("row").to_pylist()


def test_no_row_is_shuffled_to_no_row() -> None:
    schema = pa.schema({"row": pa.int64()})
    assert list(shuffle_rows(iter(()), schema)) == []


def guess_by_order(release: tclose.Release, table: pa.Table, policy: dict[str, Any]) -> set[str]:
    """What is left of the first person's illness to whoever knows all but who has which of two.

    They make both tables that can be, release each as the certificate says, and compare.
    """
    left, ills = set(), table.column("illness").to_pylist()
    for first, second in ((0, 1), (1, 0)):
        tried = [ills[first], ills[second], *ills[2:]]
        made = tclose.anonymize(
            table.set_column(2, "illness", pa.array(tried)), policy, effort=0, seed=1
        )
        if read_ills(made) == read_ills(release):
            left.add(tried[0])
    return left


def test_no_guess_fits_the_order_better_than_another() -> None:
    table = TABLE.set_column(1, "age", pa.array([30] * ROWS))
    release = anonymize(table)
    assert guess_by_order(release, table, rules()) == {ILLS[0], ILLS[1]}
    assert release.certificate.row_order == "shuffle" and release.audit.holds


def test_a_policy_that_asks_for_an_order_by_chance_is_told_that_there_is_none() -> None:
    with pytest.raises(tclose.PolicyError, match="'keep' or 'shuffle'"):
        anonymize(policy=rules(rows="random"))


VALUES = {
    "signs of zero": pa.array([0.0, -0.0, float("nan"), None, float("inf")]),
    "short moments": pa.array([1, 2, 1001, None, -1], pa.timestamp("ns", "Europe/Berlin")),
    "times of day": pa.array([1, 2, 1001, None, 5], pa.time64("ns")),
    "lists": pa.array([["a", "b"], ["a, b"], [None], None, []]),
    "structures": pa.array([{"a": None}, {"a": ""}, None, {"a": "NULL"}, {"a": "'"}]),
    "categories": pa.array(["b", "a", None, "c", "d"]).dictionary_encode(),
    "decimals": pa.array([*map(Decimal, ("1e40", "0", "1", "-1e40")), None], pa.decimal256(60, 2)),
    "halves": pa.array(np.array([1, 2, 3, 4, 5], np.float16)),
    "bytes": pa.array([b"", b"\x00", None, b"\xff", b"x"]),
    "views": pa.array(["b", "a", None, "", "c"], pa.string_view()),
}


@pytest.mark.parametrize("name", list(VALUES))
def test_values_of_any_type_that_differ_are_ordered_by_what_they_are(name: str) -> None:
    values = VALUES[name]
    table = pa.table({"a": values, "b": pa.array(["x"] * 5)})
    orders = [pa.concat_tables([table.slice(at), table.slice(0, at)]) for at in range(5)]
    shuffled = [take_rows(each, shuffle_table(each)) for each in orders]
    texts = {str([repr(value) for value in each.column("a").to_pylist()]) for each in shuffled}
    assert len(texts) == 1


def test_what_stands_in_one_column_is_not_taken_for_what_stands_in_two() -> None:
    table = pa.table({"a": ["1:x", "", None, "x"], "b": ["", "1:x", "x", None]})
    connection = connect_to_shared()
    first, second = hash_rows(table.to_batches()[0], connection)
    assert len(set(zip(first.tolist(), second.tolist(), strict=True))) == 4


def test_a_process_that_is_forked_counts_with_an_engine_of_its_own() -> None:
    before = read_ills(anonymize())
    with get_context("fork").Pool(1) as pool:
        assert pool.apply(release_ills) == before


def release_ills() -> list[str]:
    """What a process releases by itself."""
    return read_ills(anonymize())
