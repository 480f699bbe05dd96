"""Tables in Parquet and Arrow files, one or many, and in datasets: scanned by DuckDB out of core.

Files with different columns are united by name wherever no value changes by that; folders such as
`year=2024/month=1` name columns, too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import LocalFileSystem

from tclose.data.engines.duckdb.source import (
    DuckSource,
    columns_of,
    explain_errors,
    scan_arrow,
    scan_files,
)
from tclose.data.io.counting import Connection, connect, hash_files
from tclose.data.io.files import ArrowWriter, lengthen_views
from tclose.data.io.packed import FILE_FORMAT, measure_batches, measure_row_groups, refuse_dense
from tclose.data.io.paths import Files, find_files, refuse_ambiguous
from tclose.data.io.scratch import Scratch
from tclose.data.source import READ, CellStore, Rows, Source, Spread, Translation
from tclose.errors import DataError

if TYPE_CHECKING:
    import pyarrow.dataset as ds

types = pa.types

NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""How a folder is called whose rows have no value there."""
WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def open_parquet(files: Files, connection: Connection) -> DuckSource:
    """The table in one or several Parquet files, columns united by name."""
    own, notes = unite_schemas([_check_parquet_file(path) for path in files.paths], files.paths)
    folders = read_partitions(files, own.names, typed=True)
    schema = pa.schema([*own, *folders.schema])
    paths = [os.path.abspath(path) for path in files.paths]
    several = "" if files.single else ", union_by_name = true"
    with explain_errors(files.name):
        rows = scan_files(connection, "read_parquet", paths, several, folders)
        relation = rows.project(columns_of(schema))

    def batches() -> Iterator[pa.RecordBatch]:
        for at, path in enumerate(files.paths):
            with _refuse_damage("a Parquet", path.name), _parquet_file(path) as file:
                for batch in file.iter_batches(READ):
                    yield fit_batch(batch, schema, folders, at)

    return DuckSource(
        files.name, tuple(schema.names), relation, connection, lambda: Rows(schema, batches),
        partial(hash_files, files), notes=tuple(notes), files=files.paths,
        steady=not folders.num_columns,
    )  # fmt: skip


def _parquet_file(path: Path) -> pq.ParquetFile:
    """Old moments of 96 bits are read to the microsecond: as nanoseconds they end in 2262."""
    with _refuse_damage("a Parquet", path.name):
        # Relative, a name such as v1:final.parquet would be the address of another system.
        return pq.ParquetFile(os.path.abspath(path), coerce_int96_timestamp_unit="us")


def _check_parquet_file(path: Path) -> pa.Schema:
    """The schema; raises if a group of rows unpacks to too much."""
    with _parquet_file(path) as file:
        refuse_dense(measure_row_groups(file), path, "a group of its rows")
        return file.schema_arrow


