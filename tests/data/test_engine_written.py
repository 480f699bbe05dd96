"""Parquet files that DuckDB writes by itself hold what would be written from the rows."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tclose
from tclose.data import opening
from tclose.data.engines.duckdb.source import DuckSource
from tclose.data.io import counting

RULES: dict[str, Any] = {
    "k": 5,
    "columns": {
        "age": "quasi",
        "zip": {"role": "quasi", "hierarchy": {"prefix": [2, 1, 0]}},
        "dose": "quasi",
        "ill": {"role": "sensitive", "t": 0.4, "distance": "equal"},
        "day": "insensitive",
        "paid": "insensitive",
        "note": "insensitive",
        "name": "identifier",
    },
}


def people(rows: int) -> pa.Table:
    """People with gaps, NaN, both zeros and texts of their own."""
    chance = np.random.default_rng(5)
    return pa.table(
        {
            "name": [f"person {at}" for at in range(rows)],
            "age": pa.array(chance.integers(18, 40, rows), mask=chance.random(rows) < 0.02),
            "zip": [f"{code:02d}" for code in chance.integers(0, 40, rows)],
            "dose": chance.choice([1.5, 2.0, np.nan, -0.0, 0.0], rows),
            "ill": pa.array(chance.choice(list("abcd"), rows), mask=chance.random(rows) < 0.02),
            "day": pa.array(chance.integers(0, 9000, rows).astype("int32"), pa.date32()),
            "paid": pa.array(chance.choice([0.1, np.nan, np.inf, -0.0], rows)),
            "note": pa.array([f"é {at}" for at in range(rows)], mask=chance.random(rows) < 0.1),
        }
    )


def release(place: Path, order: str, threads: int = 2, **search: Any) -> tclose.Release:
    usual = counting.connect

    def connect(memory: str | None = None) -> Any:
        connection = usual(memory)
        connection.execute(f"SET threads = {threads}")
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "connect", connect)
        rules = {**RULES, "release": {"rows": order}}
        target = place.with_name("out.parquet")
        return tclose.anonymize(place, rules, output=target, **({"method": "mondrian"} | search))


def hash_rows(table: pa.Table) -> list[str]:
    return sorted(repr(row) for row in table.to_pylist())


@pytest.mark.parametrize("search", [{}, {"method": "hybrid", "effort": 0.02}])
@pytest.mark.parametrize("order", ["keep", "shuffle"])
def test_the_file_holds_what_would_be_written_from_the_rows(
    order: str, search: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "in.parquet"
    pq.write_table(people(3_000), place)
    written = release(place, order, **search)
    assert "DuckDB" in str(pq.read_metadata(written.path).created_by)
    mine = pq.read_table(written.path)
    monkeypatch.setattr(DuckSource, "can_write", lambda self, translation: False)
    streamed = release(place, order, **search)
    assert "DuckDB" not in str(pq.read_metadata(streamed.path).created_by)
    theirs = pq.read_table(streamed.path)
    assert mine.schema.equals(theirs.schema)
    assert mine.schema.metadata is None
    if order == "keep":
        assert repr(mine.to_pylist()) == repr(theirs.to_pylist())
    assert hash_rows(mine) == hash_rows(theirs)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["keep", "shuffle"])
def test_the_bytes_do_not_depend_on_threads(order: str, tmp_path: Path) -> None:
    place = tmp_path / "in.parquet"
    pq.write_table(people(150_000), place)  # more than one group of rows
    hashes = set()
    for threads in (1, 2, 5):
        made = release(place, order, threads)
        assert made.path is not None
        hashes.add(hashlib.sha256(Path(str(made.path)).read_bytes()).hexdigest())
    assert pq.read_metadata(made.path).num_row_groups > 1
    assert len(hashes) == 1


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "b"] * 50).dictionary_encode(),
        pa.array([[1], None] * 50),
        pa.array([0, 1] * 50, pa.timestamp("ns", "Europe/Berlin")),
    ],
    ids=["categories", "lists", "zones"],
)
def test_what_the_engine_has_no_word_for_is_written_from_the_rows(
    column: pa.Array, tmp_path: Path
) -> None:
    place = tmp_path / "in.parquet"
    pq.write_table(people(100).set_column(7, "note", column), place)
    made = release(place, "keep")
    assert "DuckDB" not in str(pq.read_metadata(made.path).created_by)
    assert pq.read_table(made.path).column("note").combine_chunks().equals(column)


@pytest.mark.parametrize("order", ["keep", "shuffle"])
def test_texts_are_written_alike_whether_few_or_many_are_different(
    order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "in.parquet"
    zips = [f"{row % 3}'{row % 7}{row % 5}" for row in range(3_000)]
    pq.write_table(people(3_000).set_column(2, "zip", pa.array(zips)), place)
    tables = []
    for most in (0, 3, 2_000):  # no column is an enumeration, some are, all are
        monkeypatch.setattr("tclose.data.engines.duckdb.release.MOST_MEMBERS", most)
        tables.append(pq.read_table(release(place, order).path))
    assert len(set(tables[0].column("zip").to_pylist())) > 1
    assert any("'" in text for text in tables[0].column("zip").to_pylist())
    for table in tables:
        assert table.schema.equals(tables[0].schema)
        assert repr(table.to_pylist()) == repr(tables[0].to_pylist())


def test_a_dictionary_of_texts_holds_none_of_rows_that_were_left_out(tmp_path: Path) -> None:
    place, far = tmp_path / "in.parquet", 987
    table = people(300)
    ages = pa.array([far, *table.column("age").to_pylist()[1:]], pa.int64())
    pq.write_table(table.set_column(1, "age", ages), place)
    made = release(place, "shuffle", method="hybrid", effort=0.1, suppression=0.05)
    assert made.left_out > 0 and made.path is not None
    texts = pq.read_table(made.path).column("age").to_pylist()
    assert not any(str(far) in (text or "") for text in texts), "the search left out another row"
    assert str(far).encode() not in Path(str(made.path)).read_bytes()
