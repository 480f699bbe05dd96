"""Tables in Parquet and Arrow files, one or many, and in datasets: scanned by DuckDB out of core.

Files with different columns are united by name wherever no value changes by that; folders such as
`year=2024/month=1` name columns, too. Rows are handed out in their own order, as they are stored.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import LocalFileSystem

from tclose.data.engines.duckdb.source import (
    DuckSource,
    columns_of,
    explain_error,
    quote_text,
    scan_arrow,
)
from tclose.data.io.counting import Connection, Relation, connect, hash_files
from tclose.data.io.files import ArrowWriter, Scratch
from tclose.data.io.paths import Files, find_files, refuse_ambiguous
from tclose.data.source import READ, CellStore, Rows, Source, Spread, Translation, quote_name
from tclose.errors import DataError

if TYPE_CHECKING:
    import pyarrow.dataset as ds

types = pa.types

NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""How a folder is called whose rows have no value there."""
WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
FILE = "__tclose_file__"
FILE_FORMAT = b"ARROW1"


def open_parquet(files: Files, connection: Connection) -> DuckSource:
    """The table in one or several Parquet files, columns united by name."""
    own, notes = unite_schemas([_parquet_schema(path) for path in files.paths], files.paths)
    folders = read_partitions(files, typed=True).without(list(own.names))
    schema = pa.schema([*own, *folders.values.schema])
    paths = [os.path.abspath(path) for path in files.paths]
    several = "" if files.single else ", union_by_name = true"
    try:
        rows = folders.scan(connection, "read_parquet", list(own.names), paths, several)
        relation = rows.project(columns_of(schema))
    except duckdb.Error as error:
        raise explain_error(error, files.name) from None

    def batches() -> Iterator[pa.RecordBatch]:
        for at, path in enumerate(files.paths):
            with _parquet_file(path) as file:
                for batch in file.iter_batches(READ):
                    yield fit_batch(batch, schema, folders.of_rows(at, batch.num_rows))

    return DuckSource(
        files.name, tuple(schema.names), relation, connection, lambda: Rows(schema, batches),
        partial(hash_files, files), notes=tuple(notes), files=files.paths, steady=not folders,
    )  # fmt: skip


def _parquet_schema(path: Path) -> pa.Schema:
    try:
        return _parquet_file(path).schema_arrow
    except pa.ArrowException:
        raise DataError(
            "not a Parquet file, or damaged", where=path.name, hint="write or fetch it again"
        ) from None


def _parquet_file(path: Path) -> pq.ParquetFile:
    """Old moments of 96 bits are read to the microsecond: as nanoseconds they end in 2262."""
    return pq.ParquetFile(path, coerce_int96_timestamp_unit="us")


def open_arrow(files: Files, connection: Connection) -> DuckSource:
    """The table in one or several Arrow files, in the file or the stream format, likewise."""
    scratch: list[Scratch] = []
    try:
        paths = [_as_arrow_file(path, scratch) for path in files.paths]
        schemas = [_arrow_schema(path) for path in paths]
    except pa.ArrowException:
        raise DataError(
            "not an Arrow file, or damaged", where=files.name, hint="write or fetch it again"
        ) from None
    own, notes = unite_schemas(schemas, files.paths)
    folders = read_partitions(files, typed=True).without(list(own.names))
    import pyarrow.dataset as ds  # slow to import: it looks for pandas

    dataset = ds.FileSystemDataset.from_paths(
        [str(path) for path in paths],
        schema=pa.schema([*own, *folders.values.schema]),
        format=ds.IpcFileFormat(),
        filesystem=LocalFileSystem(use_mmap=True),
        partitions=[_folder_values(folders, at) for at in range(len(paths))],
    )
    return open_dataset(
        dataset, files.name, connection=connection, hashed=partial(hash_files, files),
        scratch=tuple(scratch), notes=tuple(notes), files=files.paths,
    )  # fmt: skip


def _folder_values(folders: Partitions, file: int) -> ds.Expression:
    """What the folders of a file say about all of its rows."""
    import pyarrow.dataset as ds

    known = ds.scalar(True)
    for name in folders.names:
        value = folders.values.column(name)[file]
        known = known & (ds.field(name) == value if value.is_valid else ds.field(name).is_null())
    return known


def _as_arrow_file(path: Path, scratch: list[Scratch]) -> Path:
    """The file as it is, or a copy that can be read from anywhere where it is a stream."""
    with path.open("rb") as file:
        if file.read(len(FILE_FORMAT)) == FILE_FORMAT:
            return path
    scratch.append(Scratch())
    target = Path(scratch[-1].name) / "table.arrow"
    with (
        pa.ipc.open_stream(pa.memory_map(str(path))) as stream,
        ArrowWriter(target, stream.schema, "") as copy,
    ):
        for batch in stream:
            copy.write(batch)
    return target


