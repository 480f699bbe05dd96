"""The same table is the same table: in any order, any frame, any file."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.data.engines.duckdb.source import DuckSource, collect_within_limit
from tclose.data.engines.frames.source import FEW, SmallFrame
from tclose.data.io.paths import Reading
from tclose.data.opening import open_source
from tclose.errors import DataError

COLUMNS = ("age", "zip", "salary", "illness")
ROWS = [
    (34, "47677", 3, "flu"), (34, "47677", 4, "flu"), (34, "47602", 5, "ulcer, gastric"),
    (None, "47602", 6, 'the "cold"'), (29, None, 11, "flu"), (29, "47605", 8, None),
    (29, "47605", None, "cancer"), (34, "47677", 9, "cancer"), (None, None, 10, "flu"),
]  # fmt: skip
RULES: dict[str, Any] = {
    "k": 2,
    "columns": {
        "age": "quasi",
        "zip": "quasi",
        "salary": {"role": "sensitive", "t": "1/3", "distance": "numeric"},
        "illness": {"role": "sensitive", "t": "1/2", "l": 2},
    },
}
NUMBERS = ("worst_class", "worst_classes")


def answers(data: Any, rules: dict[str, Any] = RULES, **options: Any) -> dict[str, Any]:
    """All that an audit says, the name of its source aside."""
    told = tclose.audit(data, rules, **options).to_json()
    return {key: value for key, value in told.items() if key not in ("source", "notes")}


def table(rows: Any = ROWS) -> pa.Table:
    return pa.table({name: [row[at] for row in rows] for at, name in enumerate(COLUMNS)})


def pandas_frame() -> pd.DataFrame:
    return pd.DataFrame({name: [row[at] for row in ROWS] for at, name in enumerate(COLUMNS)})


FRAMES = {
    "pyarrow": table,
    "pyarrow in pieces": lambda: pa.concat_tables([table(ROWS[:4]), table(ROWS[4:])]),
    "pyarrow dictionaries": lambda: table().set_column(
        3, "illness", table().column("illness").dictionary_encode()
    ),
    "pyarrow large text": lambda: table().set_column(
        1, "zip", table().column("zip").cast(pa.large_string())
    ),
    "pyarrow with NaN": lambda: table().set_column(
        0, "age", pa.array([np.nan if row[0] is None else float(row[0]) for row in ROWS])
    ),
    "pandas": pandas_frame,
    "pandas with an odd index": lambda: pandas_frame().set_index(
        pd.Index([5, 5, 3, 0, -1, 7, 7, 7, 2], name="age")
    ),
    "pandas sliced": lambda: pd.concat([pandas_frame(), pandas_frame()]).iloc[9:],
    "pandas categorical": lambda: pandas_frame().astype({"illness": "category", "zip": "category"}),
    "pandas nullable": lambda: pandas_frame().astype({"age": "Int64", "salary": "Int32"}),
    "pandas objects": lambda: pandas_frame().astype(
        {"illness": object, "zip": object}
    ),
    "pandas text with NaN": lambda: pandas_frame().assign(
        illness=[row[3] if row[3] is not None else np.nan for row in ROWS]
    ),
    "polars": lambda: pl.DataFrame(
        {name: [row[at] for row in ROWS] for at, name in enumerate(COLUMNS)}
    ),
    "polars lazy": lambda: pl.from_arrow(table()).lazy(),  # type: ignore[union-attr]
    "polars categorical": lambda: pl.from_arrow(table()).with_columns(  # type: ignore[union-attr]
        pl.col("illness").cast(pl.Categorical), pl.col("age").cast(pl.Float32)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FRAMES)
def test_every_frame_library_gives_the_same_answers(name: str) -> None:
    assert answers(FRAMES[name]()) == answers(table())


def written(delimiter: str) -> str:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter)
    writer.writerow(COLUMNS)
    writer.writerows(ROWS)
    return file.getvalue()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_every_way_to_write_a_csv_file_gives_the_same_answers(
    tmp_path: Path, delimiter: str, encoding: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(written(delimiter).encode(encoding))
    assert answers(path) == answers(table())
    assert answers(str(path), reading=tclose.Reading(delimiter=delimiter)) == answers(table())


def test_parquet_gives_the_same_answers(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "table.parquet", row_group_size=2)
    assert answers(tmp_path / "table.parquet") == answers(table())


@settings(max_examples=6)
@given(rows=st.permutations(ROWS))
def test_rows_may_come_in_any_order(rows: Any) -> None:
    assert answers(table(rows)) == answers(table())


@pytest.mark.slow
@settings(max_examples=6)
@given(columns=st.permutations(COLUMNS))
def test_columns_may_come_in_any_order(columns: Any) -> None:
    """Classes are numbered along the table's columns; nothing else depends on their order."""
    told = answers(table().select(columns))
    assert without(told, NUMBERS) == without(answers(table()), NUMBERS)
    rules = {**RULES, "columns": {name: RULES["columns"][name] for name in columns}}
    swapped = answers(table(), rules)
    assert sorted(map(str, swapped["requirements"])) == sorted(
        map(str, answers(table())["requirements"])
    )


