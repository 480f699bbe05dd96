"""What nobody asked to change comes out as it went in, or is refused before anything is written.

Every kind of column goes through every kind of frame and file. What is expected of each is written
down here: the same values and types, the same values in a type named here, or a refusal.
"""

from __future__ import annotations

import csv
import gzip
import io
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import tclose
from tclose.data.opening import open_source
from tclose.errors import TcloseError

ROWS = 12
AGES = list(range(20, 20 + ROWS))
ILLS = ["flu", "ulcer", "cough"] * 4
BERLIN = "Europe/Berlin"
ODD = [
    "e\u0301 é", "👩‍👩‍👧 🏴", "שלום عربي", "two\nlines", "two\r\nlines", 'q"q', '"', " lead",
    "trail ", "=1+1", "007", "",
]  # fmt: skip
LONG = "ü" * 1_500_000


def of(kind: pa.DataType, *values: Any) -> pa.Array:
    """Some values over and over, a missing one among them."""
    some = [*values, None]
    return pa.array([some[at % len(some)] for at in range(ROWS)], kind)


COLUMNS: dict[str, pa.Array] = {
    "text": pa.array([*ODD[:-1], None]),
    "empty": of(pa.string(), "", "x"),
    "nul": of(pa.string(), "a\0b"),
    "long": of(pa.string(), LONG),
    "large": of(pa.large_string(), "x", "ß"),
    "view": of(pa.string_view(), "x", "a longer text than fits into a view"),
    "bool": of(pa.bool_(), True, False),
    "int8": of(pa.int8(), -128, 127),
    "int64": of(pa.int64(), -(2**63), 2**63 - 1, 2**53 + 1),
    "uint64": of(pa.uint64(), 2**64 - 1, 0),
    "float": of(pa.float64(), float("nan"), -0.0, 0.1 + 0.2, 5e-324, 1.7976931348623157e308, 1e22),
    "float32": of(pa.float32(), 0.1, float("nan"), 16777216.0),
    "float16": pa.array(np.array([0.1] * ROWS, np.float16)),
    "infinite": of(pa.float64(), float("inf"), 1.0),
    "price": of(pa.decimal128(9, 2), Decimal("1.10"), Decimal("-2.00")),
    "digits": of(pa.decimal128(38, 10), Decimal("9" * 28 + "." + "1234567890")),
    "more digits": of(pa.decimal256(60, 5), Decimal("9" * 50 + ".12345")),
    "day": of(pa.date32(), date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)),
    "seconds": of(pa.timestamp("s"), datetime(9999, 12, 31, 23, 59, 59), datetime(1, 1, 1)),
    "micro": of(pa.timestamp("us"), datetime(2020, 1, 1, 12, 0, 0, 1), datetime(1600, 1, 1)),
    "nano": of(pa.timestamp("ns"), 1, -1, 2**63 - 1),
    "zone": of(pa.timestamp("us", BERLIN), datetime(2020, 7, 1, tzinfo=UTC), datetime(1, 1, 2)),
    "nano zone": of(pa.timestamp("ns", BERLIN), 1_001, -1),
    "time": of(pa.time64("us"), time(23, 59, 59, 999_999), time(0)),
    "nano time": of(pa.time64("ns"), 1, 86_399_999_999_999),
    "span": of(pa.duration("ns"), 1, -(2**62)),
    "months": of(pa.month_day_nano_interval(), pa.MonthDayNano([1, 2, 3])),
    "bytes": of(pa.binary(), b"\x00\xff", b""),
    "list": of(pa.list_(pa.int16()), [1, None], []),
    "struct": of(pa.struct({"x": pa.int8(), "y": pa.string()}), {"x": 1, "y": ""}, {"x": None}),
    "map": of(pa.map_(pa.string(), pa.int8()), [("a", 1)], []),
    "category": pa.DictionaryArray.from_arrays(
        pa.array([2, 0, None] * 4, pa.int8()), ["b", "unused", "a"], ordered=True
    ),
    "nothing": pa.nulls(ROWS),
}


def table(*names: str) -> pa.Table:
    return pa.table({"age": AGES, **{name: COLUMNS[name] for name in names}, "ill": ILLS})


