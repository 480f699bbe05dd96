"""Any file or frame behind one face that counts.

DuckDB does the counting: it reads files out of core, Arrow tables without copying, and gives one
meaning to missing values whatever the frame library. CSV fields stay text until a column's kind is
known, so that `007` and `7` are two postcodes and 0.10 is exactly a tenth.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq

from tclose.errors import DataError
from tclose.table.dialect import Dialect, not_this_encoding, refuse_ambiguous, sniff

WEIGHT = "__tclose_weight__"
PARQUET = {".parquet", ".pq"}
ARROW = {".arrow", ".feather", ".ipc"}
LINE = 8 << 20
SCALAR = re.compile(
    r"(VARCHAR|ENUM|BOOLEAN|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL|DATE|"
    r"TIMESTAMP(_\w+)?|TIME|UUID)\b"
)


@dataclass(frozen=True)
class Source:
    """A table that can be counted; `name` is what messages call it."""

    name: str
    columns: tuple[str, ...]
    relation: Any = field(repr=False)
    connection: Any = field(repr=False)
    notes: tuple[str, ...] = ()
    scratch: Any = field(default=None, repr=False)
    delimiter: str = ","
    """How a CSV file separates its fields."""
    lines_before: int = 0
    """How many lines of the file stand before what the engine counts as its first."""

    @cached_property
    def types(self) -> dict[str, str]:
        """Each column's type, in the engine's words."""
        return {
            name: str(kind) for name, kind in zip(self.columns, self.relation.types, strict=True)
        }

    @cached_property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.single_row("count(*)")[0])

    def single_row(self, aggregates: str) -> tuple[Any, ...]:
        """The values of some SQL aggregates over the whole table."""
        return tuple(self._run(lambda: self.relation.aggregate(aggregates).fetchall())[0])

    def is_scalar(self, column: str) -> bool:
        """Whether the column holds plain values, not lists, structures or bytes."""
        kind = self.types[column]
        return SCALAR.match(kind) is not None and not kind.endswith("]")

    def group(self, columns: Sequence[str]) -> pa.Table:
        """The distinct tuples of some columns with their number of rows: one GROUP BY."""
        names = [quoted(name) for name in columns]
        listed = ", ".join(names)
        wanted = ", ".join([*names, f"count(*) AS {quoted(WEIGHT)}"])
        return self._run(lambda: self.relation.aggregate(wanted, listed).to_arrow_table())

    def reader(self, rows: int) -> Any:
        """All rows in their own order, as a stream of record batches."""
        if self.connection is not None:
            self.connection.execute("SET preserve_insertion_order = true")
        return self._run(lambda: self.relation.to_arrow_reader(rows))

    def _run(self, query: Any) -> Any:
        try:
            return query()
        except duckdb.Error as error:
            raise _explained(error, self.name, self.lines_before) from None


def open_source(
    data: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    nulls: Sequence[str] = ("",),
    memory: str | None = None,
) -> Source:
    """Opens a path, a pandas, polars or pyarrow frame, or a DuckDB relation.

    >>> source = open_source(pa.table({"zip": ["1", "1", None]}))
    >>> source.rows, source.group(["zip"]).num_rows
    (3, 2)
    """
    if isinstance(data, Source):
        return data
    if isinstance(data, str | Path):
        return _open_path(Path(data), delimiter, encoding, nulls, memory)
    if isinstance(data, duckdb.DuckDBPyRelation):
        refuse_ambiguous(list(data.columns), "relation")
        return Source("relation", tuple(data.columns), data, None)
    return _open_frame(data)


def quoted(name: str) -> str:
    """A column name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def _open_path(
    path: Path,
    delimiter: str | None,
    encoding: str | None,
    nulls: Sequence[str],
    memory: str | None,
) -> Source:
    if path.is_dir():
        raise DataError("this is a folder, not a file", where=str(path), hint="name one file in it")
    if not path.exists():
        raise DataError("there is no such file", where=str(path), hint="check the path")
    try:
        if path.suffix.lower() in PARQUET:
            return _open_parquet(path, _connection(memory))
        if path.suffix.lower() in ARROW:
            return _open_arrow(path, _connection(memory))
        return _open_csv(path, delimiter, encoding, nulls, _connection(memory))
    except OSError as error:
        raise DataError(
            f"cannot be read ({error.strerror or 'damaged'})",
            where=path.name,
            hint="check who may read it, and whether it is whole",
        ) from None


def _connection(memory: str | None) -> Any:
    connection = duckdb.connect()
    if memory:
        try:
            connection.execute("SET memory_limit = ?", [memory])
        except duckdb.Error:
            raise DataError("not an amount of memory", hint="for example --memory 4GB") from None
    connection.execute("SET preserve_insertion_order = false")
    # What the engine needed for counting goes back to the system while the counts are measured.
    connection.execute("SET allocator_background_threads = true")
    return connection


def _open_parquet(path: Path, connection: Any) -> Source:
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
        raise _explained(error, path.name) from None
    return Source(path.name, tuple(names), relation, connection)


def _countable(relation: Any, schema: pa.Schema) -> Any:
    """Columns of nothing but missing values get a type that can be counted."""
    empty = [quoted(one.name) for one in schema if pa.types.is_null(one.type)]
    casts = ", ".join(f"CAST({name} AS VARCHAR) AS {name}" for name in empty)
    return relation.project(f"* REPLACE ({casts})") if empty else relation


