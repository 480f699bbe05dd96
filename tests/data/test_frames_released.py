"""A release is the caller's own kind of frame: types and order survive, an index does not."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.data.opening import open_source
from tclose.errors import DataError, TcloseError, UsageError

pytestmark = pytest.mark.slow

ROWS = 12
ILLS = ["flu", "ulcer", "cough"] * 4


def rules(*names: str, **more: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {"age": "quasi", "ill": {"role": "sensitive", "t": 1}}
    columns |= dict.fromkeys(names, "insensitive")
    more["release"] = {"rows": "keep"} | more.get("release", {})  # rows stand beside the table's
    return {"k": 3, "columns": columns, **more}


def released(data: Any, *names: str, **more: Any) -> Any:
    return tclose.anonymize(data, rules(*names, **more), method="mondrian").data


# --- pandas

INDEXES = {
    "numbers": pd.RangeIndex(ROWS),
    "some numbers": pd.RangeIndex(5, 5 + 2 * ROWS, 2),
    "twice the same": pd.Index([7, 7, 3] * 4, name="no"),
    "texts and gaps": pd.Index(["a", None, "b"] * 4),
    "moments": pd.date_range("2020", periods=ROWS, tz="Europe/Berlin", name="when"),
    "several levels": pd.MultiIndex.from_arrays([[1, 1, 2] * 4, ["x"] * ROWS], names=["i", None]),
    "categories": pd.CategoricalIndex(["b", "a", "b"] * 4, categories=["b", "a", "z"]),
    "of several kinds": pd.Index(["a", 1, 2.5] * 4, dtype=object),
}


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize("rows", ["keep", "shuffle"])
def test_a_released_pandas_frame_has_a_fresh_index(name: str, rows: str) -> None:
    before = pd.DataFrame({"age": range(ROWS), "no": range(ROWS), "ill": ILLS})
    before.index = INDEXES[name]
    before.attrs = {"about": ["patients"]}
    release = tclose.anonymize(before, rules("no", release={"rows": rows}), method="mondrian")
    after = release.data
    same = before if rows == "keep" else before.iloc[after["no"].to_numpy()]
    pd.testing.assert_frame_equal(
        after.drop(columns="age"), same.drop(columns="age").reset_index(drop=True)
    )
    assert type(after.index) is pd.RangeIndex and not after.attrs
    assert all(isinstance(value, str) for value in after["age"])
    assert ("note: the frame's index is left out" in str(release)) == (name != "numbers")


def test_an_index_that_the_policy_names_is_a_column_like_any_other() -> None:
    frame = pd.DataFrame({"age": range(ROWS), "no": range(ROWS), "ill": ILLS})
    plain = tclose.anonymize(frame, rules("no"), method="mondrian")
    for names in (["age"], ["no"], ["ill"], ["age", "ill"], ["no", "age", "ill"]):
        indexed = tclose.anonymize(frame.set_index(names), rules("no"), method="mondrian")
        pd.testing.assert_frame_equal(indexed.data[frame.columns], plain.data)
        assert not indexed.notes
        audit = tclose.audit(frame.set_index(names), rules("no"))
        assert str(audit) == str(tclose.audit(frame, rules("no")))


PANDAS: dict[str, Any] = {
    "Int64": pd.array([1, None, 2**60 + 1] * 4, dtype="Int64"),
    "boolean": pd.array([True, None, False] * 4, dtype="boolean"),
    "string": pd.array(["a", None, ""] * 4, dtype="string"),
    "categories": pd.Categorical(["a", None, "b"] * 4, categories=["b", "a", "z"]),
    "ordered": pd.Categorical(["a", None, "b"] * 4, categories=["b", "a", "z"], ordered=True),
    "intervals": pd.cut(list(range(ROWS)), 3),
    "arrow list": pd.array([[1], None, []] * 4, dtype=pd.ArrowDtype(pa.list_(pa.int8()))),
    "arrow decimal": pd.array([Decimal("1.1"), None] * 6, pd.ArrowDtype(pa.decimal128(38, 2))),
    "None and NaN": np.array(["x", None, np.nan] * 4, dtype=object),
    "truths": np.array([True, None, False] * 4, dtype=object),
    "zone": pd.date_range("2020", periods=ROWS, tz="Europe/Berlin"),
    "nanoseconds": pd.date_range("2020", periods=ROWS, unit="ns") + pd.Timedelta(1, "ns"),
    "spans": pd.to_timedelta(range(ROWS), unit="s"),
    "periods": pd.period_range("2020", periods=ROWS, freq="M"),
    "decimals": np.array([Decimal("1.10"), None, Decimal("1E+3")] * 4, dtype=object),
    "half": np.array([1.5] * ROWS, np.float16),
    "unsigned": np.array([2**64 - 1] * ROWS, np.uint64),
    "days": np.array([date(1, 1, 1), None, date(9999, 12, 31)] * 4, dtype=object),
    "times": np.array([time(1, 2), None, time(3)] * 4, dtype=object),
    "structures": np.array([{"a": 1}, None, {"b": 2}] * 4, dtype=object),
    "bytes": np.array([b"\xff", None, b""] * 4, dtype=object),
}  # fmt: skip


@pytest.mark.parametrize("name", PANDAS)
def test_a_pandas_frame_keeps_the_types_and_objects_of_other_columns(name: str) -> None:
    before = pd.DataFrame({"age": range(ROWS), "x": PANDAS[name], "ill": ILLS})
    after = released(before, "x")
    if before["x"].dtype == "category":
        before["x"] = before["x"].cat.remove_unused_categories()
    pd.testing.assert_frame_equal(after.drop(columns="age"), before.drop(columns="age"))
    assert [type(one) for one in after["x"]] == [type(one) for one in before["x"]]


MIXED = {
    "days and moments": [date(2020, 1, 1), datetime(2020, 1, 1, 12)],
    "texts and bytes": ["a", b"a"],
    "numbers and texts": [1, "1"],
    "truths and numbers": [True, 1],
    "zones and none": [datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1)],
    "nanoseconds": [pd.Timestamp(1, unit="ns"), pd.Timestamp(2, unit="ns")],
    "spans and numbers": [pd.Timedelta(1, "s"), 1],
    "sets": [{1}, {2}],
    "fractions": [Fraction(1, 3), Fraction(2, 3)],
    "large numbers": [2**70, 1],
    "complex numbers": [1j, 2j],
}


@pytest.mark.parametrize("name", MIXED)
def test_objects_that_would_change_when_counted_are_refused_by_name(name: str) -> None:
    before = pd.DataFrame({"age": range(ROWS), "odd one": MIXED[name] * 6, "ill": ILLS})
    before["odd one"] = pd.Series(MIXED[name] * 6, dtype=object)
    with pytest.raises(DataError, match="'odd one'") as error:
        released(before, "odd one")
    assert "Hint: " in str(error.value)


def test_an_index_that_is_no_number_of_rows_is_pointed_out() -> None:
    frame = pd.DataFrame({"age": [1, 1], "ill": ["a", "b"]})
    assert tclose.audit(frame, quasi="age", sensitive="ill").notes == ()
    named = frame.set_index(pd.Index(["Ann", "Bob"]))
    assert "index" in tclose.audit(named, quasi="age", sensitive="ill").notes[0]


# --- hidden sensitive values

HIDING = {
    "k": 4,
    "columns": {"age": "quasi", "zip": "quasi", "ill": {"role": "sensitive", "t": "1/10"}},
    "release": {"leftover": "hide", "rows": "keep"},
}
SENSITIVE: dict[str, Any] = {
    "int64": np.array([2**60 + 1, 2**60 + 3, 5], np.int64),
    "bool": np.array([True, False, False]),
    "float": np.array([0.5, 1.5, 2.5]),
    "category": pd.Categorical(["b", "a", "b"], categories=["z", "b", "a"], ordered=True),
    "moment": pd.to_datetime(["2020-01-01", "2021-01-01", "2022-01-01"]).tz_localize("UTC"),
    "object": np.array([Decimal("1.10"), Decimal("2.20"), Decimal("3.30")], dtype=object),
}


@pytest.mark.parametrize("name", SENSITIVE)
def test_hidden_values_leave_the_rest_of_a_pandas_column_exact(name: str) -> None:
    from tclose.data.engines.frames.release import update_frame

    before = pd.DataFrame({"s": SENSITIVE[name]}, index=["x", "x", "y"])
    gone = {"s": np.array([False, True, False])}
    after = update_frame(before, np.array([0, 1, 2]), {}, ["s"], gone)["s"]
    assert after.isna().tolist() == [False, True, False]
    assert [after.iloc[0], after.iloc[2]] == [before["s"].iloc[0], before["s"].iloc[2]]
    assert after.index.tolist() == ["x", "x", "y"]
    if name == "category":
        assert after.dtype == before["s"].dtype
    if name in ("int64", "bool"):
        assert str(after.dtype) == {"int64": "Int64", "bool": "boolean"}[name]


def hiding_table() -> pa.Table:
    """Rows of which some cannot be released with their sensitive value."""
    chance = random.Random(0)
    ages = [chance.randint(20, 60) for _ in range(40)]
    zips = [chance.choice("abcd") for _ in ages]
    words = pa.array([chance.choice(["flu", "flu", "ulcer", "cold"]) for _ in ages])
    codes = words.dictionary_encode()
    known = pa.array([*codes.dictionary.to_pylist(), "unused"])
    ills = pa.DictionaryArray.from_arrays(codes.indices, known)
    return pa.table({"age": ages, "zip": zips, "ill": ills})


KINDS: dict[str, Any] = {
    "pyarrow": lambda table: table,
    "dataset": ds.dataset,
    "pandas": lambda table: table.to_pandas(),
    "polars": lambda table: pl.from_arrow(table),
    "lazy": lambda table: pl.from_arrow(table).lazy(),
    "relation": lambda table: duckdb.connect().from_arrow(table),
}


def as_arrow(data: Any) -> pa.Table:
    match data:
        case ds.Dataset():
            return data.to_table()
        case pd.DataFrame():
            return pa.Table.from_pandas(data, preserve_index=False)
        case pl.LazyFrame():
            return data.collect().to_arrow()
        case pl.DataFrame():
            return data.to_arrow()
        case duckdb.DuckDBPyRelation():
            return data.to_arrow_table()
    return data


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame_hides_the_same_values_and_keeps_its_categories(kind: str) -> None:
    data = KINDS[kind](hiding_table())
    how = {"method": "hybrid", "suppression": 0.3, "effort": 1}
    mine = tclose.anonymize(data, HIDING, **how)
    plain = tclose.anonymize(hiding_table(), HIDING, **how)
    assert None in plain.data.column("ill").to_pylist()
    assert type(mine.data) is type(data)
    assert as_arrow(mine.data).to_pylist() == plain.data.to_pylist()
    hashes, same = (one.certificate.hashes for one in (mine, plain))
    assert hashes.output == same.output
    if kind == "pandas":
        assert mine.data["ill"].dtype == data["ill"].cat.remove_unused_categories().dtype
    if kind == "pyarrow":
        kept = mine.data.column("ill").chunk(0).dictionary.to_pylist()
        known = data.column("ill").chunk(0).dictionary.to_pylist()
        assert kept == [value for value in known if value != "unused"] and "unused" in known


# --- the same release on every engine


@settings(max_examples=15, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(-3, 9)),
            st.one_of(st.none(), st.sampled_from([0.0, -0.0, float("nan"), 1.5])),
            st.one_of(st.none(), st.sampled_from(["", "a", "b, c", 'q"', "é", "e\u0301"])),
            st.sampled_from("xyz"),
        ),
        min_size=4,
        max_size=40,
    ),
    kind=st.sampled_from([name for name in KINDS if name != "pyarrow"]),
    identifiers=st.sampled_from(["drop", "mask", "pseudonym"]),
)
def test_every_kind_of_frame_gives_the_same_release(
    rows: list[Any], kind: str, identifiers: str
) -> None:
    columns = list(zip(*rows, strict=True))
    table = pa.table(
        {
            "q": pa.array(columns[0], pa.int32()),
            "r": pa.array(columns[1], pa.float64()),
            "name": pa.array(columns[2], pa.string()),
            "s": pa.array(columns[3]),
            "row": range(len(rows)),
        }
    )
    policy = {
        "k": 2,
        "columns": {
            "q": "quasi", "r": "quasi", "name": "identifier", "row": "insensitive",
            "s": {"role": "sensitive", "t": 1},
        },
        "release": {"identifiers": identifiers, "rows": "keep"},
    }  # fmt: skip
    how = {"method": "mondrian-relaxed", "key": b"k" * 16}
    plain = tclose.anonymize(table, policy, **how)
    mine = tclose.anonymize(KINDS[kind](table), policy, **how)
    assert as_arrow(mine.data).to_pylist() == plain.data.to_pylist()
    for one in ("input", "output") if kind != "pandas" else ():  # whose gaps make floats of numbers
        assert getattr(mine.certificate.hashes, one) == getattr(plain.certificate.hashes, one)


@pytest.mark.parametrize("kind", KINDS)
def test_a_shuffled_release_has_the_same_rows_in_no_order(kind: str) -> None:
    table = pa.table({"age": range(400), "ill": ILLS * 33 + ILLS[:4], "row": range(400)})
    after = as_arrow(released(KINDS[kind](table), "row", release={"rows": "shuffle"}))
    numbers = after.column("row").to_pylist()
    assert sorted(numbers) == list(range(400)) and numbers != sorted(numbers)
    assert after.column("ill").to_pylist() == [(ILLS * 34)[row] for row in numbers]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_left_out_are_left_out_everywhere(kind: str) -> None:
    """The row order is the table's, also of those that have an order only by being stored."""
    chance = random.Random(3)
    table = pa.table(
        {
            "age": [chance.choice([1, 2, 3, 99]) for _ in range(300)],
            "ill": [chance.choice("ab") for _ in range(300)],
            "row": range(300),
        }
    )
    policy = rules("row") | {"k": 70}
    how = {"method": "mondrian", "suppression": 0.5}
    plain = tclose.anonymize(table, policy, **how)
    mine = tclose.anonymize(KINDS[kind](table), policy, **how)
    assert as_arrow(mine.data).to_pylist() == plain.data.to_pylist()