def rules(*names: str, **release: str) -> dict[str, Any]:
    columns: dict[str, Any] = {"age": "quasi", "ill": {"role": "sensitive", "t": 1}}
    columns |= dict.fromkeys(names, "insensitive")
    return {"k": 3, "columns": columns, "release": {"rows": "keep", **release}}


def released(data: Any, *names: str, **options: Any) -> Any:
    return tclose.anonymize(data, rules(*names), method="mondrian", **options).data


def told(column: Any) -> list[Any]:
    """The values, with those that Python cannot hold as the numbers behind them."""
    if getattr(column.type, "unit", "") == "ns":
        column = column.cast(pa.int64())
    return [repr(value) for value in column.to_pylist()]


def assert_same(after: pa.Table, before: pa.Table, names: Any) -> None:
    assert after.column_names == before.column_names
    for name in names:
        assert after.schema.field(name).type == before.schema.field(name).type, name
        assert told(after.column(name)) == told(before.column(name)), name


# --- frames that hold everything


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".dta", ".parquet", ".arrow"])
def test_categories_and_texts_that_are_views_are_released(tmp_path: Path, suffix: str) -> None:
    """So Polars writes its categories to Arrow files, and gives them to `pa.table`."""
    towns = ["Aar", "Bern", None] * 4
    columns = {"town": pl.Series(towns, dtype=pl.Categorical), "note": towns, "ill": ILLS}
    frame = pl.DataFrame({"age": AGES, **columns})
    frame.write_ipc(tmp_path / "raw.arrow")
    for at, raw in enumerate((pa.table(frame), tmp_path / "raw.arrow")):
        place = tmp_path / f"out{at}{suffix}"
        released(raw, "town", "note", output=place)
        source = open_source(place)
        found = pa.Table.from_batches(source.stream().batches())
        assert [found[name].to_pylist() for name in ("town", "note")] == [towns, towns]
        counted = rules("note")
        counted["columns"]["town"] = "quasi"
        assert tclose.anonymize(raw, counted, method="mondrian").holds


def test_a_pyarrow_table_keeps_everything_else() -> None:
    before = table(*COLUMNS).replace_schema_metadata({"about": "patients", "pandas": "{}"})
    after = released(before, *COLUMNS)
    assert_same(after, before, [*COLUMNS, "ill"])
    assert not after.schema.metadata


def test_a_dataset_comes_back_as_a_dataset() -> None:
    names = [name for name in COLUMNS if name != "view"]
    before = ds.dataset(table(*names))
    after = released(before, *names)
    assert isinstance(after, ds.Dataset)
    assert_same(after.to_table(), before.to_table(), [*names, "ill"])


@pytest.mark.parametrize("kind", ["memory", "files", "both", "filtered"])
def test_a_dataset_with_categories_that_are_views_is_counted_and_released(
    tmp_path: Path, kind: str
) -> None:
    towns = ["Aar", "Bern", None] * 4
    words = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None] * 4, pa.int8()), pa.array(["Aar", "Bern"], pa.string_view())
    )
    raw = pa.table({"age": AGES, "town": words, "ill": ILLS})
    with pa.ipc.new_file(tmp_path / "raw.arrow", raw.schema) as file:
        file.write_table(raw)
    memory, files = ds.dataset(raw), ds.dataset(tmp_path / "raw.arrow", format="ipc")
    given, times = {
        "memory": (memory, 1),
        "files": (files, 1),
        "both": (ds.dataset([memory, files]), 2),
        "filtered": (files.filter(ds.field("age") >= 0), 1),
    }[kind]
    after = released(given, "town")
    assert isinstance(after, ds.Dataset)
    assert sorted(map(str, after.to_table()["town"].to_pylist())) == sorted(map(str, towns * times))
    counted = rules("town")
    counted["columns"]["town"] = "quasi"
    assert tclose.audit(given, counted).rows == ROWS * times


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_a_polars_frame_keeps_everything_else(lazy: bool) -> None:
    names = [name for name in COLUMNS if name not in ("months", "map", "more digits")]
    before: Any = pl.from_arrow(table(*names)).with_columns(
        pl.Series("enum", ["b", "a", None] * 4, pl.Enum(["a", "b", "unused"])),
        pl.Series("categorical", ["b", "a", None] * 4, pl.Categorical),
        pl.Series("array", [[1, 2], None, [3, 4]] * 4, pl.Array(pl.Int8, 2)),
        pl.Series("nested", [["x"], None, []] * 4, pl.List(pl.Categorical)),
        pl.Series("decimal", [Decimal("1.10"), None, Decimal(0)] * 4, pl.Decimal(38, 2)),
    )
    names = [name for name in before.columns if name not in ("age", "ill")]
    after = released(before.lazy() if lazy else before, *names)
    assert isinstance(after, pl.LazyFrame) == lazy
    after = after.lazy().collect()
    assert after.columns == before.columns
    before = before.cast({"enum": pl.Enum(["a", "b"])})
    assert after.drop("age").schema == before.drop("age").schema
    assert after.drop("age").equals(before.drop("age"), null_equal=True)
    assert after.schema["age"] == pl.String


