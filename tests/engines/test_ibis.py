"""Ibis tables of several backends: the same counts, certificates and released values as in memory.

Tables are made without Ibis, and Ibis's own remarks about its libraries are not ours to mend.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tclose
from tclose.data.engines.ibis.source import is_ibis
from tclose.data.opening import open_source
from tclose.errors import DataError

ibis = pytest.importorskip("ibis", reason="ibis-framework is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

KEY = b"sixteen bytes or more"
ROWS = 240
TABLE = pa.table(
    {
        "who": [f"p{at % 190}" if at % 17 else None for at in range(ROWS)],
        "age": [None if at % 11 == 0 else at % 23 for at in range(ROWS)],
        "weight": [(None, math.nan, -0.0, 0.0, 2.5, 0.1)[at % 6] for at in range(ROWS)],
        "code": [("", None, "Ann", "ann", "ü", 'a"b\n')[at * 7 % 6] for at in range(ROWS)],
        "ill": [("flu", "cold", "ulcer", None)[at * 5 % 4] for at in range(ROWS)],
        "note": [f"{at % 3}%s" for at in range(ROWS)],
    }
)
RULES: dict[str, Any] = {
    "k": 3,
    "columns": {
        "who": "identifier", "age": "quasi", "weight": "quasi", "code": "quasi",
        "ill": {"role": "sensitive", "t": 0.5}, "note": "insensitive",
    },
    "release": {"identifiers": "pseudonym", "rows": "keep"},  # polars cannot shuffle
}  # fmt: skip


@dataclass
class Engines:
    """Backends of Ibis, each opened once for a test, with tables put into them without Ibis."""

    database: Any
    opened: list[Any] = field(default_factory=list)

    def duckdb(self, table: pa.Table) -> Any:
        backend = ibis.duckdb.connect()
        self.opened.append(backend)
        backend.con.register("arrow", table)
        backend.con.execute("CREATE TABLE people AS FROM arrow")
        return backend.table("people")

    def sqlite(self, table: pa.Table) -> Any:
        backend = ibis.sqlite.connect()
        self.opened.append(backend)
        words = {"int64": "INTEGER", "double": "REAL", "string": "TEXT", "bool": "BOOLEAN"}
        columns = ", ".join(f'"{one.name}" {words[str(one.type)]}' for one in table.schema)
        backend.con.execute(f"CREATE TABLE people ({columns})")
        marks = ", ".join("?" * table.num_columns)
        rows = [tuple(row.values()) for row in table.to_pylist()]
        backend.con.executemany(f"INSERT INTO people VALUES ({marks})", rows)
        backend.con.commit()
        return backend.table("people")

    def polars(self, table: pa.Table) -> Any:
        backend = ibis.polars.connect()
        self.opened.append(backend)
        return backend.create_table("people", table)

    def postgres(self, table: pa.Table) -> Any:
        self.database.put("people", table)
        return self.postgres_backend().table("people")

    def postgres_backend(self) -> Any:
        backend = ibis.postgres.connect(
            host="127.0.0.1", port=self.database.port, user="postgres",
            password=self.database.password, database=self.database.name,
        )  # fmt: skip
        self.opened.append(backend)
        return backend


@pytest.fixture
def engines(request: pytest.FixtureRequest) -> Iterator[Engines]:
    """The database is only started for those who need it."""
    needed = "postgres" in request.node.name
    made = Engines(request.getfixturevalue("database") if needed else None)
    yield made
    for backend in made.opened:
        backend.disconnect()


EVERY = pytest.mark.parametrize("name", ["duckdb", "sqlite", "polars", "postgres"])


def read(data: Any) -> pa.Table:
    rows = open_source(data).stream()
    return pa.Table.from_batches(rows.batches(), rows.schema)


def multiset(table: pa.Table) -> list[str]:
    return sorted(repr(list(row.values())) for row in table.to_pylist())


def told(release: tclose.Release) -> dict[str, Any]:
    gone = ("versions", "tried", "command")
    return {key: one for key, one in release.certificate.to_json().items() if key not in gone}


@EVERY
def test_counts_and_hashes_are_those_of_memory(engines: Engines, name: str) -> None:
    data = getattr(engines, name)(TABLE)
    assert is_ibis(data) and not is_ibis(TABLE) and not is_ibis(data.age)
    there, here = open_source(data), open_source(TABLE)
    assert name in there.name and "people" in there.name
    assert there.n_rows == ROWS and there.columns == here.columns
    assert there.digest() == here.digest()
    assert [there.count_distinct(one) for one in ("age", "code", "ill")] == [24, 6, 4]
    mine = tclose.audit(data, RULES).to_json() | {"source": ""}
    assert mine == tclose.audit(TABLE, RULES).to_json() | {"source": ""}


@EVERY
@pytest.mark.parametrize("leftover", ["drop", "hide"])
def test_a_release_is_a_table_of_the_same_backend(
    engines: Engines, name: str, leftover: str
) -> None:
    data = getattr(engines, name)(TABLE)
    rules = {**RULES, "release": {**RULES["release"], "leftover": leftover}}
    asked: dict[str, Any] = {"method": "hybrid", "suppression": "0.2", "effort": 0.5, "key": KEY}
    here = tclose.anonymize(TABLE, rules, **asked)
    there = tclose.anonymize(data, rules, **asked)
    assert is_ibis(there.data) and there.data.get_backend().name == name
    assert told(there) == told(here)
    assert multiset(read(there.data)) == multiset(here.data)
    assert tclose.verify(there.data, rules).holds
    filtered = there.data.filter(there.data.ill == "flu")
    assert filtered.count().to_pyarrow().as_py() == here.data.column("ill").to_pylist().count("flu")


@EVERY
def test_a_release_of_it_goes_to_a_file(engines: Engines, name: str, tmp_path: Path) -> None:
    data = getattr(engines, name)(TABLE)
    rules = {**RULES, "release": {"identifiers": "mask", "rows": "keep"}}
    here = tclose.anonymize(TABLE, rules, method="mondrian")
    tclose.anonymize(data, rules, method="mondrian", output=tmp_path / "out.parquet")
    assert multiset(read(tmp_path / "out.parquet")) == multiset(here.data)
    lazy = tclose.anonymize(data, rules, method="mondrian")
    lazy.save(tmp_path / "saved.csv", certificate=tmp_path / "c.json")
    assert read(tmp_path / "saved.csv").num_rows == ROWS


@EVERY
def test_shuffled_rows_are_the_same_rows(engines: Engines, name: str) -> None:
    data = getattr(engines, name)(TABLE)
    rules = {**RULES, "release": {"identifiers": "drop", "rows": "shuffle"}}
    here = tclose.anonymize(TABLE, rules, method="mondrian")
    there = read(tclose.anonymize(data, rules, method="mondrian").data)
    assert multiset(there) == multiset(here.data)
    if name == "postgres":
        engines.opened[-1].raw_sql("DROP TABLE people CASCADE").close()
    turned = TABLE.take(list(reversed(range(ROWS))))
    again = tclose.anonymize(getattr(engines, name)(turned), rules, method="mondrian").data
    assert read(again).equals(there), "the order of the table leaves no trace"


@EVERY
def test_tables_with_too_many_cells_are_done_in_parts(engines: Engines, name: str) -> None:
    data = getattr(engines, name)(TABLE.select(["age", "code", "ill"]))
    columns = {one: RULES["columns"][one] for one in ("age", "code", "ill")}
    rules = {"k": 3, "columns": columns, "release": {"rows": "keep"}}
    few = tclose.Reading(max_cells=40)
    there = tclose.audit(data, rules, reading=few)
    here = tclose.audit(TABLE.select(["age", "code", "ill"]), rules)
    assert there.k == here.k and there.classes == here.classes
    made = tclose.anonymize(data, rules, method="mondrian", reading=few)
    assert made.holds and made.audit.rows == ROWS


def test_expressions_and_tables_in_memory_are_tables_too(engines: Engines) -> None:
    data = engines.duckdb(TABLE)
    more = ibis.memtable(pa.table({"ill": ["flu", "cold"], "cost": [1, 2]}))
    joined = data.join(more, "ill").mutate(age=data.age + 1).drop("weight")
    source = open_source(joined)
    kinds = TABLE.column("ill").to_pylist()
    assert source.n_rows == kinds.count("flu") + kinds.count("cold")
    assert set(source.columns) == {"who", "age", "code", "ill", "note", "cost"}
    found = tclose.audit(joined, quasi="age,code", sensitive="cost")
    assert found.rows == source.n_rows
    assert open_source(ibis.memtable(TABLE)).digest() == open_source(TABLE).digest()


def test_typed_keys_are_found_again_in_duckdb(engines: Engines) -> None:
    kinds = {
        "d": pa.array([Decimal("1.50"), None, Decimal("-2.25")] * 20, pa.decimal128(20, 2)),
        "day": pa.array([date(2024, 1, 2), None, date(1, 1, 1)] * 20),
        "t": pa.array([datetime(2024, 1, 2, 3, 4, 5, 6), None, datetime(1970, 1, 1)] * 20),
        "z": pa.array(
            [datetime(2024, 1, 2, tzinfo=UTC), None, None] * 20, pa.timestamp("us", "UTC")
        ),
        "h": pa.array([time(1, 2, 3, 4), None, time(0)] * 20),
        "b": pa.array([True, None, False] * 20),
        "big": pa.array([2**63 - 1, None, -(2**63)] * 20),
        "single": pa.array([0.1, None, 7.0] * 20, pa.float32()),
        "ill": ["a", "b"] * 30,
    }
    table = pa.table(kinds)
    roles: dict[str, Any] = dict.fromkeys(kinds, "quasi")
    roles["ill"] = {"role": "sensitive", "t": 0.5}
    here = tclose.anonymize(table, {"k": 2, "columns": roles}, method="mondrian")
    backend = engines.duckdb(table).get_backend()
    backend.con.execute("ALTER TABLE people ADD COLUMN u UUID DEFAULT uuid()")
    rules = {"k": 2, "columns": {**roles, "u": "identifier"}}
    there = tclose.anonymize(backend.table("people"), rules, method="mondrian")
    assert multiset(read(there.data)) == multiset(here.data)
    one, two = (made.certificate.hashes.output for made in (here, there))
    assert one == two


def test_integers_and_words_that_look_alike_stay_apart_in_sqlite(engines: Engines) -> None:
    data = engines.sqlite(TABLE)
    connection = data.get_backend().con
    connection.execute("CREATE TABLE odd (n INTEGER, w TEXT COLLATE NOCASE, b BOOLEAN, d DATE)")
    connection.executemany(
        "INSERT INTO odd VALUES (?, ?, ?, ?)",
        [(2**53 + 1, "Ann", 1, "2024-01-02"), (2**53, "ann", 0, None), (None, "ANN", None, "x")],
    )
    source = open_source(data.get_backend().table("odd"))
    assert source.count_distinct("w") == 3 and source.count_distinct("n") == 3
    assert sorted(row["n"] or 0 for row in source.group(["n"]).to_pylist()) == [0, 2**53, 2**53 + 1]
    assert read(source).column("d").to_pylist() == ["2024-01-02", None, "x"]
    connection.execute("INSERT INTO odd VALUES ('not a number', 'secret', 1, NULL)")
    with pytest.raises(DataError, match="backend refuses") as refused:
        open_source(data.get_backend().table("odd")).group(["n"])
    assert "not a number" not in str(refused.value)


def test_postgres_types_come_through_ibis_exactly(engines: Engines) -> None:
    engines.database.make_kinds()
    backend = engines.postgres_backend()
    through, direct = backend.table("kinds"), engines.database.url("kinds")
    assert open_source(through).digest() == open_source(direct).digest()
    assert read(through).to_pylist() == read(direct).to_pylist()
    engines.database.run("INSERT INTO kinds SELECT k.* FROM kinds AS k, generate_series(1, 5)")
    roles = dict.fromkeys(through.columns, "insensitive")
    keys = dict.fromkeys(("small", "free", "loose", "feeling", "id", "instant", "host"), "quasi")
    rules = {"k": 2, "columns": {**roles, **keys, "words": {"role": "sensitive", "t": 1}}}
    made = tclose.anonymize(through, rules, method="mondrian")
    other = tclose.anonymize(direct, rules, method="mondrian")
    assert multiset(read(made.data)) == multiset(other.data)
    assert backend.con.info.transaction_status.name == "IDLE"
    assert backend.con.execute("SHOW TimeZone").fetchone() == ("UTC",)


def test_a_postgres_table_that_changes_is_refused_or_released_rightly(engines: Engines) -> None:
    data, changed = engines.postgres(TABLE), []

    def change(step: object) -> None:
        if not changed:
            changed.append(1)
            engines.database.run("DELETE FROM people WHERE age < 9; UPDATE people SET code = 'zz'")

    with pytest.raises(DataError, match="changed"):
        tclose.anonymize(data, RULES, method="mondrian", progress=change)
    assert changed


def test_what_the_backend_complains_about_shows_no_value(engines: Engines) -> None:
    data = engines.duckdb(pa.table({"a": ["1", "secret"], "b": ["x", "y"]}))
    broken = data.mutate(a=data.a.cast("int64"))
    with pytest.raises(DataError) as refused:
        tclose.audit(broken, quasi="a", sensitive="b")
    assert "secret" not in str(refused.value)
    data.get_backend().con.execute("DROP TABLE people")
    with pytest.raises(DataError, match="backend refuses"):
        open_source(data)