# --- lazy ones


def test_a_lazy_frame_is_scanned_not_collected(tmp_path: Path) -> None:
    path = tmp_path / "big.parquet"
    pq.write_table(pa.table({"age": list(range(9)) * 100, "ill": ["a", "b", "c"] * 300}), path)
    frame = pl.scan_parquet(path).filter(pl.col("age") < 6)
    release = tclose.anonymize(frame, rules(), method="mondrian")
    assert isinstance(release.data, pl.LazyFrame)
    assert "big.parquet" in release.data.explain()
    assert release.data.select(pl.len()).collect().item() == 600 == release.audit.rows
    with pytest.raises(UsageError, match="is an input"):
        tclose.anonymize(frame, rules(), output=path)
    tclose.anonymize(frame, rules(), method="mondrian", output=tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").equals(release.data.collect().to_arrow().cast(
        pq.read_schema(tmp_path / "out.parquet")))  # fmt: skip


def test_a_lazy_frame_that_cannot_be_run_says_so_without_values() -> None:
    odd = pl.LazyFrame({"age": ["1", "SECRET"], "ill": ["a", "b"]})
    with pytest.raises(DataError, match="cannot be run") as error:
        released(odd.with_columns(pl.col("age").cast(pl.Int8)))
    assert "SECRET" not in str(error.value)