@settings(max_examples=6)
@given(names=st.permutations(["p", "q", "r", "s"]))
def test_values_may_have_any_names_where_names_have_no_order(names: list[str]) -> None:
    """The illnesses are only different or the same; classes keep their numbers."""
    known = sorted({row[3] for row in ROWS if row[3] is not None})
    new = dict(zip(known, names, strict=True)) | {None: None}
    renamed = [(*row[:3], new[row[3]]) for row in ROWS]
    assert_alike(answers(table(renamed)), answers(table()))


@settings(max_examples=6)
@given(names=st.permutations(["1", "2", "3"]))
def test_quasi_identifiers_may_have_any_names(names: list[str]) -> None:
    """Only the numbers of the classes follow the order of their values."""
    new = dict(zip(["47677", "47602", "47605"], names, strict=True)) | {None: None}
    renamed = [(row[0], new[row[1]], *row[2:]) for row in ROWS]
    assert_alike(without(answers(table(renamed)), NUMBERS), without(answers(table()), NUMBERS))


def without(told: Any, keys: tuple[str, ...]) -> Any:
    if isinstance(told, dict):
        return {key: without(value, keys) for key, value in told.items() if key not in keys}
    return [without(item, keys) for item in told] if isinstance(told, list) else told


def assert_alike(one: Any, other: Any) -> None:
    """Equal, but for the last digit of sums of logarithms that were added in another order."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            assert_alike(one[key], other[key])
    elif isinstance(one, list):
        for mine, theirs in zip(one, other, strict=True):
            assert_alike(mine, theirs)
    else:
        assert one == (pytest.approx(other, abs=1e-12) if isinstance(one, float) else other)


@pytest.mark.slow
@settings(max_examples=6)
@given(shift=st.integers(-5, 5), scale=st.integers(1, 9))
def test_numbers_may_be_told_in_another_unit(shift: int, scale: int) -> None:
    moved = [
        (row[0], row[1], None if row[2] is None else row[2] * scale + shift, row[3]) for row in ROWS
    ]
    assert answers(table(moved)) == answers(table())


def test_a_table_twice_over_is_just_as_close_and_twice_as_large() -> None:
    once, twice = tclose.audit(table(), RULES), tclose.audit(table(ROWS + ROWS), RULES)
    assert (twice.rows, twice.classes, twice.k) == (2 * once.rows, once.classes, 2 * once.k)
    for one, two in zip(once.requirements[1:], twice.requirements[1:], strict=True):
        assert one.achieved_exact == two.achieved_exact


def test_an_unhashable_column_is_refused_in_words() -> None:
    nested = pa.table({"q": [[1], [2]], "s": ["a", "b"]})
    with pytest.raises(tclose.PolicyError, match="plain values"):
        tclose.audit(nested, {"columns": {"q": "quasi", "s": "sensitive"}})


def test_a_parquet_column_of_nothing_but_missing_values_is_counted(tmp_path: Path) -> None:
    table = pa.table({"zip": pa.nulls(4), "ill": ["a", "b", "a", "b"]})
    pq.write_table(table, tmp_path / "empty.parquet")
    counted = tclose.audit(tmp_path / "empty.parquet", quasi="zip", sensitive="ill")
    assert (counted.classes, counted.k) == (1, 4)


@pytest.mark.parametrize("column", ["age", "ill", "note"])
def test_texts_that_are_no_utf8_are_refused_by_their_column(column: str) -> None:
    ends = b"".join(end.to_bytes(4, "little") for end in (0, 2, 4, 5, 6))
    texts = pa.StringArray.from_buffers(4, pa.py_buffer(ends), pa.py_buffer(b"ab\xff\xfecd"))
    table = pa.table({"age": ["1"] * 4, "ill": ["a", "b"] * 2, "note": ["x"] * 4})
    table = table.set_column(table.column_names.index(column), column, texts)
    rules = {"age": "quasi", "ill": {"role": "sensitive", "t": 1}, "note": "insensitive"}
    for verb in (tclose.audit, tclose.anonymize):
        with pytest.raises(DataError, match=f"column '{column}'"):
            verb(table, {"k": 2, "columns": rules})


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view(), pa.large_string()])
@pytest.mark.parametrize("suffix", ["arrow", "parquet", ""])
def test_columns_of_any_kind_of_text_are_shuffled(
    kind: pa.DataType, suffix: str, tmp_path: Path
) -> None:
    note = pa.array([f"a longer text, number {at}" for at in range(8)], pa.string()).cast(kind)
    table = pa.table({"age": [1, 2] * 4, "ill": ["a", "b"] * 4, "note": note})
    rules = {"age": "quasi", "ill": {"role": "sensitive", "t": 1}, "note": "insensitive"}
    place = tmp_path / f"t.{suffix}" if suffix else None
    release = tclose.anonymize(table, {"k": 4, "columns": rules}, effort=0, output=place)
    made = release.data if place is None else open_source(place).read_first(["note"], 9)
    assert sorted(map(str, made.column("note").to_pylist())) == sorted(map(str, note.to_pylist()))


def test_numbers_of_thousands_of_digits_are_no_numbers() -> None:
    ills = ["1", "2", "9" * 5000, "3"]
    table = pa.table({"age": ["1", "1", "2", "2"], "ill": ills})
    rules: dict[str, Any] = {"age": "quasi", "ill": {"role": "sensitive", "t": 1}}
    assert tclose.anonymize(table, {"k": 1, "columns": rules}, effort=0).audit.holds
    rules["ill"]["distance"] = "numeric"
    with pytest.raises(tclose.TcloseError) as refused:
        tclose.anonymize(table, {"k": 1, "columns": rules}, effort=0)
    assert "999" not in str(refused.value)


FEW_VALUES = {
    pa.string(): st.sampled_from(["", "a", "A", "é", "1", "01", "a\0", None]),
    pa.int64(): st.sampled_from([0, 1, -1, 2**62, None]),
    pa.uint8(): st.sampled_from([0, 255, None]),
}


@settings(max_examples=40)
@given(data=st.data())
def test_a_few_rows_are_counted_as_the_engine_counts_them(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 12)), {}
    for name in ("a", "count_all", 'q"'):
        kind = data.draw(st.sampled_from(list(FEW_VALUES)))
        values = data.draw(st.lists(FEW_VALUES[kind], min_size=rows, max_size=rows))
        columns[name] = pa.chunked_array([pa.array(values[:3], kind), pa.array(values[3:], kind)])
    small = open_source(pa.table(columns))
    assert isinstance(small, SmallFrame)
    for names in (["a"], ["count_all", "a"], ["a", "count_all", 'q"']):
        found, same = small.group(names), small.engine.group(names)
        assert found.schema.types == same.schema.types and found.column_names == same.column_names
        assert sorted(found.to_pylist(), key=repr) == sorted(same.to_pylist(), key=repr)
    assert small.n_rows == small.engine.n_rows == rows
    assert small.digest() == small.engine.digest()
    at_most = open_source(pa.table(columns), Reading(max_cells=1))
    assert (at_most.group_within_limit(["a"]) is None) == (small.group(["a"]).num_rows > 1)


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"a": ["x"] * (FEW + 1)}),
        pa.table({"a": [0.0, -0.0, float("nan")]}),
        pa.table({"a": pa.array(["x"]).dictionary_encode()}),
        pa.table({"a": [[1]]}),
        pl.DataFrame({"a": ["x"]}),
    ],
    ids=["many rows", "floats", "categories", "lists", "polars"],
)
def test_all_else_is_counted_by_the_engine(table: Any) -> None:
    assert isinstance(open_source(table), DuckSource)


@pytest.mark.parametrize("most", [100, 999, 1000])
def test_values_that_are_far_too_many_are_not_grouped(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = open_source(pa.table({"a": [*range(1000), None, 3, 3]}), Reading(max_cells=most + 1))
    grouped: list[int] = []

    def group(*given: Any) -> Any:
        grouped.append(most)
        return collect_within_limit(*given)

    monkeypatch.setattr("tclose.data.engines.duckdb.source.collect_within_limit", group)
    found = many.group_within_limit(["a"])
    assert (found is None) == (most < 1000)
    assert bool(grouped) == (most > 100)
