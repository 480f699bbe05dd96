"""Tables and queries in PostgreSQL: counted there, read by COPY, all from one snapshot.

New tables are made by the server or filled by COPY, in one transaction in which they are counted
before it ends: whatever fails, nothing is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tclose.data.engines.duckdb.relation import collect_cell_table
from tclose.data.engines.duckdb.source import collect_within_limit
from tclose.data.engines.files.source import Spooling
from tclose.data.engines.postgres.connection import IN_ORDER, PLAIN, PostgresLink, configure
from tclose.data.engines.postgres.types import (
    PostgresColumn,
    copy_in,
    copy_out,
    declare_columns,
    describe_columns,
    describe_query,
    fetch_known_types,
    refuse_long,
    zero_of,
)
from tclose.data.io.paths import Address, refuse_ambiguous
from tclose.data.source import ROWS, Change, Rows, Source, T, Translation, quote_name
from tclose.errors import DataError, TcloseError, UsageError, nearest

if TYPE_CHECKING:
    from psycopg import Cursor

CELLS, NAMES = "tclose_cells", "tclose_names_{}"
OLD, NEW = "old", "new"
ROW = "__tclose_row__"
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
    """What a query finds in PostgreSQL, always from the same snapshot.

    Its rows come in the order that the query asks for; those of a table as they are stored, the
    same each time as long as nobody changes them.
    """

    link: PostgresLink = field(repr=False)
    query: str = field(repr=False)
    types: dict[str, PostgresColumn] = field(repr=False)

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
        with closing(copy_out(self.link, query, schema)) as parts:
            return collect_within_limit(parts, schema, self.max_cells)

    def stream(self) -> Rows:
        listed = ", ".join(column.expression for column in self.types.values())
        query = f"SELECT {listed} FROM {self.subquery}"
        schema = pa.schema([column.field for column in self.types.values()])
        return Rows(schema, lambda: copy_out(self.link, query, schema, **IN_ORDER))

    def can_store(self, output: Address | str | Path) -> bool:
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

    def refuse_taken(self, output: Address | str | Path) -> None:
        assert isinstance(output, Address)
        refuse_taken(output)

    def store(
        self, translation: Translation, output: Address | str | Path, check: Callable[[Source], T]
    ) -> T:
        """Has the server join its rows with the translation, and keeps the result after `check`."""
        assert isinstance(output, Address)
        translation = replace(translation, cell_table=collect_cell_table(translation))
        tables = uploads(self, translation)
        with _writing(PostgresLink(output, writes=True, like=self.link)) as (link, cursor):
            configure(cursor, IN_ORDER)
            upload(cursor, tables)
            cursor.execute(f"CREATE TABLE {_target(output)} AS {join_query(self, translation)}")
            if cursor.rowcount != translation.rows:
                raise DataError("the table has changed while it was read", where=self.name)
            return _check_new(link, cursor, output, check)

    def close(self) -> None:
        """Ends the transaction: the server need not keep this snapshot any longer."""
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
    """The table that an address names, or what a query finds in its database."""
    link = PostgresLink(address)
    if query is None:
        return open_table(link, address.table)
    return open_query(link, _one_query(link, query), f"a query in {_database(link)}")


def open_table(link: PostgresLink, table: tuple[str, ...]) -> PostgresSource:
    """A table, as a link sees it."""
    if not table:
        raise UsageError(
            "which table?", where=link.where, hint="add #schema.table to the address, or --query"
        )
    name = ".".join(quote_name(part) for part in table)
    with link.read() as cursor:
        (there,) = cursor.execute("SELECT to_regclass(%s) IS NOT NULL", (name,)).fetchone()
        if not there:
            cursor.execute(TABLES)
            others = sorted(str(other) for (other,) in cursor.fetchall())
            raise DataError(
                "there is no such table, or none that this user may see",
                where=link.where,
                hint=nearest(".".join(table), others),
            )
    place = f"table {'.'.join(table)} in {_database(link)}"
    return open_query(link, f"SELECT * FROM {name}", place)


def open_query(link: PostgresLink, query: str, name: str) -> PostgresSource:
    """What a query finds, under a name for messages."""
    with link.explain_errors():
        columns = describe_columns(link, f"SELECT * FROM (\n{query}\n) AS t")
    names = [column.name for column in columns]
    refuse_ambiguous(names, name)
    if not names:
        raise DataError("the table has no columns", where=name)
    return PostgresSource(name, tuple(names), link, query, dict(zip(names, columns, strict=True)))


def _one_query(link: PostgresLink, query: str) -> str:
    """A query that can stand in parentheses: one SELECT, nothing before or behind it."""
    text = query.strip().rstrip(";").rstrip()
    if ASKS.match(text) is None:
        raise UsageError(
            "a query must be one SELECT", where=link.where, hint='such as --query "SELECT …"'
        )
    with link.read():
        describe_query(link, text)
    return text


def _database(link: PostgresLink) -> str:
    with link.explain_errors():
        return str(link.connection.info.dbname)


def refuse_taken(address: Address, schema: pa.Schema | None = None) -> None:
    """Raises where no such new table can be made: tries it, and undoes that.

    Without a schema, a table without columns is tried.
    """
    if not address.table:
        raise UsageError(
            "which table is to be written?",
            where=str(address),
            hint="add #table or #schema.table to the address",
        )
    refuse_long(address.table, address.name)
    with _writing(PostgresLink(address, writes=True)) as (_, cursor):
        known = fetch_known_types(cursor)
        _create(cursor, address, [] if schema is None else declare_columns(schema, known))


def fill_new_table(
    address: Address,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    check: Callable[[Source], T],
) -> T:
    """Fills a new table with rows from elsewhere; it is there after `check` has counted it."""
    with _writing(PostgresLink(address, writes=True)) as (link, cursor):
        _create(cursor, address, declare_columns(schema, fetch_known_types(cursor)))
        copy_in(cursor, _target(address), batches)
        return _check_new(link, cursor, address, check)


def _check_new(
    link: PostgresLink, cursor: Cursor[Any], address: Address, check: Callable[[Source], T]
) -> T:
    """Lets others see the new table once it is counted."""
    cursor.execute(f"ANALYZE {_target(address)}")
    result = check(open_table(link, address.table))
    link.commit()
    return result


def uploads(source: Source, translation: Translation) -> dict[str, pa.Table]:
    """What the server needs to make a release: the cells, and the pseudonyms of every value."""
    tables = {CELLS: translation.cell_table}
    for at, change in enumerate(translation.changes):
        if change.kind == "pseudonym":
            values = source.group([change.name]).column(change.name).combine_chunks().drop_null()
            tables[NAMES.format(at)] = pa.table({OLD: values, NEW: translation.pseudonyms(values)})
    return tables


def upload(cursor: Cursor[Any], tables: dict[str, pa.Table], suffix: str = "") -> None:
    """Tables for this session alone."""
    for name, table in tables.items():
        listed = ", ".join(declare_columns(table.schema))
        cursor.execute(f"CREATE TEMPORARY TABLE {name}{suffix} ({listed})")
        copy_in(cursor, f"{name}{suffix}", table.to_batches())
        cursor.execute(f"ANALYZE {name}{suffix}")


def join_query(source: PostgresSource, translation: Translation, suffix: str = "") -> str:
    """The released rows as a query: the source's, joined with the uploaded translation."""
    links = []
    for at, name in enumerate(translation.keys):
        mine = source.types[name].expression
        key = translation.cell_table.column(at)
        theirs = f"k.{quote_name(translation.cell_table.column_names[at])}"
        if key.null_count:
            # IS NOT DISTINCT FROM would compare every row with every cell.
            zero = zero_of(key.type)
            links.append(f"COALESCE({mine}, {zero}) = COALESCE({theirs}, {zero})")
            links.append(f"(({mine}) IS NULL) = ({theirs} IS NULL)")
        else:
            links.append(f"{mine} = {theirs}")
    on = " AND ".join(links) or "true"
    wanted, others = [], []
    for at, change in enumerate(translation.changes):
        wanted.append(
            f"{_change_column(source, change, at, translation)} AS {quote_name(change.name)}"
        )
        if change.kind == "pseudonym":
            value, other = source.types[change.name].expression, NAMES.format(at)
            others.append(f"LEFT JOIN {other}{suffix} AS n{at} ON n{at}.{OLD} = {value}")
    order = "gen_random_uuid()" if translation.shuffle else quote_name(ROW)
    return (
        f"SELECT {', '.join(wanted)} FROM "
        f"(SELECT *, row_number() OVER () AS {quote_name(ROW)} FROM {source.subquery}) AS t "
        f"JOIN {CELLS}{suffix} AS k ON {on} {' '.join(others)} ORDER BY {order}"
    )


def _change_column(
    source: PostgresSource, change: Change, at: int, translation: Translation
) -> str:
    column = f"t.{quote_name(change.name)}"
    if change.kind == "text":
        return f"k.{quote_name(change.at)}"
    if change.kind == "hidden":
        kept = f"CASE WHEN NOT k.{quote_name(change.at)} THEN {column} END"
        return f"CAST({kept} AS {source.types[change.name].declared})"
    if change.kind == "mask":
        return f"'{translation.mask}'::text"
    return f"n{at}.{NEW}" if change.kind == "pseudonym" else column


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
        raise DataError(
            "there is such a table already", where=address.name, hint="name another"
        ) from None


def _target(address: Address) -> str:
    return ".".join(quote_name(part) for part in address.table)


def _identity(link: PostgresLink) -> Any:
    """What tells one database of one running server from all others."""
    with link.read() as cursor:
        cursor.execute(
            "SELECT pg_postmaster_start_time()::text, oid, datname FROM pg_database "
            "WHERE datname = current_database()"
        )
        return cursor.fetchone()