@pytest.mark.parametrize("kind", ["lazy", "relation", "dataset"])
def test_tables_with_too_many_cells_are_worked_on_in_parts(kind: str) -> None:
    chance = random.Random(1)
    table = pa.table(
        {
            "age": [chance.randint(0, 500) for _ in range(2_000)],
            "ill": [chance.choice("abc") for _ in range(2_000)],
            "row": range(2_000),
        }
    )
    data = KINDS[kind](table)
    reading = tclose.Reading(max_cells=400)
    release = tclose.anonymize(data, rules("row"), method="mondrian", reading=reading)
    assert release.holds and type(release.data) is type(data)
    assert as_arrow(release.data).column("row").to_pylist() == list(range(2_000))


def test_the_order_of_a_relation_is_kept() -> None:
    connection = duckdb.connect()
    numbers = "SELECT range AS row, range % 7 AS age, range % 3 AS ill FROM range(50000)"
    connection.execute(f"CREATE TABLE t AS {numbers}")
    policy = rules("row")
    turned = tclose.anonymize(connection.sql("FROM t ORDER BY row DESC"), policy, method="mondrian")
    assert turned.data.project("row").fetchall() == [(row,) for row in range(49_999, -1, -1)]
    connection.execute("SET preserve_insertion_order = false")
    free = tclose.anonymize(connection.table("t"), policy, method="mondrian")
    assert sorted(free.data.project("row").fetchall()) == [(row,) for row in range(50_000)]