@contextmanager
def _refuse_damage(kind: str, name: str) -> Iterator[None]:
    """Turns errors of reading into a DataError; errors of the operating system pass."""
    try:
        yield
    except (pa.ArrowException, OSError, IndexError, UnicodeDecodeError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        what, hint = f"not {kind} file, or damaged", "write or fetch it again"
        raise DataError(what, where=name, hint=hint) from None


def open_arrow(files: Files, connection: Connection) -> DuckSource:
    """The table in one or several Arrow files, in the file or the stream format, likewise."""
    scratch = Scratch()
    with _refuse_damage("an Arrow", files.name):
        for path in files.paths:
            refuse_dense(measure_batches(path), path, "a batch of its rows")
        paths = [_as_arrow_file(path, scratch) for path in files.paths]
        schemas = [_check_arrow_file(path) for path in paths]
    own, notes = unite_schemas(schemas, files.paths)
    folders = read_partitions(files, own.names, typed=True)
    import pyarrow.dataset as ds  # slow to import: it looks for pandas

    def write_condition(pairs: dict[str, Any]) -> ds.Expression:
        """The condition with the values that a file's folders give to all of its rows."""
        known = ds.scalar(True)
        for field, value in ((ds.field(name), value) for name, value in pairs.items()):
            known = known & (field.is_null() if value is None else field == value)
        return known

    dataset = ds.FileSystemDataset.from_paths(
        paths,
        schema=lengthen_views(pa.schema([*own, *folders.schema])),
        format=ds.IpcFileFormat(),
        filesystem=LocalFileSystem(use_mmap=True),
        partitions=[write_condition(pairs) for pairs in folders.to_pylist() or [{}] * len(paths)],
    )
    return open_dataset(
        dataset, connection, files.name, hashed=partial(hash_files, files), scratch=scratch,
        notes=tuple(notes), files=files.paths,
    )  # fmt: skip


def _as_arrow_file(path: Path, scratch: Scratch) -> str:
    """The file as it is, or a copy that can be read from anywhere where it is a stream."""
    with path.open("rb") as file:
        if file.read(len(FILE_FORMAT)) == FILE_FORMAT:
            return os.path.abspath(path)
    target = scratch.place("table.arrow")
    with (
        pa.ipc.open_stream(pa.memory_map(str(path))) as stream,
        closing(ArrowWriter(target, stream.schema, "")) as copy,
    ):
        for batch in stream:
            batch.validate(full=True)
            copy.write(batch)
    return str(target)


def _check_arrow_file(path: str) -> pa.Schema:
    """The schema; raises if a batch is not valid.

    An offset beyond the end of its buffer would be followed, by this process or the engine.
    """
    with pa.ipc.open_file(pa.memory_map(path)) as file:
        for at in range(file.num_record_batches):
            file.get_batch(at).validate(full=True)
        return file.schema


def open_dataset(
    dataset: ds.Dataset, connection: Connection, name: str = "dataset", **known: Any
) -> DuckSource:
    """A dataset of any kind, in files or in memory; `known` are other fields of the source."""
    names = list(dataset.schema.names)
    refuse_ambiguous(names, name)
    dataset = _lengthen_dataset(dataset)
    with explain_errors(name):
        relation = scan_arrow(connection, dataset)

    def batches(_: object = known.get("scratch")) -> Any:
        scanner = dataset.scanner(batch_size=READ, batch_readahead=4, fragment_readahead=1)
        return scanner.to_batches()

    known.setdefault("files", tuple(map(Path, getattr(dataset, "files", ()))))
    rows = partial(Rows, dataset.schema, batches)
    return DuckSource(name, tuple(names), relation, connection, rows, **known)


def _lengthen_dataset(dataset: ds.Dataset) -> ds.Dataset:
    """The dataset with categories that are views as long texts (`lengthen_views`)."""
    schema = lengthen_views(dataset.schema)
    if schema == dataset.schema:
        return dataset
    import pyarrow.dataset as ds

    if isinstance(dataset, ds.FileSystemDataset):
        with suppress(ValueError):  # a filtered one has no fragments
            parts = list(dataset.get_fragments())
            return ds.FileSystemDataset(parts, schema, dataset.format, dataset.filesystem)
    return ds.dataset(dataset.to_table().cast(schema))


def read_partitions(files: Files, own: Sequence[str], *, typed: bool) -> pa.Table:
    """The columns that the folders of a table name: one row for each file, in order.

    They are whole numbers, days or text, numbers only where nothing is lost by that: 007 is text,
    and so is everything beside it. Columns that the files have of their `own` are left out. Raises
    where files disagree about which columns there are.

    >>> paths = tuple(Path(f"t/day=2024-01-0{n}/zip=0{n}/a.pq") for n in (1, 2))
    >>> files = Files("t", Path("t"), paths, "parquet", single=False)
    >>> [str(kind) for kind in read_partitions(files, [], typed=True).schema.types]
    ['date32[day]', 'string']
    """
    below = [
        Path(path.name) if files.single else path.relative_to(files.root) for path in files.paths
    ]
    rows = [_pairs(path) for path in below]
    for path, pairs in zip(files.paths, rows, strict=True):
        if list(pairs) != list(rows[0]):
            what = "its folders do not name the same columns as those of the first file"
            hint = "all files of a table lie in folders such as year=2024, or none"
            raise DataError(what, where=str(path), hint=hint)
    columns = {name: [row[name] for row in rows] for name in rows[0] if name not in own}
    return pa.table({name: _column(values, typed=typed) for name, values in columns.items()})


def _pairs(path: Path) -> dict[str, str | None]:
    pairs: dict[str, str | None] = {}
    for part in path.parts[:-1]:
        name, equals, value = part.partition("=")
        if equals and name:
            pairs[unquote(name)] = None if value == NOTHING else unquote(value)
    return pairs


def _column(values: list[str | None], *, typed: bool) -> pa.Array:
    column = pa.array(values, pa.string())
    known = [value for value in values if value is not None] if typed else []
    if known and all(WHOLE.fullmatch(value) for value in known):
        return column.cast(pa.int64())
    if known and all(DAY.fullmatch(value) for value in known):
        with suppress(pa.ArrowInvalid):  # such as 30 February
            return column.cast(pa.date32())
    return column


def unite_schemas(
    schemas: Sequence[pa.Schema], paths: Sequence[Path]
) -> tuple[pa.Schema, list[str]]:
    """One schema for all files, and notes for the reader about it.

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
    """A type that holds all values of both types exactly; None if there is none.

    >>> widen_type(pa.int64(), pa.float64()) is None, widen_type(pa.uint8(), pa.int8())
    (True, DataType(int16))
    """
    if types.is_null(first) or types.is_null(other):
        return other if types.is_null(first) else first
    both = [kind.value_type if types.is_dictionary(kind) else kind for kind in (first, other)]
    try:
        schemas = [pa.schema({"": kind}) for kind in both]
        wide = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None
    of_one_family = any(all(map(family, (*both, wide))) for family in FAMILIES)
    return wide if both[0] == both[1] or (of_one_family and _holds(wide, *both)) else None


def fit_batch(
    batch: pa.RecordBatch, schema: pa.Schema, folders: pa.Table, file: int
) -> pa.RecordBatch:
    """The rows of one file in the columns of all files, followed by those that folder names add."""
    columns = []
    for field in schema:
        if field.name in folders.column_names:
            column = pa.repeat(folders.column(field.name)[file], batch.num_rows)
        elif field.name in batch.schema.names:
            column = batch.column(field.name)
        else:
            column = pa.nulls(batch.num_rows, field.type)
        columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _holds(kind: pa.DataType, first: pa.DataType, other: pa.DataType) -> bool:
    """Whether a number type holds another; unsigned numbers need one more bit in a signed type."""
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
    """A table that DuckDB works on part by part, from a private file unless it knows it anyway."""

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
        scratch, rows = Scratch(), self.stream()
        path = scratch.place("table.parquet")
        with pq.ParquetWriter(path, rows.schema) as writer:
            for batch in rows.batches():
                writer.write_batch(batch)
        opened = open_parquet(find_files(path), connect())
        return replace(opened, name=self.name, scratch=scratch, max_cells=self.max_cells)