def _open_arrow(path: Path, connection: Any) -> Source:
    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except pa.ArrowException:
        raise DataError("not an Arrow file, or damaged", where=path.name) from None
    refuse_ambiguous(list(table.column_names), path.name)
    relation = connection.from_arrow(_plain_missing(table))
    return Source(path.name, tuple(table.column_names), relation, connection)


def _open_csv(
    path: Path, delimiter: str | None, encoding: str | None, nulls: Sequence[str], connection: Any
) -> Source:
    dialect = sniff(path, encoding=encoding, delimiter=delimiter)
    scratch = None if dialect.is_plain else _rows_as_utf8(path, dialect)
    header = "true" if dialect.is_plain else "false"
    place = path if scratch is None else Path(scratch.name) / "table.csv"
    _refuse_endless(place, path.name)
    columns = ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in dialect.header)
    marks = ", ".join(_literal(mark) for mark in nulls)
    sql = (
        f"SELECT * FROM read_csv({_literal(str(place))}, delim = {_literal(dialect.delimiter)}, "
        f"""quote = '"', escape = '"', header = {header}, columns = {{{columns}}}, """
        f"auto_detect = false, strict_mode = true, nullstr = [{marks}], max_line_size = {LINE})"
    )
    try:
        relation = connection.sql(sql)
    except duckdb.Error as error:
        raise _explained(error, path.name) from None
    above = 0 if dialect.is_plain else dialect.header_lines
    return Source(
        path.name, dialect.header, relation, connection, dialect.notes, scratch, dialect.delimiter,
        lines_before=above,
    )  # fmt: skip


class _Scratch:
    """A private folder that is removed with the last reference to it."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="tclose-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


def _rows_as_utf8(path: Path, dialect: Dialect) -> _Scratch:
    """A copy of the rows in UTF-8, in a private folder that lives as long as the source."""
    folder = _Scratch()
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
        raise not_this_encoding(dialect.encoding, path) from None
    return folder


def _open_frame(data: Any) -> Source:
    try:
        frame = nw.from_native(data)
        eager = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        names = list(eager.columns)
        if any(not isinstance(name, str) for name in names):
            raise DataError("column names must be text", where="frame", hint="rename the columns")
        refuse_ambiguous(names, "frame")
        # An index is no column: some frames bring theirs along.
        table = _plain_missing(eager.to_arrow().select(names))
        connection = duckdb.connect()
        relation = connection.from_arrow(table)
    except DataError:
        raise
    except TypeError:
        raise DataError(
            "this kind of table is not known", where="frame",
            hint="give a path, or a pandas, polars or pyarrow frame",
        ) from None  # fmt: skip
    except Exception as error:
        raise DataError(
            f"the frame cannot be read ({type(error).__name__})", where="frame",
            hint="each column must hold one kind of value and have a name of its own",
        ) from None  # fmt: skip
    return Source("frame", tuple(names), relation, connection)


def _plain_missing(table: pa.Table) -> pa.Table:
    """Columns of nothing but missing values get a type that can be counted."""
    for at, kind in enumerate(table.schema.types):
        if pa.types.is_null(kind):
            empty = pa.nulls(table.num_rows, pa.string())
            table = table.set_column(at, table.schema.names[at], empty)
    return table


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _refuse_endless(place: Path, name: str) -> None:
    """Raises where the last row is too long: the engine may leave such a row out and not say so."""
    with place.open("rb") as file:
        file.seek(max(0, place.stat().st_size - LINE - 2))
        tail = file.read().rstrip(b"\r\n")
    if len(tail) > LINE and b"\n" not in tail and b"\r" not in tail:
        raise _too_long(f"{name}, last row")


def _too_long(where: str) -> DataError:
    return DataError(
        f"a row is longer than {LINE:,} bytes",
        where=where,
        hint="is a quote or a line end missing?",
    )


def _explained(error: duckdb.Error, name: str, lines_before: int = 0) -> DataError:
    """The engine's complaint without the cell values it quotes."""
    message = str(error)
    line = re.search(r"on Line: (\d+)", message)
    where = f"{name}, line {int(line[1]) + lines_before}" if line else name
    if fields := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        what = f"{fields[2]} fields where the header has {fields[1]}"
        return DataError(what, where=where, hint="mend that row, or give --delimiter")
    if "unicode" in message or "utf-8" in message.lower():
        return DataError("not UTF-8 text", where=where, hint="give --encoding, such as latin-1")
    if (
        "Maximum line size" in message
        or "Parallel CSV Reader" in message
        or "buffer" in message.lower()
    ):
        return _too_long(where)
    if "invalid state" in message:
        return DataError(
            "its line ends are mixed, or a quote stands where none belongs",
            where=where,
            hint="save it again with one kind of line end",
        )
    if "quote" in message:
        return DataError(
            "a quoted field is not closed properly", where=where, hint="mend the quotes"
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        return DataError("not enough memory", where=name, hint="give more with --memory")
    return DataError(
        f"cannot be read ({type(error).__name__})",
        where=where,
        hint="the file may be damaged: write or fetch it again",
    )