def test_a_relation_of_a_read_only_database_is_released(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.db")) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS age, range % 2 AS ill FROM range(9)")
    connection = duckdb.connect(str(tmp_path / "a.db"), read_only=True)
    assert released(connection.table("t")).shape == (9, 2)


def test_a_connection_that_finds_no_tables_of_python_is_named() -> None:
    connection = duckdb.connect(config={"python_enable_replacements": "false"})
    relation = connection.sql("SELECT range AS age, range % 2 AS ill FROM range(9)")
    with pytest.raises(DataError, match="python_enable_replacements"):
        released(relation)


# --- what is no table, or none that can be told apart

NO_TABLES: dict[str, tuple[Any, str]] = {
    "dict": ({"age": [1], "ill": ["a"]}, r"pyarrow.table\(data\)"),
    "list": ([{"age": 1, "ill": "a"}], "from_pylist"),
    "reader": (pa.table({"age": [1], "ill": ["a"]}).to_reader(), "only once"),
    "batch": (pa.record_batch({"age": [1], "ill": ["a"]}), "from_batches"),
    "array": (np.zeros((2, 2)), "give a path"),
    "series": (pd.Series([1, 2]), "give a path"),
    "names that are numbers": (pd.DataFrame([[1, "a"]]), "must be text"),
    "names in levels": (
        pd.DataFrame([[1, "a"]], columns=pd.MultiIndex.from_tuples([("x", "age"), ("y", "ill")])),
        "must be text",
    ),
    "equal names": (pd.DataFrame([[1, "a", 2]], columns=["age", "ill", "age"]), "duplicate.*'age'"),
    "objects of polars": (
        pl.DataFrame({"age": [1], "ill": ["a"], "x": pl.Series([{1}], dtype=pl.Object)}), "'x'",
    ),
    "wide numbers of polars": (
        pl.DataFrame({"age": [1], "ill": ["a"], "x": pl.Series([1], dtype=pl.Int128)}), "'x'",
    ),
    "wide numbers of a lazy frame": (
        pl.LazyFrame({"age": [1], "ill": ["a"], "x": pl.Series([1], dtype=pl.Int128)}), "'x'",
    ),
    "no rows": (pa.table({"age": [1], "ill": ["a"]}).slice(1), "no rows"),
    "no rows of pandas": (pd.DataFrame({"age": [], "ill": []}), "no rows"),
    "no rows of a lazy frame": (pl.LazyFrame({"age": [], "ill": []}), "no rows"),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_TABLES)
