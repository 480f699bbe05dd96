"""No raw value stays in what an engine keeps besides the rows of a release it has made.

A marker is planted in dropped and masked columns, in comments, categories, metadata and names of
views; then every byte of the engine's release, and all that its catalogue says, is searched for it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tclose

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

ROWS = 40
MARKER = "Zq7Marker"
TABLE = pa.table(
    {
        "record": [f"{MARKER}-record-{row}" for row in range(ROWS)],
        "age": [20 + row % 10 for row in range(ROWS)],
        "town": [["Aar", "Bern"][row % 4 // 2] for row in range(ROWS)],
        "ill": [["flu", "cough"][row % 2] for row in range(ROWS)],
    }
)
POLICY: dict[str, Any] = {
    "k": 4,
    "columns": {
        "record": "identifier",
        "age": "quasi",
        "town": {"role": "quasi", "clean": {"replace": {f"{MARKER}-spelling": "Aar"}}},
        "ill": {"role": "sensitive", "t": 0.4},
    },
    "release": {"rows": "keep"},  # not every backend of Ibis can shuffle
}


def release(data: Any, harmless: Sequence[str] = (), **more: Any) -> tclose.Release:
    columns = POLICY["columns"] | dict.fromkeys(harmless, "insensitive")
    policy = POLICY | {"columns": columns}
    made: tclose.Release = tclose.anonymize(data, policy, method="mondrian", **more)
    return made


def refuse_marker(*said: object) -> None:
    for words in said:
        assert MARKER not in (words if isinstance(words, str) else repr(words))


def search_folder(folder: Path) -> None:
    """Every file below a folder, as it is and as what it says of its columns."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert MARKER.encode() not in path.read_bytes() and MARKER not in path.name
        if path.suffix == ".parquet":
            file = pq.ParquetFile(path)
            refuse_marker(file.metadata.to_dict(), file.schema_arrow.metadata, file.read())


def test_spark_keeps_none_in_frames_folders_or_plans(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions

    frame = spark.createDataFrame(TABLE)
    noted = functions.col("ill").alias("ill", metadata={"comment": f"{MARKER}-metadata"})
    inner = functions.struct(functions.lit(1).alias("x", metadata={"comment": f"{MARKER}-inner"}))
    frame = frame.withColumns({"ill": noted, "more": functions.array(inner)})
    assert frame.schema.json().count(MARKER) == 2
    made = release(frame, ["more"])
    assert made.data.toArrow().column("more").to_pylist() == [[{"x": 1}]] * ROWS
    refuse_marker(str(made), made.data.schema.json(), made.data.toArrow().to_pylist())
    plan = made.data._jdf.queryExecution()
    refuse_marker(plan.toString(), plan.optimizedPlan().stats().toString())
    release(frame, ["more"], output=tmp_path / "out.parquet")
    release(frame.drop("more"), output=tmp_path / "out.csv")
    for name in ("out.parquet", "out.csv"):
        search_folder(tmp_path / name)


def test_postgres_keeps_none_in_tables_comments_or_statistics(database: Any) -> None:
    url = database.put("people", TABLE)
    database.run(f"COMMENT ON TABLE people IS '{MARKER}-table'")
    database.run(f"COMMENT ON COLUMN people.ill IS '{MARKER}-column'")
    database.run(f"CREATE TYPE sick AS ENUM ('flu', 'cough', '{MARKER}-enum')")
    database.run("ALTER TABLE people ALTER ill TYPE sick USING ill::sick")
    database.run("ALTER TABLE people ADD more sick[] DEFAULT ARRAY['flu'::sick]")
    database.run(f"CREATE DOMAIN place AS text CHECK (VALUE <> '{MARKER}-domain')")
    database.run("ALTER TABLE people ADD whence place DEFAULT 'home'")
    made = release(url, ["more", "whence"], output=database.url("released"))
    assert made.holds and database.run("SELECT count(*) FROM released") == [(ROWS,)]
    refuse_marker(str(made), database.run("SELECT * FROM released"))
    database.run("ANALYZE released")
    refuse_marker(
        database.run("SELECT * FROM pg_stats WHERE tablename = 'released'"),
        database.run("SELECT obj_description('released'::regclass)"),
        database.run(
            "SELECT col_description('released'::regclass, n) FROM generate_series(1, 4) n"
        ),
        database.run("SELECT definition FROM pg_views WHERE schemaname = 'public'"),
        database.run("SELECT indexdef FROM pg_indexes WHERE tablename = 'released'"),
        database.run("SELECT reloptions FROM pg_class WHERE relname = 'released'"),
    )
    kinds = database.run(
        "SELECT enumlabel::text, typtype FROM pg_attribute JOIN pg_type t ON t.oid = atttypid "
        "LEFT JOIN pg_enum ON enumtypid IN (t.oid, t.typelem) "
        "WHERE attrelid = 'released'::regclass AND attnum > 0"
    )
    refuse_marker(kinds)
    assert ("d" not in {kind for _, kind in kinds}) and len(kinds) >= 5
    assert database.run("SELECT more[1], whence FROM released LIMIT 1") == [("flu", "home")]


def open_backend(backend: str, folder: Path) -> Any:
    """The table in a backend of Ibis, put there without Ibis."""
    import ibis

    if backend == "polars":
        return ibis.polars.connect({"people": pl.from_arrow(TABLE)}).table("people")
    if backend == "sqlite":
        place = folder / "people.sqlite"
        with sqlite3.connect(place) as connection:
            connection.execute("CREATE TABLE people (record TEXT, age INT, town TEXT, ill TEXT)")
            rows = zip(*TABLE.to_pydict().values(), strict=True)
            connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
        return ibis.sqlite.connect(place).table("people")
    theirs = ibis.duckdb.connect()
    theirs.con.register("given", TABLE)
    theirs.con.execute("CREATE TABLE people AS SELECT * FROM given")
    return theirs.table("people")


@pytest.mark.parametrize("backend", ["duckdb", "sqlite", "polars"])
def test_ibis_keeps_none_in_types_or_queries(backend: str, tmp_path: Path) -> None:
    pytest.importorskip("ibis", reason="ibis-framework is not installed")
    made = release(open_backend(backend, tmp_path))
    found = made.data.to_pyarrow()
    assert found.num_rows == ROWS and found.column_names == ["age", "town", "ill"]
    refuse_marker(str(made), found.to_pylist(), found.schema.metadata, str(made.data.schema()))