def _arrow_schema(path: Path) -> pa.Schema:
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).schema


def open_dataset(
    dataset: ds.Dataset,
    name: str = "dataset",
    *,
    connection: Connection,
    hashed: Callable[[], str] | None = None,
    scratch: object = None,
    notes: tuple[str, ...] = (),
    files: tuple[Path, ...] | None = None,
) -> DuckSource:
    """A dataset of any kind, in files or in memory; `scratch` lives as long as its rows."""
    names = list(dataset.schema.names)
    refuse_ambiguous(names, name)
    try:
        relation = scan_arrow(connection, dataset)
    except duckdb.Error as error:
        raise explain_error(error, name) from None

    def batches(_: object = scratch) -> Any:
        scanner = dataset.scanner(batch_size=READ, batch_readahead=4, fragment_readahead=1)
        return scanner.to_batches()

    if files is None:
        files = tuple(map(Path, getattr(dataset, "files", ())))
    return DuckSource(
        name, tuple(names), relation, connection, lambda: Rows(dataset.schema, batches), hashed,
        scratch, notes=notes, files=files,
    )  # fmt: skip


@dataclass(frozen=True)
class Partitions:
    """The columns that folders name, and their values in each file."""

    values: pa.Table
    """One row for each file, in order."""

    def __bool__(self) -> bool:
        return bool(self.values.num_columns)

    @property
    def names(self) -> list[str]:
        """What the columns are called."""
        return list(self.values.column_names)

    def without(self, names: list[str]) -> Partitions:
        """Those that the files have no column of their own for."""
        return Partitions(self.values.select([name for name in self.names if name not in names]))

    def of_rows(self, file: int, rows: int) -> list[pa.Array]:
        """The columns for so many rows of a file."""
        return [pa.repeat(self.values.column(name)[file], rows) for name in self.names]

    def scan(
        self, connection: Connection, reader: str, names: list[str], paths: list[str], options: str
    ) -> Relation:
        """All rows of the files, which a table function reads, with these columns, too."""
        if not self:
            return scan_files(connection, reader, paths, options)
        folders = connection.from_arrow(self.values.add_column(0, FILE, pa.array(paths)))
        rows = scan_files(connection, reader, paths, f"{options}, filename = '{FILE}'")
        match = f"rows.{quote_name(FILE)} = folders.{quote_name(FILE)}"
        both = rows.set_alias("rows").join(folders.set_alias("folders"), match)
        own = [f"rows.{quote_name(name)}" for name in names]
        return both.project(", ".join([*own, *(f"folders.{quote_name(n)}" for n in self.names)]))


def read_partitions(files: Files, *, typed: bool) -> Partitions:
    """The columns that the folders of a table name, as whole numbers, days or text.

    Numbers are numbers only where nothing is lost by that: 007 is text, and so is everything beside
    it. Raises where files disagree about which columns there are.

    >>> paths = tuple(Path(f"t/day=2024-01-0{n}/zip=0{n}/a.pq") for n in (1, 2))
    >>> found = read_partitions(Files("t", Path("t"), paths, "parquet", single=False), typed=True)
    >>> [str(kind) for kind in found.values.schema.types]
    ['date32[day]', 'string']
    """
    if files.single:
        return Partitions(pa.table({}))
    rows = [_pairs(path.relative_to(files.root)) for path in files.paths]
    names = list(rows[0])
    for path, pairs in zip(files.paths, rows, strict=True):
        if list(pairs) != names:
            raise DataError(
                "its folders do not name the same columns as those of the first file",
                where=str(path),
                hint="all files of a table lie in folders such as year=2024, or none",
            )
    columns = {name: _column([row[name] for row in rows], typed=typed) for name in names}
    return Partitions(pa.table(columns))


def scan_files(connection: Connection, reader: str, paths: Sequence[str], options: str) -> Relation:
    """The rows that a table function reads from files; no name is taken for a pattern."""
    listed = ", ".join(quote_text(re.sub(r"([*?\[])", r"[\1]", path)) for path in paths)
    return connection.sql(f"SELECT * FROM {reader}([{listed}], hive_partitioning = false{options})")


def _pairs(path: Path) -> dict[str, str | None]:
    pairs: dict[str, str | None] = {}
    for part in path.parts[:-1]:
        name, equals, value = part.partition("=")
        if equals and name:
            pairs[unquote(name)] = None if value == NOTHING else unquote(value)
    return pairs


def _column(values: list[str | None], *, typed: bool) -> pa.Array:
    column = pa.array(values, pa.string())
    known = [value for value in values if value is not None]
    if typed and known and all(WHOLE.fullmatch(value) for value in known):
        return column.cast(pa.int64())
    return column.cast(pa.date32()) if typed and known and all(map(_is_day, known)) else column


def _is_day(value: str) -> bool:
    try:
        return bool(DAY.fullmatch(value) and date.fromisoformat(value))
    except ValueError:
        return False


