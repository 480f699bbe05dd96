"""No raw value stays where a format keeps one besides the rows: each place is marked and searched.

A marker that occurs nowhere in the released rows is planted in an index, in categories and
dictionaries, in metadata, statistics, comments, sheet names and attributes; then every byte of the
release is searched for it, unpacked as far as it can be.
"""

from __future__ import annotations

import gzip
import io
import os
import pickle
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl.comments import Comment
from openpyxl.packaging.custom import StringProperty
from openpyxl.workbook.defined_name import DefinedName

import tclose

ROWS = 40
MARKER = "Zq7Marker"
POLICY: dict[str, Any] = {
    "k": 4,
    "columns": {
        "record": "identifier",
        "age": "quasi",
        "town": "quasi",
        "ill": {"role": "sensitive", "t": 0.4},
        "ward": "insensitive",
    },
}
COLUMNS: dict[str, list[Any]] = {
    "record": [f"{MARKER}-record-{row}" for row in range(ROWS)],
    "age": [20 + row % 10 for row in range(ROWS)],
    "town": [["Aar", "Bern"][row % 4 // 2] for row in range(ROWS)],
    "ill": [["flu", "cough"][row % 2] for row in range(ROWS)],
    "ward": ["north"] * ROWS,
}
FILES = ["out.csv", "out.csv.gz", "out.parquet", "out.arrow", "out.arrows", "out.xlsx"]


def arrow_table() -> pa.Table:
    """Unused values in every dictionary, notes in the schema and its fields."""
    table = pa.table(COLUMNS)
    for name in ("town", "ill", "ward"):
        values = sorted(set(COLUMNS[name]))
        column = pa.DictionaryArray.from_arrays(
            pa.array([values.index(value) for value in COLUMNS[name]], pa.int32()),
            pa.array([*values, f"{MARKER}-dictionary-{name}"]),
        )
        noted = pa.field(name, column.type, metadata={"comment": f"{MARKER}-field-{name}"})
        table = table.set_column(table.column_names.index(name), noted, column)
    return table.replace_schema_metadata({"source": f"{MARKER}-schema"})


def sliced_arrow_table() -> pa.Table:
    """A window of a longer table: the rows outside it lie in the same memory."""
    outside = pa.table(COLUMNS).set_column(3, "ill", pa.array([f"{MARKER}-outside"] * ROWS))
    longer = pa.concat_tables([outside, pa.table(COLUMNS), outside]).combine_chunks()
    return longer.slice(ROWS, ROWS)


def pandas_frame() -> pd.DataFrame:
    """An index of record numbers, categories that never occur, notes of the frame."""
    frame = pd.DataFrame(COLUMNS)
    for name in ("town", "ill", "ward"):
        values = [*sorted(set(COLUMNS[name])), f"{MARKER}-category-{name}"]
        frame[name] = pd.Categorical(frame[name], categories=values)
    named = pd.Index(["north", f"{MARKER}-unused"], name=f"{MARKER}-categories")
    frame["ward"] = pd.Categorical.from_codes([0] * ROWS, named)
    frame.columns = frame.columns.rename(f"{MARKER}-columns")
    frame.attrs["source"] = f"{MARKER}-attribute"
    return frame


def indexed_pandas_frame() -> pd.DataFrame:
    return pandas_frame().set_index("record")


def nested_index_pandas_frame() -> pd.DataFrame:
    return pandas_frame().set_index(["record", "ward"])


def unnamed_index_pandas_frame() -> pd.DataFrame:
    frame = pd.DataFrame({name: COLUMNS[name] for name in COLUMNS if name != "record"})
    return frame.set_index(pd.Index([f"{MARKER}-index-{row}" for row in range(ROWS)]))


def categorical_index_pandas_frame() -> pd.DataFrame:
    frame = unnamed_index_pandas_frame()
    return frame.set_index(frame.index.astype("category"))


def arrow_backed_pandas_frame() -> pd.DataFrame:
    frame: pd.DataFrame = sliced_arrow_table().to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def polars_frame() -> pl.DataFrame:
    kinds = {
        name: pl.Enum([*sorted(set(COLUMNS[name])), f"{MARKER}-enum-{name}"])
        for name in ("town", "ill", "ward")
    }
    return pl.DataFrame(COLUMNS).cast(kinds)  # type: ignore[arg-type]


def sliced_polars_frame() -> pl.DataFrame:
    outside = pl.DataFrame(COLUMNS).with_columns(ill=pl.lit(f"{MARKER}-outside"))
    return pl.concat([outside, pl.DataFrame(COLUMNS), outside], rechunk=True)[ROWS : 2 * ROWS]


FRAMES: dict[str, Callable[[], Any]] = {
    made.__name__: made
    for made in (
        arrow_table,
        sliced_arrow_table,
        pandas_frame,
        indexed_pandas_frame,
        nested_index_pandas_frame,
        unnamed_index_pandas_frame,
        categorical_index_pandas_frame,
        arrow_backed_pandas_frame,
        polars_frame,
        sliced_polars_frame,
    )
}


def write_csv(folder: Path) -> Path:
    path = folder / f"raw-{MARKER}.csv"
    pd.DataFrame(COLUMNS).to_csv(path, index=False)
    can_mark(path)
    return path


def write_parquet(folder: Path) -> Path:
    path = folder / "raw.parquet"
    pq.write_table(arrow_table(), path)
    return path


def write_pandas_parquet(folder: Path) -> Path:
    """pandas keeps the whole index, and its columns' notes, in the file."""
    path = folder / "raw.parquet"
    pandas_frame().to_parquet(path)
    return path


def write_arrow(folder: Path) -> Path:
    path = folder / "raw.arrow"
    table = arrow_table()
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    return path


def write_excel(folder: Path) -> Path:
    """Sheet names, comments, every property of the document, a hidden sheet, a defined name."""
    path = folder / "raw.xlsx"
    book = openpyxl.Workbook()
    for name in ("creator", "title", "subject", "description", "keywords", "category",
                 "lastModifiedBy", "identifier"):  # fmt: skip
        setattr(book.properties, name, f"{MARKER}-{name}")
    book.custom_doc_props.append(StringProperty(name=f"{MARKER}-own", value=f"{MARKER}-value"))
    sheet = book.active
    sheet.title = f"{MARKER}-sheet"
    sheet.append(list(COLUMNS))
    for row in zip(*COLUMNS.values(), strict=True):
        sheet.append(row)
    sheet["B2"].comment = Comment(f"{MARKER}-comment", f"{MARKER}-commenter")
    sheet.oddHeader.center.text = f"{MARKER}-header"
    hidden = book.create_sheet(f"{MARKER}-hidden")
    hidden.sheet_state = "hidden"
    hidden["A1"] = f"{MARKER}-cell"
    book.defined_names["place"] = DefinedName("place", attr_text=f"'{sheet.title}'!$A$1")
    book.save(path)
    can_mark(path)
    return path


INPUTS: dict[str, Callable[[Path], Path]] = {
    made.__name__: made
    for made in (write_csv, write_parquet, write_pandas_parquet, write_arrow, write_excel)
}


def list_attributes(path: Path) -> list[bytes]:
    """The extended attributes that the file system keeps of a file: names and values."""
    try:
        return [name.encode() + os.getxattr(path, name) for name in os.listxattr(path)]
    except (AttributeError, OSError):  # there are none here
        return []


def can_mark(path: Path) -> bool:
    """Plants a marker in an attribute of the file, where its file system has any."""
    try:
        os.setxattr(path, "user.comment", f"{MARKER}-attribute".encode())
    except (AttributeError, OSError):
        return False
    return True


def contains_marker(data: Any, within: Sequence[str] = ("town", "ill", "ward")) -> bool:
    """Whether the marker is anywhere in a release, unpacked as far as it can be."""
    mark = MARKER.encode()
    if isinstance(data, pd.DataFrame | pl.DataFrame | pa.Table):
        texts = [repr(data), *(repr(text) for text in getattr(data, "attrs", {}).items())]
        return mark in pickle.dumps(data) or MARKER in "".join(texts)
    path = Path(data)
    assert path.stat().st_size
    raw = path.read_bytes()
    parts = [raw, path.name.encode(), *list_attributes(path)]
    if path.suffix == ".gz":
        parts.append(gzip.decompress(raw))
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(io.BytesIO(raw)) as book:
            parts += [book.read(name) for name in book.namelist()]
            parts += [book.comment, *(entry.filename.encode() for entry in book.infolist())]
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path, read_dictionary=[*within])
        parts += [repr(file.metadata.to_dict()).encode(), repr(file.metadata.metadata).encode()]
        parts.append(pickle.dumps(file.read()))
    if path.suffix.startswith(".arrow"):
        opened = pa.ipc.open_stream if path.suffix == ".arrows" else pa.ipc.open_file
        parts.append(pickle.dumps(opened(path).read_all()))
    return any(mark in part for part in parts)


def test_the_search_finds_a_marker_in_every_place_it_is_planted(tmp_path: Path) -> None:
    for name, frame in FRAMES.items():
        assert contains_marker(frame()), name
    for name, write in INPUTS.items():
        assert contains_marker(write(tmp_path)), name
    plain = tmp_path / "plain.txt"
    plain.write_text("nothing")
    assert contains_marker(plain) == can_mark(plain) or contains_marker(plain)


@pytest.mark.parametrize("rows", ["keep", "shuffle"])
@pytest.mark.parametrize("kind", FRAMES)
def test_a_released_frame_keeps_no_raw_value_anywhere(kind: str, rows: str) -> None:
    release = tclose.anonymize(
        FRAMES[kind](), {**POLICY, "release": {"rows": rows}}, method="mondrian"
    )
    assert len(release.data) == ROWS
    assert not contains_marker(release.data)
    assert MARKER not in str(release)


WORDS = pa.DictionaryArray.from_arrays([0] * ROWS, ["north", f"{MARKER}-inner"])
NOTED = pa.field("x", WORDS.type, metadata={"comment": f"{MARKER}-note"})
ENDS = pa.array(range(ROWS + 1), pa.int32())
NESTED: dict[str, pa.Array] = {
    "structure": pa.StructArray.from_arrays([WORDS], fields=[NOTED]),
    "list": pa.ListArray.from_arrays(ENDS, WORDS),
    "large list": pa.LargeListArray.from_arrays(ENDS.cast(pa.int64()), WORDS),
    "even list": pa.FixedSizeListArray.from_arrays(WORDS, type=pa.list_(NOTED, 1)),
    "map": pa.MapArray.from_arrays(ENDS, pa.array(["key"] * ROWS), WORDS),
    "list of structures": pa.ListArray.from_arrays(
        ENDS, pa.StructArray.from_arrays([WORDS], fields=[NOTED])
    ),
    "gaps": pa.ListArray.from_arrays(
        pa.array([None, *range(1, ROWS), ROWS], pa.int32()), WORDS
    ),
    "views": pa.array(
        ["longer than fits into a view"] * ROWS + [f"{MARKER}-beside"] * ROWS, pa.string_view()
    )[:ROWS],
}  # fmt: skip


@pytest.mark.parametrize("output", [None, "out.parquet", "out.arrow"])
@pytest.mark.parametrize("kind", NESTED)
def test_lists_and_structures_keep_no_raw_value_within(
    kind: str, output: str | None, tmp_path: Path
) -> None:
    given = pa.table(COLUMNS).set_column(4, "ward", NESTED[kind])
    place = {} if output is None else {"output": tmp_path / output}
    release = tclose.anonymize(given, POLICY, method="mondrian", **place)
    data = tmp_path / output if output else release.data
    assert not contains_marker(data, [])
    if output != "out.parquet":
        table = data if output is None else pa.ipc.open_file(data).read_all()
        assert MARKER not in table.schema.to_string(show_field_metadata=True)
        told = sorted(map(repr, table.column("ward").to_pylist()))
        assert told == sorted(map(repr, NESTED[kind].to_pylist()))


ENUM = pl.Enum(["north", f"{MARKER}-enum"])
INNER: dict[str, Any] = {
    "list": (["north"], pl.List(ENUM)),
    "array": (["north", "north"], pl.Array(ENUM, 2)),
    "structure": ({"x": "north", "y": 1}, pl.Struct({"x": ENUM, "y": pl.Int8})),
    "lists of structures": ([{"x": "north"}], pl.List(pl.Struct({"x": ENUM}))),
}


@pytest.mark.parametrize("kind", INNER)
@pytest.mark.parametrize("is_lazy", [False, True], ids=["eager", "lazy"])
def test_lists_of_polars_tell_only_categories_that_occur(kind: str, is_lazy: bool) -> None:
    value, dtype = INNER[kind]
    frame = pl.DataFrame(COLUMNS).with_columns(pl.Series("ward", [value] * ROWS, dtype))
    release = tclose.anonymize(frame.lazy() if is_lazy else frame, POLICY, method="mondrian")
    made = release.data.collect() if is_lazy else release.data
    assert not contains_marker(made) and MARKER not in str(made.schema)
    assert made["ward"].to_list() == [value] * ROWS
    assert type(made["ward"].dtype) is type(dtype)


@pytest.mark.parametrize("kind", ["ENUM({})[]", "STRUCT(x ENUM({}))", "MAP(INT, ENUM({}))"])
def test_lists_of_relations_tell_no_category(kind: str) -> None:
    with duckdb.connect() as connection:
        connection.register("arrow", pa.table(COLUMNS))
        value = {"E": "['north']", "S": "{'x': 'north'}", "M": "MAP {1: 'north'}"}[kind[0]]
        dtype = kind.format(f"'north', '{MARKER}''s'")
        relation = connection.sql(f"SELECT * REPLACE (CAST({value} AS {dtype}) AS ward) FROM arrow")
        assert MARKER in str(relation.types)
        release = tclose.anonymize(relation, POLICY, method="mondrian")
        assert MARKER not in str(release.data.types)
        assert "north" in str(release.data.fetchall()[0][-1])


def test_a_lazy_frame_tells_only_categories_that_occur() -> None:
    release = tclose.anonymize(polars_frame().lazy(), POLICY, method="mondrian")
    assert isinstance(release.data, pl.LazyFrame)
    assert release.data.collect_schema()["ill"] == pl.Enum(["cough", "flu"])
    assert not contains_marker(release.data.collect())


def test_a_relation_tells_only_categories_that_occur() -> None:
    table = pa.table(COLUMNS)
    with duckdb.connect() as connection:
        connection.register("arrow", table)
        kinds = {name: f"ENUM('{MARKER}', {words})" for name, words in
                 (("ill", "'cough', 'flu'"), ("ward", "'north'"))}  # fmt: skip
        casts = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in kinds.items())
        relation = connection.sql(f"SELECT * REPLACE ({casts}) FROM arrow")
        assert MARKER in str(relation.types)
        release = tclose.anonymize(relation, POLICY, method="mondrian")
        assert MARKER not in str(release.data.types)
        assert not contains_marker(release.data.to_arrow_table())
        assert [str(kind) for kind in release.data.types][-2:] == [
            "ENUM('cough', 'flu')",
            "ENUM('north')",
        ]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("out.csv", "out.parquet") else pytest.mark.slow)
        for name in FILES  # a saved release goes through all of them
    ],
)
@pytest.mark.parametrize("kind", FRAMES)
def test_a_file_made_from_a_frame_keeps_no_raw_value_anywhere(
    kind: str, name: str, tmp_path: Path
) -> None:
    written = {part: tmp_path / f"{part}.json" for part in ("certificate", "plan")}
    tclose.anonymize(FRAMES[kind](), POLICY, method="mondrian", output=tmp_path / name, **written)
    for path in tmp_path.iterdir():
        assert not contains_marker(path), path.name
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(kind, name, marks=() if "csv" in f"{kind} {name}" else pytest.mark.slow)
        for kind in INPUTS
        for name in FILES
    ],
)
def test_a_file_made_from_a_file_keeps_no_raw_value_anywhere(
    kind: str, name: str, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    written = {part: tmp_path / "out" / f"{part}.json" for part in ("certificate", "plan")}
    release = tclose.anonymize(
        INPUTS[kind](tmp_path / "in"), POLICY, method="mondrian",
        output=tmp_path / "out" / name, **written,
    )  # fmt: skip
    release.report(tmp_path / "out" / "report.html")
    for path in (tmp_path / "out").iterdir():
        assert not contains_marker(path), path.name
        assert list_attributes(path) == []


@pytest.mark.parametrize("kind", FRAMES)
def test_a_saved_release_keeps_no_raw_value_anywhere(kind: str, tmp_path: Path) -> None:
    release = tclose.anonymize(FRAMES[kind](), POLICY, method="mondrian")
    for name in FILES:
        release.save(tmp_path / name)
        assert not contains_marker(tmp_path / name), name
