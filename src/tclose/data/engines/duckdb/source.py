"""Tables that DuckDB counts: files out of core, frames without copying, its own relations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from tclose.data.io.counting import (
    Batches,
    Connection,
    Relation,
    coarsen_times,
    connect,
    is_countable,
)
from tclose.data.io.files import LINE
from tclose.data.io.paths import bytes_of
from tclose.data.source import (
    BATCH,
    KEY,
    NEW,
    NO_LIMIT,
    READ,
    ROWS,
    CellStore,
    Cleaned,
    Rows,
    Source,
    Spread,
    Translation,
    quote_name,
    replace_in_rows,
)
from tclose.errors import DataError

if TYPE_CHECKING:
    import pyarrow.dataset as ds

FAR_MORE = 3
"""How many times as many values as are allowed an estimate must find: it errs by a few percent."""
FILE, ROW = "__tclose_file__", "__tclose_row__"
USED = re.compile(r"of size ([\d.]+ \w+) \(([\d.]+ \w+)/([\d.]+ \w+) used\)")
"""What the engine asked for, had, and may have."""
SCALAR = re.compile(
    r"(VARCHAR|ENUM|BOOLEAN|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL|DATE|"
    r"TIMESTAMP(TZ)?(_\w+)?|TIME(_NS)?|UUID)\b"
)

TOO_LONG = (f"a row is longer than {LINE:,} bytes", "is a quote or a line end missing?")
COMPLAINTS = (
    ("unicode|(?i:utf-8)", "not UTF-8 text", "give --encoding, such as latin-1"),
    ("Maximum line size|Parallel CSV Reader|(?i:buffer)", *TOO_LONG),
    (
        "invalid state",
        "its line ends are mixed, or a quote stands where none belongs",
        "save it again with one kind of line end",
    ),
    ("quote", "a quoted field is not closed properly", "correct the quotes"),
)
"""How the engine's complaints are recognized, what they mean, and what to do."""