def test_a_relation_comes_back_on_its_own_connection() -> None:
    names = [name for name in COLUMNS if name not in ("float16", "more digits")]
    connection = duckdb.connect()
    connection.register("arrow", table(*names))
    connection.execute("CREATE TABLE patients AS SELECT * FROM arrow")
    connection.unregister("arrow")
    connection.execute("ALTER TABLE patients ADD COLUMN kind ENUM('x', 'y') DEFAULT 'y'")
    connection.execute("ALTER TABLE patients ADD COLUMN huge UHUGEINT")
    connection.execute("UPDATE patients SET huge = 340282366920938463463374607431768211455")
    before = connection.table("patients")
    names = [name for name in before.columns if name not in ("age", "ill")]
    after = released(before, *names)
    assert isinstance(after, duckdb.DuckDBPyRelation)
    narrowed = [str(kind).replace("ENUM('x', 'y')", "ENUM('y')") for kind in before.types[1:]]
    assert after.columns == before.columns and list(map(str, after.types[1:])) == narrowed
    rest = ", ".join(f'CAST("{name}" AS VARCHAR)' for name in before.columns[1:])
    assert after.project(rest).fetchall() == before.project(rest).fetchall()
    joined = connection.sql("SELECT count(*) FROM after JOIN patients ON true")
    assert joined.fetchall() == [(ROWS * ROWS,)]
    assert connection.sql("SHOW TABLES").fetchall() == [("patients",)]


# --- files


def written(path: Path, source: pa.Table) -> Path:
    """The table in a file, by pyarrow alone."""
    if path.suffix == ".parquet":
        pq.write_table(source, path)
    elif path.suffix == ".arrows":
        with pa.ipc.new_stream(path, source.schema) as stream:
            stream.write_table(source, 5)
    else:
        lz4 = pa.ipc.IpcWriteOptions(compression="lz4")
        options = lz4 if path.suffix == ".feather" else None
        with pa.ipc.new_file(path, source.schema, options=options) as file:
            file.write_table(source, 5)
    return path


def read(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.ParquetFile(path).read()
    with pa.OSFile(str(path)) as file:
        stored = pa.ipc.open_stream(file) if path.suffix == ".arrows" else pa.ipc.open_file(file)
        return stored.read_all()


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".arrows", ".feather"])
def test_files_of_typed_columns_keep_everything_else(tmp_path: Path, suffix: str) -> None:
    refused = ("months",) if suffix == ".parquet" else ()
    names = [name for name in COLUMNS if name not in refused]
    source = written(tmp_path / f"in{suffix}", table(*names))
    released(source, *names, output=tmp_path / f"out{suffix}")
    assert_same(read(tmp_path / f"out{suffix}"), read(source), [*names, "ill"])


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "months"])
def test_what_a_table_in_memory_holds_a_parquet_file_holds(tmp_path: Path, name: str) -> None:
    """Seconds are stored as milliseconds: Parquet knows no coarser unit."""
    released(table(name), name, output=tmp_path / "out.parquet")
    after, before = read(tmp_path / "out.parquet").column(name), table(name).column(name)
    if name == "seconds":
        before = before.cast(pa.timestamp("ms"))
    assert (after.type, told(after)) == (before.type, told(before))


