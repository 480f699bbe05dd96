"""Rows that do not count as one, on every engine: the same verdicts, classes and released rows."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

import tclose

KEY = b"a key of the steward"
COUNTING = {
    "count": pa.array([1 + at % 3 for at in range(120)], pa.int32()),
    "weight": pa.array([Decimal(25 + at * at % 75) / 100 for at in range(120)]),
    "subject": pa.array([f"Ms {at * 37 % 67}" for at in range(120)]),
}
Given = tuple[Callable[..., Any], Callable[[Any], pa.Table]]


def visits(role: str) -> pa.Table:
    chance = np.random.default_rng(7)
    return pa.table(
        {
            "age": pa.array(chance.integers(18, 60, 120), pa.int64()),
            "town": chance.choice(["Ulm", "Köln", "Bonn"], 120).tolist(),
            "ill": chance.choice(["flu", "ulcer", "gout"], 120, p=[0.5, 0.3, 0.2]).tolist(),
            "counts": COUNTING[role],
        }
    )


def rules(role: str) -> dict[str, Any]:
    ill = {"role": "sensitive", "t": 0.3, "distance": "equal", "alpha": 0.9}
    return {"k": 4, "columns": {"age": "quasi", "town": "quasi", "ill": ill, "counts": role}}


def _relation(table: pa.Table, *_: Any) -> Any:
    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("CREATE TABLE visits AS SELECT * FROM given")
    return connection.table("visits")


def _csv(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Path:
    pa.csv.write_csv(table, folder / "in.csv")
    return folder / "in.csv"


def _spark(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("spark").createDataFrame(table).repartition(2)


def _postgres(table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("database").put("visits", table)


ENGINES: dict[str, Given] = {
    "pandas": (
        lambda table, *_: table.to_pandas(),
        lambda data: pa.Table.from_pandas(data, preserve_index=False),
    ),
    "polars, lazy": (
        lambda table, *_: pl.from_arrow(table).lazy(),
        lambda data: data.collect().to_arrow(),
    ),
    "DuckDB": (_relation, lambda data: data.to_arrow_table()),
    "CSV": (_csv, lambda data: data),
    "Spark": (_spark, lambda data: data.toArrow()),
    "PostgreSQL": (_postgres, lambda data: data),
}


def texts(table: pa.Table) -> list[tuple[str, ...]]:
    columns = [[str(one) for one in table.column(name).to_pylist()] for name in table.column_names]
    return sorted(zip(*columns, strict=True))


@pytest.mark.parametrize("role", list(COUNTING))
@pytest.mark.parametrize("engine", list(ENGINES))
def test_rows_count_the_same_on_every_engine(
    engine: str, role: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    given, back = ENGINES[engine]
    data, known = given(visits(role), tmp_path, request), visits(role)
    mine, theirs = (tclose.audit(one, rules(role)).to_json() for one in (data, known))
    assert mine | {"source": ""} == theirs | {"source": ""}
    made, other = (
        tclose.anonymize(one, rules(role), method="mondrian", key=KEY) for one in (data, known)
    )
    assert texts(back(made.data)) == texts(other.data)
    for key in ("requirements", "rows", "classes", "k", "sizes", "loss"):
        assert made.certificate.to_json()[key] == other.certificate.to_json()[key], key