@dataclass(frozen=True)
class DuckSource(Source):
    """A table that DuckDB counts."""

    relation: Relation = field(repr=False)
    connection: Connection | None = field(default=None, repr=False)
    rows_in_order: Callable[[], Rows] | None = field(default=None, repr=False)
    """Reads the rows without the engine, which has no word for some types (dictionaries, zones)."""
    hashed: Callable[[], str] | None = field(default=None, repr=False)
    scratch: object = field(default=None, repr=False)
    """Files that live as long as the table can be read."""
    lines_before: int = 0
    """How many lines of the file stand before what the engine counts as its first."""
    steady: bool = field(default=False, kw_only=True)
    """Whether the engine reads the rows in the same order every time."""

    @cached_property
    def types(self) -> dict[str, str]:
        """Each column's type, in the engine's words."""
        return dict(zip(self.columns, map(str, self.relation.types), strict=True))

    @cached_property
    def n_rows(self) -> int:
        return int(self.single_row("count(*)")[0])

    def count_distinct(self, column: str) -> int:
        name = quote_name(column)
        gaps = f"(count(*) > count({name}))::INT"
        return int(self.single_row(f"count(DISTINCT {name}) + {gaps}")[0])

    def single_row(self, aggregates: str) -> tuple[Any, ...]:
        """The values of some SQL aggregates over the whole table."""
        with self.explain_errors():
            return tuple(self.relation.aggregate(aggregates).fetchall()[0])

    def is_scalar(self, column: str) -> bool:
        kind = self.types[column]
        return SCALAR.match(kind) is not None and not kind.endswith("]")

    def group_within_limit(self, columns: Sequence[str]) -> pa.Table | None:
        if len(columns) == 1 and self._has_far_more(columns[0]):
            return None
        listed = ", ".join(map(quote_name, columns))
        tuples = self.relation.aggregate(f"{listed}, count(*) AS {quote_name(ROWS)}", listed)
        with self.explain_errors():
            if self.max_cells == NO_LIMIT:
                found = tuples.to_arrow_table()
            else:
                with closing(tuples.to_arrow_reader(BATCH)) as reader:
                    found = collect_within_limit(reader, reader.schema, self.max_cells)
        return None if found is None else self._restore_zones(coarsen_times(found))

    def _has_far_more(self, column: str) -> bool:
        """Whether an estimate, in a fifth of the time of counting, shows that they are too many."""
        if self.max_cells == NO_LIMIT:
            return False
        found = self.single_row(f"approx_count_distinct({quote_name(column)})")[0]
        return bool(found > FAR_MORE * self.max_cells)

    def group_relation(self, columns: Sequence[str]) -> Relation:
        """The counted tuples as a relation; NaN is missing, −0 is 0."""
        names = {name: quote_name(name) for name in columns}
        keys = [f"{plain(quoted, self.types[name])} AS {quoted}" for name, quoted in names.items()]
        listed = ", ".join(names.values())
        rows = self.relation.project(", ".join(keys))
        return rows.aggregate(f"{listed}, count(*) AS {quote_name(ROWS)}", listed)

    def _restore_zones(self, table: pa.Table) -> pa.Table:
        """Moments in the zones that the table itself names: the engine knows only its own."""
        if self.rows_in_order is None or not any(map(_has_zone, table.schema.types)):
            return table
        own = self.rows_in_order().schema
        for at, column in enumerate(table.schema):
            if _has_zone(column.type) and _has_zone(own.field(column.name).type):
                zone = pa.timestamp(column.type.unit, own.field(column.name).type.tz)
                table = table.set_column(at, column.name, table.column(at).cast(zone))
        return table

    def stream(self) -> Rows:
        if self.rows_in_order is not None:
            return self.rows_in_order()
        with self.explain_errors():
            return Rows(self.relation.limit(0).to_arrow_table().schema, self._batches)

    def read_first(self, columns: Sequence[str], limit: int) -> pa.Table:
        if self.rows_in_order is not None:
            return super().read_first(columns, limit)
        with self.explain_errors():
            chosen = self.relation.project(", ".join(map(quote_name, columns)))
            return chosen.limit(limit).to_arrow_table()

    def replace_values(self, cleaned: Cleaned) -> Source:
        columns = {name: quote_name(name) for name in self.columns}
        rows = self.relation.project(f"*, row_number() OVER () AS {ROW}").set_alias("r")
        with self.explain_errors():
            for at, (name, column) in enumerate(cleaned.items()):
                raw, clean = KEY.format(at), NEW.format(at)
                pairs = self.bring_table(column.pair(raw, clean))
                value = f"CAST({plain(quote_name(name), self.types[name])} AS {pairs.types[0]})"
                same = f"{value} IS NOT DISTINCT FROM {raw}"
                rows = rows.join(pairs.set_alias(f"c{at}"), same).set_alias("r")
                columns[name] = f"{clean} AS {quote_name(name)}"
            relation = rows.order(ROW).project(", ".join(columns.values()))
        read = self.rows_in_order
        in_order = None if read is None else lambda: replace_in_rows(read(), cleaned)
        return replace(self, relation=relation, rows_in_order=in_order, hashed=None)

    def bring_table(self, table: pa.Table) -> Relation:
        """One of our tables as a relation of the same connection."""
        assert self.connection is not None  # relations of others say it themselves
        return self.connection.from_arrow(table)

    def _batches(self) -> Any:
        if self.connection is not None:
            self.connection.execute("SET preserve_insertion_order = true")
        with self.explain_errors():
            return self.relation.to_arrow_reader(READ)

    def keep_cells(self, columns: Sequence[str]) -> CellStore:
        from tclose.data.engines.duckdb.partitioned import DuckCellStore

        return DuckCellStore(self, columns)

    def join(self, translation: Translation) -> Iterator[pa.RecordBatch]:
        from tclose.data.engines.duckdb.partitioned import join_whole, read_along

        if self.connection is not None:
            self.connection.execute("SET preserve_insertion_order = true")
        with self.explain_errors():
            yield from (read_along if self.steady else join_whole)(self, translation)

    def can_write(self, translation: Translation) -> bool:
        from tclose.data.engines.duckdb.release import can_write

        return can_write(self, translation)

    def write(self, translation: Translation, place: Path) -> None:
        from tclose.data.engines.duckdb.release import write_parquet

        write_parquet(self, translation, place)

    def split_cells(self, columns: Sequence[str], by: Sequence[str], parts: int) -> Spread:
        from tclose.data.engines.duckdb.partitioned import split_cells

        return split_cells(self, columns, by, parts)

    @property
    def own_connection(self) -> Connection:
        """The connection for temporary tables: the source's own, else a new one."""
        return connect() if self.connection is None else self.connection

    def digest(self) -> str:
        return super().digest() if self.hashed is None else self.hashed()

    def explain_errors(self) -> AbstractContextManager[None]:
        """Turns the engine's complaints into errors that show no value."""
        return explain_errors(self.name, self.lines_before, several=len(self.files) > 1)