TEXTS: dict[str, list[str] | str] = {
    "text": [*ODD[:-1], ""],
    "empty": ["", "x", ""] * 4,
    "nul": "null byte",
    "long": [LONG, ""] * 6,
    "large": ["x", "ß", ""] * 4,
    "view": ["x", "a longer text than fits into a view", ""] * 4,
    "bool": ["true", "false", ""] * 4,
    "int8": ["-128", "127", ""] * 4,
    "int64": ["-9223372036854775808", "9223372036854775807", "9007199254740993", ""] * 3,
    "uint64": ["18446744073709551615", "0", ""] * 4,
    "float": "numbers",
    "float32": "numbers",
    "float16": "numbers",
    "infinite": "numbers",
    "price": ["1.10", "-2.00", ""] * 4,
    "digits": ["9" * 28 + ".1234567890", ""] * 6,
    "more digits": ["9" * 50 + ".12345", ""] * 6,
    "day": ["0001-01-01", "1969-12-31", "9999-12-31", ""] * 3,
    "seconds": ["9999-12-31 23:59:59", "0001-01-01 00:00:00", ""] * 4,
    "micro": ["2020-01-01 12:00:00.000001", "1600-01-01 00:00:00.000000", ""] * 4,
    "nano": [
        "1970-01-01 00:00:00.000000001", "1969-12-31 23:59:59.999999999",
        "2262-04-11 23:47:16.854775807", "",
    ] * 3,
    "zone": ["2020-07-01 02:00:00.000000+0200", "0001-01-02 00:53:28.000000+0053", ""] * 4,
    "nano zone": [
        "1970-01-01 01:00:00.000001001+0100", "1970-01-01 00:59:59.999999999+0100", "",
    ] * 4,
    "time": ["23:59:59.999999", "00:00:00.000000", ""] * 4,
    "nano time": ["00:00:00.000000001", "23:59:59.999999999", ""] * 4,
    "category": ["a", "b", ""] * 4,
    "nothing": [""] * ROWS,
    **dict.fromkeys(("span", "months", "bytes", "list", "struct", "map"), "has no text for"),
}  # fmt: skip
"""What stands in a CSV file, or what its refusal says. Numbers are read back as numbers."""


def fields(path: Path, name: str) -> list[str]:
    text = gzip.decompress(path.read_bytes()).decode()
    csv.field_size_limit(1 << 24)
    return [row[name] for row in csv.DictReader(io.StringIO(text, newline=""))]


@pytest.mark.slow
@pytest.mark.parametrize("name", COLUMNS)
def test_csv_files_hold_every_value_as_text_or_none(tmp_path: Path, name: str) -> None:
    output, expected = tmp_path / "out.csv.gz", TEXTS[name]
    if expected == "numbers":
        released(table(name), name, output=output)
        kind = COLUMNS[name].type.to_pandas_dtype()
        after = [kind(field) if field else None for field in fields(output, name)]
        known = [None if v is None or v != v else kind(v) for v in COLUMNS[name].to_pylist()]
        assert list(map(repr, after)) == list(map(repr, known))
    elif isinstance(expected, str):
        with pytest.raises(TcloseError, match=expected):
            released(table(name), name, output=output)
        assert list(tmp_path.iterdir()) == []
    else:
        released(table(name), name, output=output)
        assert fields(output, name) == expected