def unite_schemas(
    schemas: Sequence[pa.Schema], paths: Sequence[Path]
) -> tuple[pa.Schema, list[str]]:
    """One schema for all files, and what a reader should know about it.

    A column that a file does not have is missing there; small numbers become larger ones. Raises
    where a column has types that have no such type in common.

    >>> old, new = pa.schema({"a": pa.int16()}), pa.schema({"a": pa.int64(), "b": pa.string()})
    >>> unite_schemas([old, new], [Path("old"), Path("new")])
    (a: int64
    b: string, ["column 'b' is in 1 of 2 files: read as missing in the others"])
    """
    fields: dict[str, pa.Field] = {}
    often: dict[str, int] = {}
    for schema, path in zip(schemas, paths, strict=True):
        refuse_ambiguous(list(schema.names), str(path))
        for field in schema:
            often[field.name] = often.get(field.name, 0) + 1
            seen = fields.setdefault(field.name, field)
            if seen.type != field.type:
                kind = widen_type(seen.type, field.type)
                if kind is None:
                    raise DataError(
                        f"column {field.name!r} is {field.type} here, {seen.type} in another file",
                        where=str(path),
                        hint="write all files of a table with the same types",
                    )
                seen = seen.with_type(kind)
            fields[field.name] = seen.with_nullable(seen.nullable or field.nullable)
    refuse_ambiguous(list(fields), str(paths[0].parent))
    notes = []
    for name, count in often.items():
        if count < len(schemas):
            fields[name] = fields[name].with_nullable(True)
            share = f"{count:,} of {len(schemas):,} files"
            notes.append(f"column {name!r} is in {share}: read as missing in the others")
    return pa.schema(list(fields.values())), notes


def widen_type(first: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """A type that holds all values of both as they are; None where there is none.

    >>> widen_type(pa.int64(), pa.float64()) is None, widen_type(pa.uint8(), pa.int8())
    (True, DataType(int16))
    """
    if types.is_null(first) or types.is_null(other):
        return other if types.is_null(first) else first
    if types.is_dictionary(first) or types.is_dictionary(other):
        plain = [kind.value_type if types.is_dictionary(kind) else kind for kind in (first, other)]
        return plain[0] if plain[0] == plain[1] else widen_type(*plain)
    for family in FAMILIES:
        if family(first) and family(other):
            try:
                schemas = [pa.schema({"": first}), pa.schema({"": other})]
                kind = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
            except pa.ArrowException:
                return None
            return kind if family(kind) and _holds(kind, first, other) else None
    return None


def fit_batch(batch: pa.RecordBatch, schema: pa.Schema, more: Sequence[pa.Array]) -> pa.RecordBatch:
    """The rows of one file in the columns of all, followed by those that its folders name."""
    columns = []
    for field in list(schema)[: len(schema) - len(more)]:
        at = batch.schema.get_field_index(field.name)
        column = pa.nulls(batch.num_rows, field.type) if at < 0 else batch.column(at)
        columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.RecordBatch.from_arrays([*columns, *more], schema=schema)


def _holds(kind: pa.DataType, first: pa.DataType, other: pa.DataType) -> bool:
    """Unsigned whole numbers take one bit more beside signed ones."""
    if not types.is_signed_integer(kind):
        return True
    bits = [each.bit_width + types.is_unsigned_integer(each) for each in (first, other)]
    return bool(kind.bit_width >= max(bits))


FAMILIES = (
    types.is_integer,
    types.is_floating,
    types.is_decimal128,
    lambda kind: types.is_string(kind) or types.is_large_string(kind),
    lambda kind: types.is_timestamp(kind) and kind.tz is None,
)


@dataclass(frozen=True)
class Spooling(Source):
    """A table whose rows go to a private file once they are to be worked on part by part."""

    def keep_cells(self, columns: Sequence[str]) -> CellStore:
        return self._copy(columns).keep_cells(columns)

    def join(self, translation: Translation) -> Iterator[pa.RecordBatch]:
        return self._copy(self.columns).join(translation)

    def split_cells(self, columns: Sequence[str], by: Sequence[str], parts: int) -> Spread:
        return self._copy(columns).split_cells(columns, by, parts)

    def _copy(self, columns: Sequence[str]) -> DuckSource:
        """A copy of at least these columns."""
        return self._file

    @cached_property
    def _file(self) -> DuckSource:
        """The same table in a file, for as long as this one is kept."""
        scratch, rows = Scratch(), self.stream()
        path = Path(scratch.name) / "table.parquet"
        with pq.ParquetWriter(path, rows.schema) as writer:
            for batch in rows.batches():
                writer.write_batch(batch)
        opened = open_parquet(find_files(path), connect())
        return replace(opened, name=self.name, scratch=scratch, max_cells=self.max_cells)
