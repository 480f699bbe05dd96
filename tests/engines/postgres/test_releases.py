"""Releases from, in and into a real PostgreSQL: the same as in memory, whole or not at all."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tclose
from tclose import TcloseError
from tclose.data.engines.postgres.source import fill_new_table, refuse_taken
from tclose.data.io.paths import Address
from tclose.data.opening import open_source
from tclose.errors import DataError
from tclose.policy.load import load_policy
from tclose.sample import write_hospital
from tclose.sample.hospital import HOSPITAL_SCHEMA, hospital_blocks

KEY = b"sixteen bytes or more"


def read(data: Any) -> pa.Table:
    rows = open_source(data).stream()
    return pa.Table.from_batches(rows.batches(), rows.schema)


def multiset(table: pa.Table) -> list[str]:
    return sorted(repr(row) for row in table.to_pylist())


def hospital(rows: int = 600) -> pa.Table:
    return pa.Table.from_batches(hospital_blocks(rows, 1), HOSPITAL_SCHEMA)


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hospital(tmp_path_factory.mktemp("hospital"), rows=10)[1]


def lines(release: tclose.Release) -> dict[str, Any]:
    """What a certificate says, but for when and with which software."""
    content = release.certificate.to_json()
    gone = ("versions", "tried", "command", "created", "when")
    return {key: value for key, value in content.items() if key not in gone}


@pytest.mark.parametrize("identifiers", ["drop", "mask", "pseudonym"])
def test_a_release_is_the_same_wherever_the_rows_are(
    database: Any, rules: Path, identifiers: str
) -> None:
    table = hospital()
    policy = load_policy(rules)
    release = policy.release.model_copy(update={"identifiers": identifiers})
    policy = policy.model_copy(update={"release": release}).at(rules.parent)
    url = database.put("hospital", table)

    def made(data: Any, output: str | None = None) -> tclose.Release:
        return tclose.anonymize(data, policy, output=output, method="mondrian", key=KEY)

    here = made(table)
    read_there = made(url)
    stored = made(url, database.url("released"))
    sent = made(table, database.url("sent"))
    asked = tclose.anonymize(
        database.url(), policy, method="mondrian", key=KEY,
        reading=tclose.Reading(query="SELECT * FROM hospital"),
    )  # fmt: skip
    assert lines(here) == lines(read_there) == lines(stored) == lines(sent) == lines(asked)
    # The server sorts by a hash of its own.
    assert multiset(read(database.url("released"))) == multiset(here.data)
    assert read(database.url("sent")).to_pylist() == here.data.to_pylist()
    assert read_there.data.to_pylist() == here.data.to_pylist() == asked.data.to_pylist()
    assert open_source(database.url("released")).digest() == open_source(here.data).digest()
    assert tclose.verify(database.url("released"), policy).holds
    assert stored.path == Address(database.url("released"))


def test_a_release_goes_from_a_database_to_a_file(
    database: Any, rules: Path, tmp_path: Path
) -> None:
    url = database.put("hospital", hospital())
    for name in ("out.csv", "out.parquet", "out.arrow"):
        there = tclose.anonymize(url, rules, output=tmp_path / name, method="mondrian")
        here = tclose.anonymize(hospital(), rules, output=tmp_path / f"x{name}", method="mondrian")
        assert (tmp_path / name).exists() and there.classes == here.classes
        assert multiset(read(tmp_path / name)) == multiset(read(tmp_path / f"x{name}"))


GAPS = pa.table(
    {
        "who": [f"p{at % 90}" if at % 7 else None for at in range(120)],
        "age": [None if at % 11 == 0 else at % 17 for at in range(120)],
        "weight": [(None, math.nan, -0.0, 0.0, 2.5)[at % 5] for at in range(120)],
        "code": [("", None, "Ann", "ann", "ü")[at % 5] for at in range(120)],
        "born": pa.array([None if at % 13 == 0 else at % 3 for at in range(120)], pa.date32()),
        "fee": pa.array([None if at % 9 == 0 else Decimal(at % 4) / 4 for at in range(120)]),
        "ill": [("flu", "cold", None)[at % 3] for at in range(120)],
    }
)
GAPS_RULES: dict[str, Any] = {
    "k": 3,
    "columns": {
        "who": "identifier", "age": "quasi", "weight": "quasi", "code": "quasi", "born": "quasi",
        "fee": "quasi", "ill": {"role": "sensitive", "t": 0.5},
    },
    "release": {"identifiers": "pseudonym"},
}  # fmt: skip


@pytest.mark.parametrize("leftover", ["drop", "root", "hide"])
def test_missing_values_are_joined_with_their_own_cells(database: Any, leftover: str) -> None:
    how = {"identifiers": "pseudonym", "leftover": leftover, "rows": "keep"}
    rules = {**GAPS_RULES, "release": how}
    url = database.put("gaps", GAPS)
    asked: dict[str, Any] = {"method": "hybrid", "suppression": "0.2", "key": KEY, "effort": 0.5}
    here = tclose.anonymize(GAPS, rules, **asked)
    there = tclose.anonymize(url, rules, output=database.url("released"), **asked)
    assert read(database.url("released")).to_pylist() == here.data.to_pylist()
    assert there.left_out == here.left_out


def test_shuffled_rows_are_the_same_rows(database: Any) -> None:
    rules = {**GAPS_RULES, "release": {"identifiers": "pseudonym", "rows": "shuffle"}}
    url = database.put("gaps", GAPS)
    here = tclose.anonymize(GAPS, rules, method="mondrian", key=KEY)
    tclose.anonymize(url, rules, output=database.url("one"), method="mondrian", key=KEY)
    tclose.anonymize(GAPS, rules, output=database.url("two"), method="mondrian", key=KEY)
    one, two = read(database.url("one")), read(database.url("two"))
    assert multiset(one) == multiset(two) == multiset(here.data)
    kept = {**GAPS_RULES, "release": {"identifiers": "pseudonym", "rows": "keep"}}
    in_order = tclose.anonymize(GAPS, kept, method="mondrian", key=KEY).data.to_pylist()
    assert in_order not in (one.to_pylist(), two.to_pylist(), here.data.to_pylist())


def test_types_of_untouched_columns_survive(database: Any, tmp_path: Path) -> None:
    database.make_kinds()
    database.run("INSERT INTO kinds SELECT k.* FROM kinds AS k, generate_series(1, 5)")
    roles = dict.fromkeys(open_source(database.url("kinds")).columns, "insensitive")
    policy = {
        "k": 2,
        "columns": {**roles, "small": "quasi", "truth": {"role": "sensitive", "t": 1}},
    }
    tclose.anonymize(database.url("kinds"), policy, output=database.url("same"), method="mondrian")
    told = (
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attnum > 0 AND attname <> 'small' AND attrelid = '{}'::regclass ORDER BY attnum"
    )
    assert database.run(told.format("same")) == database.run(told.format("kinds"))
    rest = "SELECT loose, feeling, tree, numbers, bytes, instant::text FROM {} ORDER BY 1, 2"
    assert database.run(rest.format("same")) == database.run(rest.format("kinds"))
    # Into another database, by way of here: all types that every database knows.
    file = tmp_path / "kinds.parquet"
    tclose.anonymize(database.url("kinds"), policy, output=file, method="mondrian")
    placed_types(database, file)


def placed_types(database: Any, file: Path) -> None:
    rows = open_source(file).stream()
    fill_new_table(Address(database.url("again")), rows.schema, rows.batches(), lambda source: None)
    told = (
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attnum > 0 AND attrelid = 'again'::regclass"
    )
    kinds = dict(database.run(told))
    assert kinds["tree"] == "jsonb" and kinds["numbers"] == "integer[]"
    assert kinds["fixed"] == "numeric(10,2)" and kinds["bytes"] == "bytea"
    assert kinds["feeling"] == kinds["loose"] == kinds["small"] == "text"


def test_a_type_that_a_file_claims_is_believed_only_if_it_is_one(database: Any) -> None:
    evil = pa.field("a", pa.string(), metadata={b"postgresql": b"text); DROP TABLE people; --"})
    table = pa.table([["x"]], schema=pa.schema([evil]))
    database.run("CREATE TABLE people AS SELECT 1 AS a")
    database.put("fine", table)
    assert database.tables() == ["fine", "people"]


# What changes, and what fails


def test_rows_that_come_while_we_work_are_not_released(database: Any, rules: Path) -> None:
    url = database.put("hospital", hospital())
    came: list[int] = []

    def another(step: object) -> None:
        if not came:
            came.append(1)
            database.run(
                "INSERT INTO hospital SELECT * FROM hospital LIMIT 50;"
                "UPDATE hospital SET postcode = '00000'"
            )

    here = tclose.anonymize(hospital(), rules, method="mondrian")
    there = tclose.anonymize(
        url, rules, output=database.url("released"), method="mondrian", progress=another
    )
    assert came and database.run("SELECT count(*) FROM hospital") == [(650,)]
    assert multiset(read(database.url("released"))) == multiset(here.data)
    assert there.audit.rows == 600


@pytest.mark.parametrize("from_here", [False, True])
def test_a_check_that_fails_leaves_nothing(
    database: Any, rules: Path, from_here: bool, tmp_path: Path
) -> None:
    url = database.put("hospital", hospital())
    data = hospital() if from_here else url
    folder = tmp_path / "certificates"
    folder.mkdir()
    spoiled: list[int] = []

    def spoil(step: object) -> None:
        # The certificate is written while the new table is checked: there is a folder by then.
        if not spoiled:
            spoiled.append(1)
            (folder / "c.json").mkdir()

    with pytest.raises(TcloseError):
        tclose.anonymize(
            data, rules, output=database.url("released"), method="mondrian",
            certificate=folder / "c.json", progress=spoil,
        )  # fmt: skip
    assert database.tables() == ["hospital"]
    assert database.run("SELECT count(*) FROM pg_class WHERE relname LIKE 'tclose%'") == [(0,)]


def test_what_cannot_be_written_is_refused_before_searching(database: Any, rules: Path) -> None:
    database.run(
        "CREATE ROLE reader LOGIN PASSWORD 'pa%ss:w?rd-Zq7';"
        "CREATE SCHEMA private; CREATE TABLE taken AS SELECT 1 AS a;"
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC"
    )
    url = database.put("hospital", hospital())
    database.run("GRANT SELECT ON hospital TO reader")
    read_only = f"{database.url()}?options=-cdefault_transaction_read_only%3Don#new"
    refused = {
        database.url("taken"): "there is such a table already",
        database.url("private.new", user="reader"): "permission denied for schema private",
        database.url("new", user="reader"): "permission denied for schema public",
        database.url("nowhere.new"): 'schema "nowhere" does not exist',
        database.url(): "the address names no table",
        database.url("x" * 70): "no names of more than",
        read_only: "only reads",
    }

    def never(step: object) -> None:
        raise AssertionError("this should have been refused before")

    for output, why in refused.items():
        with pytest.raises(TcloseError, match=why):
            tclose.anonymize(url, rules, output=output, method="mondrian", progress=never)
    assert database.tables() == ["hospital", "taken"]
    database.run("DROP OWNED BY reader; DROP ROLE reader")


def test_columns_that_a_table_cannot_have_are_refused(database: Any) -> None:
    for name, column in {
        "lists": pa.array([[1]]),
        "bytes": pa.array([b"x"]),
        "spans": pa.array([1], pa.duration("s")),
        "é" * 40: pa.array([1]),
        "ctid": pa.array([1]),
    }.items():
        with pytest.raises(DataError):
            refuse_taken(Address(database.url("new")), pa.table({name: column}).schema)
    fine = pa.table({"a": pa.array([1], pa.timestamp("ns"))})
    with pytest.raises(DataError, match="microsecond"):
        database.put("new", fine)
    with pytest.raises(DataError, match="NUL"):
        database.put("new", pa.table({"a": ["x\0y"]}))
    assert database.tables() == []


def test_a_server_keeps_no_snapshot_for_a_table_that_was_audited(database: Any) -> None:
    database.run(
        "CREATE TABLE people AS SELECT i % 3 AS a, i % 2 AS b FROM generate_series(1, 9) i"
    )
    found = tclose.audit(database.url("people"), quasi="a", sensitive="b")
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%'"
    assert database.run(waiting) == [(0,)]
    assert found.bound.source.n_rows == 9
    found.bound.source.close()
    assert database.run(waiting) == [(0,)]


def test_who_may_not_read_the_table_still_gets_it_by_way_of_here(
    database: Any, rules: Path
) -> None:
    database.run("CREATE ROLE writer LOGIN PASSWORD 'pa%ss:w?rd-Zq7'")
    url = database.put("hospital", hospital(200))
    database.run("GRANT CREATE ON SCHEMA public TO writer")
    output = database.url("released", user="writer")
    assert not open_source(url).can_store(Address(output))
    assert tclose.anonymize(url, rules, output=output, method="mondrian").holds
    assert database.tables() == ["hospital", "released"]
    database.run("DROP OWNED BY writer; DROP ROLE writer")


def test_a_saved_release_is_counted_in_the_database(database: Any, tmp_path: Path) -> None:
    made = tclose.anonymize(GAPS, GAPS_RULES, method="mondrian", key=KEY)
    place = made.save(database.url("saved"), certificate=tmp_path / "c.json")
    assert str(place) == database.url("saved", password=None)
    assert multiset(read(place)) == multiset(made.data)
    with pytest.raises(DataError, match="already"):
        made.save(database.url("saved"))