def test_a_row_that_is_too_long_for_a_csv_file_is_refused(tmp_path: Path) -> None:
    long = table().append_column("note", pa.array(["x" * (9 << 20)] + [None] * (ROWS - 1)))
    with pytest.raises(TcloseError, match="longer than"):
        released(long, "note", output=tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []
    released(long, "note", output=tmp_path / "out.parquet")
    assert told(read(tmp_path / "out.parquet").column("note")) == told(long.column("note"))


def test_a_name_that_a_csv_file_would_lose_is_refused(tmp_path: Path) -> None:
    odd = table().rename_columns(["age", " ill"])
    policy = rules() | {"columns": {"age": "quasi", " ill": {"role": "sensitive", "t": 1}}}
    with pytest.raises(TcloseError, match="begins or ends with a space"):
        tclose.anonymize(odd, policy, output=tmp_path / "out.csv")


def serial(*moments: Any) -> list[Any]:
    return [moments[at % len(moments)] for at in range(ROWS)]


CELLS: dict[str, list[Any] | str] = {
    "text": [*ODD[:-1], None],
    "empty": ["", "x", None] * 4,
    "nul": "control characters",
    "long": "32,767",
    "large": ["x", "ß", None] * 4,
    "view": ["x", "a longer text than fits into a view", None] * 4,
    "bool": [True, False, None] * 4,
    "int8": [-128, 127, None] * 4,
    "int64": r"beyond 2\^53",
    "uint64": r"beyond 2\^53",
    "float": serial(None, -0.0, 0.1 + 0.2, 5e-324, 1.7976931348623157e308, 1e22, None),
    "float32": serial(float(np.float32(0.1)), None, 16777216, None),
    "float16": [float(np.float16(0.1))] * ROWS,
    "infinite": "infinite",
    "price": [1.1, -2, None] * 4,
    "digits": "15 digits",
    "more digits": "15 digits",
    "day": "1900",
    "seconds": "1900",
    "micro": "millisecond",
    "nano": "millisecond",
    "zone": "time zone",
    "nano zone": "time zone",
    "time": "millisecond",
    "nano time": "millisecond",
    "category": ["a", "b", None] * 4,
    "nothing": [None] * ROWS,
    **dict.fromkeys(("span", "months", "bytes", "list", "struct", "map"), "lists, structures"),
}
"""What stands in a sheet, or what its refusal says."""


@pytest.mark.slow
@pytest.mark.parametrize("name", COLUMNS)
def test_sheets_hold_every_value_as_it_is_or_none(tmp_path: Path, name: str) -> None:
    output, expected = tmp_path / "out.xlsx", CELLS[name]
    if isinstance(expected, str):
        with pytest.raises(TcloseError, match=expected):
            released(table(name), name, output=output)
        assert list(tmp_path.iterdir()) == []
        return
    released(table(name), name, output=output)
    sheet = openpyxl.load_workbook(output).active
    after = [row[1] for row in sheet.iter_rows(min_row=2, values_only=True)]
    assert after == expected
    assert [type(one) for one in after if isinstance(one, bool | str)] == [
        type(one) for one in expected if isinstance(one, bool | str)
    ]


def test_days_and_moments_of_a_sheet_survive(tmp_path: Path) -> None:
    before = table().append_column("day", of(pa.date32(), date(1900, 3, 1), date(9999, 12, 31)))
    moments = of(
        pa.timestamp("us"), datetime(2020, 2, 29, 23, 59, 59, 999_000), datetime(1970, 1, 1)
    )
    before = before.append_column("moment", moments)
    before = before.append_column("time", of(pa.time64("us"), time(0, 0, 0, 1_000), time(23, 59)))
    released(before, "day", "moment", "time", output=tmp_path / "out.xlsx")
    after = released(tmp_path / "out.xlsx", "day", "moment", "time")
    assert_same(after, before, ["day", "moment", "time"])


# --- a file of one kind becomes one of another


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".csv.zst", ".xlsx", ".arrow"])
def test_texts_survive_the_way_through_any_kind_of_file_and_back(
    tmp_path: Path, suffix: str
) -> None:
    """From Parquet to another kind, and from that to Parquet again."""
    source = written(tmp_path / "in.parquet", table("text"))
    middle, last = tmp_path / f"middle{suffix}", tmp_path / "out.parquet"
    released(source, "text", output=middle)
    tclose.anonymize(middle, rules("text"), method="mondrian", output=last)
    assert told(read(last).column("text")) == told(table("text").column("text"))


def test_spans_are_microseconds_apart() -> None:
    """The hash of a table tells rows apart that differ by a microsecond."""
    spans = [pa.table({"a": of(pa.duration("us"), timedelta(microseconds=n))}) for n in (1, 2)]
    one, other = (open_source(each).digest() for each in spans)
    assert one != other
