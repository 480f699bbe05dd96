"""Tables and queries in PostgreSQL: counted there, read by COPY, all from one snapshot.

New tables are made by the server or filled by COPY, in one transaction in which they are counted
before it ends: whatever fails, nothing is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tclose.data.engines.duckdb.source import collect_within_limit
from tclose.data.engines.files.source import Spooling
from tclose.data.engines.postgres import types as pg
from tclose.data.engines.postgres.connection import IN_ORDER, PLAIN, PostgresLink, configure
from tclose.data.io.counting import Batches
from tclose.data.io.paths import Address, refuse_ambiguous
from tclose.data.source import (
    KEY,
    ROWS,
    Change,
    Cleaned,
    Output,
    Rows,
    Source,
    T,
    Translation,
    quote_name,
)
from tclose.errors import DataError, TcloseError, UsageError, nearest

if TYPE_CHECKING:
    from psycopg import Cursor

CELLS, NAMES = "tclose_cells", "tclose_names_{}"
OLD, NEW = "old", "new"
ROW = "__tclose_row__"
Tables = dict[str, pa.Table]
ASKS = re.compile(
    r"\s*(--[^\n]*\n\s*|/\*.*?\*/\s*)*\(*\s*(select|with|values|table)\b", re.I | re.S
)
TABLES = (
    "SELECT DISTINCT unnest(array[table_name, table_schema || '.' || table_name])::text "
    "FROM information_schema.tables "
    "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
)


@dataclass(frozen=True)
class PostgresSource(Spooling):
    """The rows of a PostgreSQL query, always from the same snapshot and in the same order."""

    link: PostgresLink = field(repr=False)
    query: str = field(repr=False)
    types: dict[str, pg.PostgresColumn] = field(repr=False)

    @cached_property
    def n_rows(self) -> int:
        return self._number("count(*)")

    def count_distinct(self, column: str) -> int:
        value = self.types[column].expression
        return self._number(f"count(DISTINCT {value}) + (count(*) > count({value}))::int")

    def is_scalar(self, column: str) -> bool:
        return self.types[column].is_scalar

    def group_within_limit(self, columns: Sequence[str]) -> pa.Table | None:
        keys = [self.types[name] for name in columns]
        places = ", ".join(str(at) for at in range(1, len(keys) + 1))
        listed = ", ".join([*(column.expression for column in keys), "count(*)"])
        query = f"SELECT {listed} FROM {self.subquery} GROUP BY {places}"
        schema = pa.schema([*(column.field for column in keys), pa.field(ROWS, pa.int64())])
        with closing(pg.copy_out(self.link, query, schema)) as parts:
            return collect_within_limit(parts, schema, self.max_cells)

    def stream(self) -> Rows:
        listed = ", ".join(column.expression for column in self.types.values())
        query = f"SELECT {listed} FROM {self.subquery}"
        schema = pa.schema([column.field for column in self.types.values()])
        return Rows(schema, lambda: pg.copy_out(self.link, query, schema, **IN_ORDER))

    def replace_values(self, cleaned: Cleaned) -> Source:
        """The query joined with the new values, its rows in the same order."""
        columns = {name: f"t.{quote_name(name)}" for name in self.columns}
        joins = []
        for at, (name, column) in enumerate(cleaned.items()):
            arrays = ", ".join(pg.write_array(values) for values in (column.raw, column.clean))
            value = self.types[name].expression
            joins.append(f"LEFT JOIN unnest({arrays}) AS c{at} ({OLD}, {NEW})")
            joins[-1] += f" ON c{at}.{OLD} = {value}"
            declared = self.types[name].declared  # numbers of any length are read as text
            is_number = declared.startswith("numeric") and column.clean.type == column.raw.type
            new = f"CAST(c{at}.{NEW} AS {declared})" if is_number else f"c{at}.{NEW}"
            columns[name] = f"{new} AS {quote_name(name)}"
        query = (
            f"SELECT {', '.join(columns.values())} FROM "
            f"(SELECT *, row_number() OVER () AS {ROW} FROM {self.subquery}) AS t "
            f"{' '.join(joins)} ORDER BY t.{ROW}"
        )
        return open_query(self.link, query, self.name)

    def can_store(self, output: Output) -> bool:
        """Whether who writes to an address sees the very rows of this table."""
        if not isinstance(output, Address):
            return False
        link = PostgresLink(output, writes=True)
        try:
            if _identity(self.link) != _identity(link):
                return False
            with link.read() as cursor:
                cursor.execute("CREATE TEMPORARY TABLE tclose_trial ()")
                cursor.execute(f"SELECT FROM {self.subquery} LIMIT 0")
        except TcloseError:
            return False
        finally:
            link.close()
        return True

    def refuse_taken(self, output: Output) -> None:
        assert isinstance(output, Address)
        refuse_taken(output)

    def store(self, translation: Translation, output: Output, check: Callable[[Source], T]) -> T:
        """Has the server join its rows with the translation, and keeps the result after `check`."""
        assert isinstance(output, Address)
        tables = self.pair_pseudonyms(translation)
        with _writing(PostgresLink(output, writes=True, like=self.link)) as (link, cursor):
            configure(cursor, IN_ORDER)
            query = self.upload_join(cursor, translation, tables)
            cursor.execute(f"CREATE TABLE {_target(output)} AS {query}")
            if cursor.rowcount != translation.rows:
                raise DataError("the table has changed while it was read", where=self.name)
            return _check_new(link, cursor, output, check)

    def pair_pseudonyms(self, translation: Translation) -> Tables:
        """Tables of identifiers and their pseudonyms, by table name."""
        tables = {}
        for at, change in enumerate(translation.changes):
            if change.kind == "pseudonym":
                values = self.group([change.name]).column(0).combine_chunks().drop_null()
                pairs = {OLD: values, NEW: translation.pseudonyms(change.name, values)}
                tables[NAMES.format(at)] = pa.table(pairs)
        return tables

    def upload_join(
        self, cursor: Cursor[Any], translation: Translation, tables: Tables, end: str = ""
    ) -> str:
        """The released rows as a query on tables that are there for this session alone."""
        for name, table in {CELLS: translation.cells, **tables}.items():
            listed = ", ".join(pg.declare_columns(table.schema))
            cursor.execute(f"CREATE TEMPORARY TABLE {name}{end} ({listed})")
            pg.copy_in(cursor, f"{name}{end}", table.to_batches())
            cursor.execute(f"ANALYZE {name}{end}")
        joins = [f"JOIN {CELLS}{end} AS k ON {self._match(translation)}"]
        wanted = []
        for at, change in enumerate(translation.changes):
            wanted.append(f"{self._change(change, at, translation)} AS {quote_name(change.name)}")
            if change.kind == "pseudonym":
                value, other = self.types[change.name].expression, NAMES.format(at)
                joins.append(f"LEFT JOIN {other}{end} AS n{at} ON n{at}.{OLD} = {value}")
        query = (
            f"SELECT {', '.join(wanted)} FROM "
            f"(SELECT *, row_number() OVER () AS {ROW} FROM {self.subquery}) AS t {' '.join(joins)}"
        )
        if not translation.is_shuffled:
            return f"{query} ORDER BY {ROW}"
        # A whole row as text names each value unambiguously, and gaps as gaps.
        return f"SELECT * FROM ({query}) AS {ROW} ORDER BY md5(CAST({ROW} AS text))"

    def _match(self, translation: Translation) -> str:
        """The SQL condition by which rows and cells match; missing values match each other."""
        links = []
        for at, name in enumerate(translation.keys):
            mine, theirs = self.types[name].expression, f"k.{KEY.format(at)}"
            key = translation.cells.column(at)
            if key.null_count:
                # IS NOT DISTINCT FROM would compare every row with every cell.
                zero = pg.zero_of(key.type)
                links.append(f"COALESCE({mine}, {zero}) = COALESCE({theirs}, {zero})")
                links.append(f"(({mine}) IS NULL) = ({theirs} IS NULL)")
            else:
                links.append(f"{mine} = {theirs}")
        return " AND ".join(links) or "true"

    def _change(self, change: Change, at: int, translation: Translation) -> str:
        column = f"t.{quote_name(change.name)}"
        if change.kind == "text":
            return f"k.{quote_name(change.at)}"
        if change.kind == "hidden":
            kept = f"CASE WHEN NOT k.{quote_name(change.at)} THEN {column} END"
            return f"CAST({kept} AS {self._find_released_type(change.name)})"
        if change.kind == "mask":
            return f"'{translation.mask}'::text"
        if change.kind == "pseudonym":
            return f"n{at}.{NEW}"
        return f"CAST({column} AS {self._find_released_type(change.name)})"

    def _find_released_type(self, name: str) -> str:
        """A column's type in a release, without conditions or labels that reveal further values."""
        if self.types[name].lists_enums:
            return "text[]"
        return "text" if self._tells_more(name) else self.types[name].declared

    def _tells_more(self, name: str) -> bool:
        """Whether the type of a column names values that do not occur."""
        if not self.types[name].is_enum:
            return False
        named = f"enumtypid = '{self.types[name].declared}'::regtype"
        with self.link.read() as cursor:
            (more,) = cursor.execute(
                f"SELECT EXISTS (SELECT enumlabel::text FROM pg_enum WHERE {named} "
                f"EXCEPT SELECT t.{quote_name(name)}::text FROM {self.subquery})"
            ).fetchone()
        return bool(more)

    def close(self) -> None:
        self.link.close()

    @property
    def subquery(self) -> str:
        """The query as it stands after FROM."""
        return f"(\n{self.query}\n) AS t"

    def _number(self, aggregate: str) -> int:
        with self.link.read() as cursor:
            (number,) = cursor.execute(f"SELECT {aggregate} FROM {self.subquery}").fetchone()
        return int(number)


