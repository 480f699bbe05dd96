"""New tables in PostgreSQL: made by the server or filled by COPY, there only once they are counted.

Everything happens in one transaction, in which the new table is counted before it ends: whatever
fails, nothing is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tclose.data.engines.duckdb.relation import collect_cell_table
from tclose.data.engines.postgres.connection import IN_ORDER, PLAIN, PostgresLink, configure
from tclose.data.engines.postgres.copy import copy_in
from tclose.data.engines.postgres.source import PostgresSource, open_table
from tclose.data.engines.postgres.types import declare_columns, known_types, refuse_long, zero_of
from tclose.data.io.paths import Address
from tclose.data.source import Change, Source, T, Translation, quote_name
from tclose.errors import DataError, TcloseError, UsageError

if TYPE_CHECKING:
    from psycopg import Cursor


CELLS, NAMES = "tclose_cells", "tclose_names_{}"
OLD, NEW = "old", "new"
ROW = "__tclose_row__"


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
        known = known_types(cursor)
        _create(cursor, address, [] if schema is None else declare_columns(schema, known))


def fill_new_table(
    address: Address,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    check: Callable[[Source], T],
) -> T:
    """Fills a new table with rows from elsewhere; it is there after `check` has counted it."""
    with _writing(PostgresLink(address, writes=True)) as (link, cursor):
        _create(cursor, address, declare_columns(schema, known_types(cursor)))
        copy_in(cursor, _target(address), batches)
        cursor.execute(f"ANALYZE {_target(address)}")
        found = check(open_table(link, address.table))
        link.commit()
    return found


def can_reach(source: PostgresSource, output: Address) -> bool:
    """Whether who writes to an address sees the very rows of a source."""
    link = PostgresLink(output, writes=True)
    try:
        if _identity(source.link) != _identity(link):
            return False
        with link.read() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE tclose_trial ()")
            cursor.execute(f"SELECT FROM {source.subquery} LIMIT 0")
    except TcloseError:
        return False
    finally:
        link.close()
    return True


def release_table(
    source: PostgresSource, translation: Translation, output: Address, check: Callable[[Source], T]
) -> T:
    """Has the server join its rows with the translation, and keeps the result after `check`."""
    translation = replace(translation, cell_table=collect_cell_table(translation))
    tables = uploads(source, translation)
    link = PostgresLink(output, writes=True, like=source.link)
    with _writing(link) as (_, cursor):
        configure(cursor, IN_ORDER)
        upload(cursor, tables)
        cursor.execute(f"CREATE TABLE {_target(output)} AS {join_query(source, translation)}")
        if cursor.rowcount != translation.rows:
            raise DataError("the table has changed while it was read", where=source.name)
        cursor.execute(f"ANALYZE {_target(output)}")
        found = check(open_table(link, output.table))
        link.commit()
    return found


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
            told, other = source.types[change.name].expression, NAMES.format(at)
            others.append(f"LEFT JOIN {other}{suffix} AS n{at} ON n{at}.{OLD} = {told}")
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
