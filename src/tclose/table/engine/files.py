"""Files that DuckDB reads: CSV as text until a column's kind is known, Parquet, and Arrow.

CSV fields stay text so that `007` and `7` are two postcodes and 0.10 is exactly a tenth.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tclose.errors import DataError
from tclose.table.dialect import Dialect, not_this_encoding, refuse_ambiguous, sniff
from tclose.table.digest import file_hash
from tclose.table.engine.duck import (
    LINE,
    DuckSource,
    connected,
    explained,
    literal,
    plain_missing,
    too_long,
)
from tclose.table.engine.scratch import Scratch
from tclose.table.source import BATCH, Rows, quoted

PARQUET = {".parquet", ".pq"}
ARROW = {".arrow", ".feather", ".ipc"}


def open_path(
    path: Path,
    delimiter: str | None,
    encoding: str | None,
    nulls: Sequence[str],
    memory: str | None,
) -> DuckSource:
    """The table in a file."""
    if path.is_dir():
        raise DataError("this is a folder, not a file", where=str(path), hint="name one file in it")
    if not path.exists():
        raise DataError("there is no such file", where=str(path), hint="check the path")
    try:
        if path.suffix.lower() in PARQUET:
            return _open_parquet(path, connected(memory))
        if path.suffix.lower() in ARROW:
            return _open_arrow(path, connected(memory))
        return _open_csv(path, delimiter, encoding, nulls, connected(memory))
    except OSError as error:
        raise DataError(
            f"cannot be read ({error.strerror or 'damaged'})",
            where=path.name,
            hint="check who may read it, and whether it is whole",
        ) from None


def _open_parquet(path: Path, connection: Any) -> DuckSource:
    try:
        schema = pq.read_schema(path)
    except pa.ArrowException:
        raise DataError(
            "not a Parquet file, or damaged", where=path.name, hint="write or fetch it again"
        ) from None
    names = list(schema.names)
    refuse_ambiguous(names, path.name)
    try:
        relation = _countable(connection.read_parquet(str(path)), schema)
    except duckdb.Error as error:
        raise explained(error, path.name) from None

    def rows() -> Rows:
        file = pq.ParquetFile(path)
        return Rows(file.schema_arrow, lambda: file.iter_batches(BATCH))

    return DuckSource(path.name, tuple(names), relation, connection, rows, lambda: file_hash(path))


def _countable(relation: Any, schema: pa.Schema) -> Any:
    """Columns of nothing but missing values get a type that can be counted."""
    empty = [quoted(one.name) for one in schema if pa.types.is_null(one.type)]
    casts = ", ".join(f"CAST({name} AS VARCHAR) AS {name}" for name in empty)
    return relation.project(f"* REPLACE ({casts})") if empty else relation


def _open_arrow(path: Path, connection: Any) -> DuckSource:
    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except pa.ArrowException:
        raise DataError("not an Arrow file, or damaged", where=path.name) from None
    refuse_ambiguous(list(table.column_names), path.name)
    relation = connection.from_arrow(plain_missing(table))

    def rows() -> Rows:
        stored = pa.ipc.open_file(pa.memory_map(str(path)))
        number = stored.num_record_batches
        return Rows(stored.schema, lambda: (stored.get_batch(at) for at in range(number)))

    return DuckSource(
        path.name, tuple(table.column_names), relation, connection, rows, lambda: file_hash(path)
    )


def _open_csv(
    path: Path, delimiter: str | None, encoding: str | None, nulls: Sequence[str], connection: Any
) -> DuckSource:
    dialect = sniff(path, encoding=encoding, delimiter=delimiter)
    scratch = None if dialect.is_plain else rows_as_utf8(path, dialect)
    header = "true" if dialect.is_plain else "false"
    place = path if scratch is None else Path(scratch.name) / "table.csv"
    _refuse_endless(place, path.name)
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in dialect.header)
    marks = ", ".join(literal(mark) for mark in nulls)
    sql = (
        f"SELECT * FROM read_csv({literal(str(place))}, delim = {literal(dialect.delimiter)}, "
        f"""quote = '"', escape = '"', header = {header}, columns = {{{columns}}}, """
        f"auto_detect = false, strict_mode = true, nullstr = [{marks}], max_line_size = {LINE})"
    )
    try:
        relation = connection.sql(sql)
    except duckdb.Error as error:
        raise explained(error, path.name) from None
    above = 0 if dialect.is_plain else dialect.header_lines
    return DuckSource(
        path.name, dialect.header, relation, connection, None, lambda: file_hash(path), scratch,
        above, notes=dialect.notes, delimiter=dialect.delimiter,
    )  # fmt: skip


def rows_as_utf8(path: Path, dialect: Dialect) -> Scratch:
    """A copy of the rows in UTF-8, in a private folder that lives as long as the source."""
    folder = Scratch()
    target = Path(folder.name) / "table.csv"
    try:
        with (
            path.open("r", encoding=dialect.encoding, newline="") as read,
            target.open("w", encoding="utf-8", newline="") as write,
        ):
            for _ in range(dialect.header_lines):
                read.readline()
            shutil.copyfileobj(read, write, 1 << 20)
    except UnicodeError:
        raise not_this_encoding(dialect.encoding, path.name) from None
    return folder


def _refuse_endless(place: Path, name: str) -> None:
    """Raises where the last row is too long: the engine may leave such a row out and not say so."""
    with place.open("rb") as file:
        file.seek(max(0, place.stat().st_size - LINE - 2))
        tail = file.read().rstrip(b"\r\n")
    if len(tail) > LINE and b"\n" not in tail and b"\r" not in tail:
        raise too_long(f"{name}, last row")