def open_address(address: Address, query: str | None = None) -> PostgresSource:
    """The table that an address names, or the rows of one SELECT in its database."""
    link = PostgresLink(address)
    if query is None:
        return open_table(link, address.table)
    text = query.strip().rstrip(";").rstrip()
    if ASKS.match(text) is None:
        hint = 'such as --query "SELECT …"'
        raise UsageError("a query must be one SELECT", where=link.where, hint=hint)
    with link.read():  # what follows puts it into parentheses: it must be one statement
        pg.describe_query(link, text)
    return open_query(link, text, f"a query in {_database(link)}")


def open_table(link: PostgresLink, table: tuple[str, ...]) -> PostgresSource:
    """A table, as a link sees it."""
    if not table:
        hint = "add #schema.table to the address, or --query"
        raise UsageError("the address names no table", where=link.where, hint=hint)
    name = ".".join(quote_name(part) for part in table)
    with link.read() as cursor:
        (there,) = cursor.execute("SELECT to_regclass(%s) IS NOT NULL", (name,)).fetchone()
        if not there:
            cursor.execute(TABLES)
            others = sorted(str(other) for (other,) in cursor.fetchall())
            what = "there is no such table, or none that this user may see"
            hint = nearest(".".join(table), others)
            raise DataError(what, where=link.where, hint=hint)
    place = f"table {'.'.join(table)} in {_database(link)}"
    return open_query(link, f"SELECT * FROM {name}", place)


