"""The order of rows tells nothing unless the policy keeps it, and who has the table repeats it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv
from typer.testing import Result

import tclose
from tclose.data.io.order import permute_rows, shuffle_rows

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


def test_equal_tables_policies_and_seeds_are_shuffled_alike_and_no_others() -> None:
    first = read_ills(anonymize())
    assert read_ills(anonymize()) == first
    assert read_ills(anonymize(seed=2)) != first
    assert read_ills(anonymize(policy={**rules(), "k": 5})) != first
    signed = {**rules(), "context": {"recipient": "a university"}}
    assert read_ills(anonymize(policy=signed)) == first, "who gets it does not matter"
    other = TABLE.set_column(0, "name", pa.array(["Another", *TABLE["name"].to_pylist()[1:]]))
    assert read_ills(anonymize(other)) != first, "it takes the whole table, names too"
    assert read_ills(anonymize(key=b"a key of the steward's own")) != first


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
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
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
def test_rows_come_in_the_order_of_their_places_whatever_fits_memory(memory: str | None) -> None:
    table = pa.table(
        {
            "row": range(3000),
            "text": [f"{row % 7} " * (row % 90) for row in range(3000)],
            "kind": pa.array([f"k{row % 5}" for row in range(3000)]).dictionary_encode(),
        }
    )
    parts = table.to_batches(max_chunksize=200)
    made = pa.Table.from_batches(shuffle_rows(iter(parts), table.schema, b"k", memory))
    assert made.equals(table.take(permute_rows(3000, b"k")))
    assert made.column("row").to_pylist() != table.column("row").to_pylist()


def test_no_row_is_shuffled_to_no_row() -> None:
    schema = pa.schema({"row": pa.int64()})
    assert list(shuffle_rows(iter(()), schema, b"k")) == []


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


def test_an_order_by_a_forgotten_key_fits_no_guess_better_than_another() -> None:
    table = TABLE.set_column(1, "age", pa.array([30] * ROWS))
    derived, drawn = rules(), rules(rows="random")
    found = guess_by_order(anonymize(table, policy=derived), table, derived)
    assert found == {ILLS[0]}, "why there is such an order"
    release = anonymize(table, policy=drawn)
    assert guess_by_order(release, table, drawn) == set()
    assert sorted(read_ills(release)) == sorted(ILLS) and count_read_off(release) < ROWS / 4
    assert read_ills(anonymize(table, policy=drawn)) != read_ills(release)
    assert release.certificate.row_order == "random" and release.audit.holds


def test_rows_in_a_random_order_are_linked_to_nobody() -> None:
    policy = rules(rows="random")
    release = anonymize(policy=policy)
    found = tclose.attack(release.data, policy, original=TABLE, effort=0.1)
    assert {each.affected for each in found.findings if each.attack == "order"} == {0}
