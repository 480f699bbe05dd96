"""Values on Spark are those of Arrow: counted, streamed and hashed alike, or refused in words."""

from __future__ import annotations

import string
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose import DataError, Reading
from tclose.data.encode.cells import count_cells
from tclose.data.opening import open_source
from tclose.data.source import ROWS

TYPES: dict[str, pa.DataType] = {
    "text": pa.string(),
    "flag": pa.bool_(),
    "tiny": pa.int8(),
    "small": pa.int16(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "money": pa.decimal128(10, 2),
    "wide": pa.decimal128(38, 18),
    "day": pa.date32(),
    "moment": pa.timestamp("us", "UTC"),
    "bytes": pa.binary(),
    "list": pa.list_(pa.float64()),
    "map": pa.map_(pa.string(), pa.int64()),
    "struct": pa.struct({"a": pa.string(), "b": pa.list_(pa.int32())}),
}
SCALARS = [name for name in TYPES if name not in ("bytes", "list", "map", "struct")]
NESTED = st.fixed_dictionaries(
    {"a": st.none() | st.text(max_size=3), "b": st.none() | st.lists(st.integers(0, 9), max_size=2)}
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": st.sampled_from(["", " ", "ü", "日本", "a\u0301", "\U0001f600", "0", '"', "\n", "\x00"])
    | st.text(string.printable, max_size=5),
    "flag": st.booleans(),
    "tiny": st.integers(-128, 127),
    "small": st.integers(-(2**15), 2**15 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32),
    "double": st.sampled_from([0.0, -0.0, float("nan"), float("inf"), 1e22, 1e-7]) | st.floats(),
    "money": st.decimals(-1000, 1000, places=2),
    "wide": st.decimals(-(10**9), 10**9, places=18),
    "day": st.dates(date(1, 1, 1), date(9999, 12, 31)),
    "moment": st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
    "bytes": st.binary(max_size=4),
    "list": st.lists(st.none() | st.sampled_from([0.5, -1.0, 2.0]), max_size=3),
    "map": st.dictionaries(st.text("ab", max_size=2), st.none() | st.integers(0, 9), max_size=1),
    "struct": NESTED,
}


def arrow(columns: dict[str, list[Any]]) -> pa.Table:
    made = {}
    for name, values in columns.items():
        if name == "map":
            values = [None if one is None else list(one.items()) for one in values]
        made[name] = pa.array(values, TYPES[name])
    return pa.table(made)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """A few rows of every type; None is in every column."""
    rows = draw(st.integers(1, 25))
    columns = {
        name: draw(st.lists(st.none() | values, min_size=rows, max_size=rows))
        for name, values in VALUES.items()
    }
    return arrow(columns)


def counted(table: pa.Table) -> Counter[tuple[str, ...]]:
    """The rows of a grouping: each value as Python writes it, and the weight."""
    return Counter(tuple(repr(value) for value in row.values()) for row in table.to_pylist())


@settings(max_examples=5)
@given(tables())
def test_counts_rows_and_hashes_are_those_of_arrow(spark: Any, table: pa.Table) -> None:
    mine, theirs = open_source(spark.createDataFrame(table)), open_source(table)
    assert mine.n_rows == theirs.n_rows
    assert mine.digest() == theirs.digest()
    streamed = pa.Table.from_batches(mine.stream().batches(), mine.stream().schema)
    assert counted(streamed) == counted(table)
    assert [mine.is_scalar(name) for name in TYPES] == [theirs.is_scalar(name) for name in TYPES]
    cells, others = count_cells(mine, SCALARS), count_cells(theirs, SCALARS)
    assert cells.rows.tolist() == others.rows.tolist()
    for name in SCALARS:
        assert cells.dictionaries[name].labels == others.dictionaries[name].labels, name
        assert cells.codes[name].tolist() == others.codes[name].tolist(), name


def test_missing_values_and_zeros_are_folded_on_the_cluster(spark: Any) -> None:
    nan = float("nan")
    table = pa.table({"x": pa.array([nan, None, -0.0, 0.0, nan, 1.5], pa.float32())})
    source = open_source(spark.createDataFrame(table).repartition(4))
    found = {row["x"]: row[ROWS] for row in source.group(["x"]).to_pylist()}
    assert found == {None: 3, 0.0: 2, 1.5: 1}
    assert source.count_distinct("x") == 3


def test_moments_with_and_without_a_zone(spark: Any) -> None:
    moments = [datetime(2024, 7, 1, 12, 30, 5, 123456), None, datetime(1969, 12, 31, 23, 59)]
    aware = pa.array(moments, pa.timestamp("us", "Europe/Berlin"))
    table = pa.table({"aware": aware, "naive": pa.array(moments, pa.timestamp("us"))})
    frame = spark.createDataFrame(table, "aware timestamp, naive timestamp_ntz")
    source = open_source(frame)
    assert source.digest() == open_source(table).digest()
    (batch,) = [one for one in source.stream().batches() if one.num_rows == 3] or [
        pa.Table.from_batches(source.stream().batches()).combine_chunks().to_batches()[0]
    ]
    assert batch.column("naive").to_pylist() == moments
    assert batch.column("aware").cast(pa.int64()).equals(aware.cast(pa.int64()))


def test_a_value_of_a_megabyte_survives(spark: Any, tmp_path: Path) -> None:
    texts = ["ä" * (1 << 19), "b" * (1 << 20), None, "ä" * (1 << 19)]
    table = pa.table({"long": texts, "n": [1, 2, 3, 4]})
    frame = spark.createDataFrame(table).repartition(2)
    source = open_source(frame)
    assert source.digest() == open_source(table).digest()
    assert sorted(row[ROWS] for row in source.group(["long"]).to_pylist()) == [1, 1, 2]
    streamed = pa.Table.from_batches(source.stream().batches())
    assert counted(streamed) == counted(table)
    for kind in ("csv", "parquet"):
        source.save(tmp_path / f"long.{kind}", lambda written: None)
        back = open_source(tmp_path / f"long.{kind}", Reading(engine="spark"))
        assert back.group(["long"]).num_rows == 3


def test_texts_are_told_apart_by_their_bytes_whatever_their_collation(spark: Any) -> None:
    frame = spark.sql("SELECT x COLLATE UTF8_LCASE AS x FROM VALUES ('A'), ('a'), ('a') AS t(x)")
    found = {row["x"]: row[ROWS] for row in open_source(frame).group(["x"]).to_pylist()}
    assert found == {"A": 1, "a": 2}


def test_a_column_of_nothing_is_counted(spark: Any) -> None:
    source = open_source(spark.sql("SELECT null AS v, 1 AS a"))
    assert source.is_scalar("v") and source.group(["v"]).to_pylist() == [{"v": None, ROWS: 1}]
    table = pa.table({"v": pa.nulls(1), "a": pa.array([1], pa.int32())})
    assert source.digest() == open_source(table).digest()


@pytest.mark.parametrize("name", ["a.b", "a b", "a`b", "ü", "__x", 'a"b', "1"])
def test_names_of_columns_may_be_anything(spark: Any, name: str) -> None:
    table = pa.table({name: [1, 1, 2], "other": ["x", "y", "z"]})
    source = open_source(spark.createDataFrame(table))
    assert source.columns == (name, "other") and source.count_distinct(name) == 2
    assert source.digest() == open_source(table).digest()
    assert counted(source.group([name])) == counted(open_source(table).group([name]))


def test_what_spark_cannot_hand_out_is_refused_by_its_column(spark: Any) -> None:
    frame = spark.sql("SELECT 1 AS a, INTERVAL '1' YEAR AS since")
    with pytest.raises(DataError, match=r"column 'since'.*interval year"):
        open_source(frame)


def test_names_that_sql_takes_for_one_are_refused(spark: Any) -> None:
    with pytest.raises(DataError, match="duplicate column names"):
        open_source(spark.sql("SELECT 1 AS a, 2 AS A"))


def test_a_stream_is_refused(spark: Any) -> None:
    with pytest.raises(DataError, match="no end"):
        open_source(spark.readStream.format("rate").load())


def test_more_cells_than_are_taken_are_not_collected(spark: Any) -> None:
    from tclose.errors import TooManyCells

    source = open_source(spark.range(1000).withColumnRenamed("id", "a"), Reading(max_cells=999))
    with pytest.raises(TooManyCells) as raised:
        source.group(["a"])
    assert raised.value.most == 999
    assert open_source(source.frame, Reading(max_cells=1000)).group(["a"]).num_rows == 1000


def test_decimals_keep_their_places(spark: Any) -> None:
    table = pa.table({"d": pa.array([Decimal("1.20"), Decimal("-0.05"), None], TYPES["money"])})
    source = open_source(spark.createDataFrame(table))
    assert count_cells(source, ["d"]).dictionaries["d"].labels == ("-0.05", "1.20")


def test_moments_inside_of_lists_and_structures(spark: Any) -> None:
    zoned, moment = pa.timestamp("us", "UTC"), datetime(2024, 7, 1, 12, 30)
    table = pa.table(
        {
            "list": pa.array([[moment, None], None], pa.list_(zoned)),
            "struct": pa.array([{"a": moment}, None], pa.struct({"a": zoned})),
            "map": pa.array([[("k", moment)], None], pa.map_(pa.string(), zoned)),
            "deep": pa.array([[{"x": moment}], []], pa.list_(pa.struct({"x": zoned}))),
        }
    )
    source = open_source(spark.createDataFrame(table))
    assert source.digest() == open_source(table).digest()
    assert counted(pa.Table.from_batches(source.stream().batches())) == counted(table)


def test_a_frame_of_spark_connect_is_refused() -> None:
    remote = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})()
    with pytest.raises(DataError, match="Spark Connect"):
        open_source(remote)