def test_what_is_no_table_is_refused_with_a_way_out(name: str) -> None:
    data, says = NO_TABLES[name]
    with pytest.raises(TcloseError, match=says) as error:
        tclose.audit(data, quasi="age", sensitive="ill")
    assert "Hint: " in str(error.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_one_row_is_a_table(kind: str) -> None:
    data = KINDS[kind](pa.table({"age": [1], "ill": ["a"]}))
    release = tclose.anonymize(data, rules() | {"k": 1}, method="mondrian")
    assert as_arrow(release.data).to_pylist() == [{"age": "1", "ill": "a"}]


def test_categories_that_are_recoded_become_text() -> None:
    frame = pd.DataFrame({"age": pd.Categorical(["a", "b", "c"] * 4), "ill": ILLS})
    after = released(frame)
    assert not isinstance(after["age"].dtype, pd.CategoricalDtype)
    assert all(isinstance(value, str) for value in after["age"])


def test_a_dataset_of_files_is_scanned_and_none_of_them_is_overwritten(tmp_path: Path) -> None:
    for number in (2, 1):
        part = pa.table({"age": [number] * 6, "ill": ILLS[:6], "row": range(6)})
        pq.write_table(part, tmp_path / f"{number}.parquet")
    dataset = ds.dataset(tmp_path, format="parquet")
    after = released(dataset, "row")
    assert isinstance(after, ds.Dataset)
    assert after.to_table().column("age").to_pylist() == ["1"] * 6 + ["2"] * 6
    some = released(dataset.filter(ds.field("age") == 2), "row")
    assert some.to_table().num_rows == 6
    with pytest.raises(UsageError, match="is an input"):
        tclose.anonymize(dataset, rules("row"), output=tmp_path / "1.parquet")
    assert open_source(dataset).digest() == open_source(dataset.to_table()).digest()