def open_query(link: PostgresLink, query: str, name: str) -> PostgresSource:
    """The rows of a query, under a name for messages."""
    with link.explain_errors():
        columns = pg.describe_columns(link, f"SELECT * FROM (\n{query}\n) AS t")
    names = [column.name for column in columns]
    refuse_ambiguous(names, name)
    if not names:
        raise DataError("the table has no columns", where=name)
    return PostgresSource(name, tuple(names), link, query, dict(zip(names, columns, strict=True)))


def _database(link: PostgresLink) -> str:
    with link.explain_errors():
        return str(link.connection.info.dbname)


def refuse_taken(address: Address, schema: pa.Schema | None = None) -> None:
    """Raises where no such new table (without a schema: of no columns) can be made: tries it."""
    if not address.table:
        hint = "add #table or #schema.table to the address"
        raise UsageError("the address names no table to write", where=str(address), hint=hint)
    pg.refuse_long(address.table, address.name)
    with _writing(PostgresLink(address, writes=True)) as (_, cursor):
        known = pg.fetch_known_types(cursor)
        _create(cursor, address, [] if schema is None else pg.declare_columns(schema, known))


def fill_new_table(
    address: Address, schema: pa.Schema, batches: Batches, check: Callable[[Source], T]
) -> T:
    """Fills a new table with rows from elsewhere; it is there after `check` has counted it."""
    with _writing(PostgresLink(address, writes=True)) as (link, cursor):
        _create(cursor, address, pg.declare_columns(schema, pg.fetch_known_types(cursor)))
        pg.copy_in(cursor, _target(address), batches)
        return _check_new(link, cursor, address, check)


def _check_new(
    link: PostgresLink, cursor: Cursor[Any], address: Address, check: Callable[[Source], T]
) -> T:
    cursor.execute(f"ANALYZE {_target(address)}")
    result = check(open_table(link, address.table))
    link.commit()
    return result


@contextmanager
def _writing(link: PostgresLink) -> Iterator[tuple[PostgresLink, Any]]:
    """A transaction that is undone unless it is committed."""
    try:
        with link.explain_errors(), link.connection.cursor() as cursor:
            configure(cursor, PLAIN)
            yield link, cursor
    finally:
        link.close()


def _create(cursor: Cursor[Any], address: Address, columns: list[str]) -> None:
    from psycopg import errors

    try:
        cursor.execute(f"CREATE TABLE {_target(address)} ({', '.join(columns)})")
    except errors.DuplicateTable:
        what = "there is such a table already"
        raise DataError(what, where=address.name, hint="name another") from None


def _target(address: Address) -> str:
    return ".".join(quote_name(part) for part in address.table)


def _identity(link: PostgresLink) -> Any:
    """A value that identifies one database of one running server."""
    with link.read() as cursor:
        cursor.execute(
            "SELECT pg_postmaster_start_time()::text, oid, datname FROM pg_database "
            "WHERE datname = current_database()"
        )
        return cursor.fetchone()