def _has_zone(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.tz is not None


def collect_within_limit(parts: Batches, schema: pa.Schema, max_rows: int) -> pa.Table | None:
    """All parts as one table; None where they have more rows than that."""
    kept, found = [], 0
    for part in parts:
        found += part.num_rows
        if found > max_rows:
            return None
        kept.append(part)
    return pa.Table.from_batches(kept, schema)


def plain(column: str, kind: str) -> str:
    """A column normalized for comparison: NaN is missing, −0 is 0.

    NaN is looked for as text: of a Parquet file whose statistics leave it out the engine concludes
    that there is none.
    """
    if kind in ("FLOAT", "DOUBLE"):
        return f"CASE WHEN CAST({column} AS VARCHAR) = 'nan' THEN NULL ELSE {column} + 0 END"
    return column


def quote_text(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def explain_errors(name: str, lines_before: int = 0, *, several: bool = False) -> Iterator[None]:
    """The engine's complaint without the cell values it quotes; of several files, which it is."""
    try:
        yield
    except duckdb.Error as error:
        raise _explain(error, name, lines_before, several=several) from None


def _explain(error: duckdb.Error, name: str, lines_before: int, *, several: bool) -> DataError:
    message = str(error)
    if several and (file := re.search(r"^ *file = (.+)$", message, re.MULTILINE)):
        name = Path(file[1]).name
    if isinstance(error, duckdb.OutOfMemoryException):
        return _too_little(message, name)
    line = re.search(r"on Line: (\d+)", message)
    where = f"{name}, line {int(line[1]) + lines_before}" if line else name
    if fields := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        what = f"{fields[2]} fields where the header has {fields[1]}"
        hint = "correct that row, or give --delimiter"
        if fields[1] == "1":
            hint = "delete titles above the header, or give --delimiter"
        return DataError(what, where=where, hint=hint)
    for sign, what, hint in COMPLAINTS:
        if re.search(sign, message):
            return DataError(what, where=where, hint=hint)
    hint = "the file may be damaged: write or fetch it again"
    return DataError(f"cannot be read ({type(error).__name__})", where=where, hint=hint)


def _too_little(message: str, name: str) -> DataError:
    """Names the limit that was reached: of the disk, the engine or the machine."""
    if "max_temp_directory_size" in message:
        hint = "make room, name a larger folder in TMPDIR, or give more with --memory"
        return DataError("not enough space on the disk for the counts", where=name, hint=hint)
    sizes = USED.search(message)
    more, used, most = (bytes_of(size) or 0 for size in sizes.groups()) if sizes else (0, 0, 0)
    hint = "give more with --memory"
    if used + more < most:  # the system had less than the engine was allowed
        hint = "free some, or give less with --memory: more goes to the disk then"
    return DataError("not enough memory", where=name, hint=hint)


def scan_arrow(connection: Connection, data: pa.Table | ds.Dataset) -> Relation:
    """The columns of an Arrow table or dataset; those of a type that DuckDB lacks are empty."""
    is_table = isinstance(data, pa.Table)
    for at, column in enumerate(data.schema):
        if pa.types.is_run_end_encoded(column.type):  # Arrow itself can do little with these
            what, hint = "run-end encoded values cannot be read", "pyarrow.compute.run_end_decode"
            raise DataError(what, where=f"column {column.name!r}", hint=hint)
        if is_table and pa.types.is_float16(column.type):
            data = data.set_column(at, column.name, data.column(at).cast(pa.float32()))
    known = [field for field in data.schema if is_countable(field.type)]
    if not known:
        raise DataError("no column has values that can be counted", where="table")
    if is_table:
        some = data.select([column.name for column in known])
    else:
        some = data.replace_schema(pa.schema(known)) if len(known) < len(data.schema) else data
    rows, listed = connection.from_arrow(some), columns_of(data.schema)
    # A step that changes nothing costs as much as one that does.
    return rows if listed == ", ".join(map(quote_name, rows.columns)) else rows.project(listed)


def columns_of(schema: pa.Schema) -> str:
    """The expression that is counted for each column.

    >>> columns_of(pa.schema({"a": pa.int8(), "b": pa.null(), "c": pa.float16()}))
    '"a", CAST("b" AS VARCHAR) AS "b", CAST(NULL AS BLOB) AS "c"'
    """
    columns = []
    for column in schema:
        name = quote_name(column.name)
        if pa.types.is_null(column.type):
            columns.append(f"CAST({name} AS VARCHAR) AS {name}")
        else:
            columns.append(name if is_countable(column.type) else f"CAST(NULL AS BLOB) AS {name}")
    return ", ".join(columns)


def scan_files(
    connection: Connection,
    reader: str,
    paths: Sequence[str],
    options: str,
    folders: pa.Table | None = None,
) -> Relation:
    """All rows of files (names are not patterns), with the columns that folder names add."""
    listed = ", ".join(quote_text(re.sub(r"([*?\[])", r"[\1]", path)) for path in paths)
    query = f"SELECT * FROM {reader}([{listed}], hive_partitioning = false{options}"
    if folders is None or not folders.num_columns:
        return connection.sql(f"{query})")
    rows = connection.sql(f"{query}, filename = '{FILE}')").set_alias("rows")
    said = connection.from_arrow(folders.add_column(0, FILE, pa.array(paths))).set_alias("folders")
    both = rows.join(said, f'rows."{FILE}" = folders."{FILE}"')
    return both.project(f'rows.* EXCLUDE ("{FILE}"), folders.* EXCLUDE ("{FILE}")')
