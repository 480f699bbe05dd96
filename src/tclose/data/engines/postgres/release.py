"""New tables in PostgreSQL: made by the server or filled by COPY, there only once they are counted.

Everything happens in one transaction, in which the new table is counted before it ends: whatever
fails, nothing is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tclose.data.engines.duckdb.relation import lines_of
from tclose.data.engines.postgres.connection import IN_ORDER, PLAIN, Link, configure
from tclose.data.engines.postgres.copy import copied_in
from tclose.data.engines.postgres.source import DatabaseSource, table_source
from tclose.data.engines.postgres.types import declarations, known_types, refuse_long, zero_of
from tclose.data.io.address import Address
from tclose.data.source import Source, T, quoted
from tclose.data.translation import Change, Translation
from tclose.errors import DataError, TcloseError, UsageError

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
    with _writing(Link(address, writes=True)) as (_, cursor):
        known = known_types(cursor)
        _create(cursor, address, [] if schema is None else declarations(schema, known))


def fill_new_table(
    address: Address,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    check: Callable[[Source], T],
) -> T:
    """Fills a new table with rows from elsewhere; it is there after `check` has counted it."""
    with _writing(Link(address, writes=True)) as (link, cursor):
        _create(cursor, address, declarations(schema, known_types(cursor)))
        copied_in(cursor, _target(address), batches)
        cursor.execute(f"ANALYZE {_target(address)}")
        found = check(table_source(link, address.table))
        link.commit()
    return found


def reaches(source: DatabaseSource, output: Address) -> bool:
    """Whether who writes to an address sees the very rows of a source."""
    link = Link(output, writes=True)
    try:
        if _identity(source.link) != _identity(link):
            return False
        with link.reading() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE tclose_trial ()")
            cursor.execute(f"SELECT FROM {source.parenthesized} LIMIT 0")
    except TcloseError:
        return False
    finally:
        link.close()
    return True


def released(
    source: DatabaseSource, how: Translation, output: Address, check: Callable[[Source], T]
) -> T:
    """Has the server join its rows with the translation, and keeps the result after `check`."""
    how = replace(how, cell_table=lines_of(how))
    tables = uploads(source, how)
    link = Link(output, writes=True, like=source.link)
    with _writing(link) as (_, cursor):
        configure(cursor, IN_ORDER)
        upload(cursor, tables)
        cursor.execute(f"CREATE TABLE {_target(output)} AS {joined(source, how)}")
        if cursor.rowcount != how.rows:
            raise DataError("the table has changed while it was read", where=source.name)
        cursor.execute(f"ANALYZE {_target(output)}")
        found = check(table_source(link, output.table))
        link.commit()
    return found


def uploads(source: Source, how: Translation) -> dict[str, pa.Table]:
    """What the server needs to make a release: the cells, and the pseudonyms of every value."""
    tables = {CELLS: how.cell_table}
    for at, change in enumerate(how.changes):
        if change.kind == "pseudonym":
            values = source.group([change.name]).column(change.name).combine_chunks().drop_null()
            tables[NAMES.format(at)] = pa.table({OLD: values, NEW: how.pseudonyms(values)})
    return tables


def upload(cursor: Any, tables: dict[str, pa.Table], suffix: str = "") -> None:
    """Tables for this session alone."""
    for name, table in tables.items():
        listed = ", ".join(declarations(table.schema))
        cursor.execute(f"CREATE TEMPORARY TABLE {name}{suffix} ({listed})")
        copied_in(cursor, f"{name}{suffix}", table.to_batches())
        cursor.execute(f"ANALYZE {name}{suffix}")


def joined(source: DatabaseSource, how: Translation, suffix: str = "") -> str:
    """The released rows as a query: the source's, joined with the uploaded translation."""
    links = []
    for at, name in enumerate(how.keys):
        mine = source.types[name].told
        key = how.cell_table.column(at)
        theirs = f"k.{quoted(how.cell_table.column_names[at])}"
        if key.null_count:
            # IS NOT DISTINCT FROM would compare every row with every cell.
            zero = zero_of(key.type)
            links.append(f"COALESCE({mine}, {zero}) = COALESCE({theirs}, {zero})")
            links.append(f"(({mine}) IS NULL) = ({theirs} IS NULL)")
        else:
            links.append(f"{mine} = {theirs}")
    on = " AND ".join(links) or "true"
    wanted, others = [], []
    for at, change in enumerate(how.changes):
        wanted.append(f"{_released(source, change, at, how)} AS {quoted(change.name)}")
        if change.kind == "pseudonym":
            told, other = source.types[change.name].told, NAMES.format(at)
            others.append(f"LEFT JOIN {other}{suffix} AS n{at} ON n{at}.{OLD} = {told}")
    order = "gen_random_uuid()" if how.shuffle else quoted(ROW)
    return (
        f"SELECT {', '.join(wanted)} FROM "
        f"(SELECT *, row_number() OVER () AS {quoted(ROW)} FROM {source.parenthesized}) AS t "
        f"JOIN {CELLS}{suffix} AS k ON {on} {' '.join(others)} ORDER BY {order}"
    )


def _released(source: DatabaseSource, change: Change, at: int, how: Translation) -> str:
    column = f"t.{quoted(change.name)}"
    if change.kind == "text":
        return f"k.{quoted(change.at)}"
    if change.kind == "hidden":
        kept = f"CASE WHEN NOT k.{quoted(change.at)} THEN {column} END"
        return f"CAST({kept} AS {source.types[change.name].declared})"
    if change.kind == "mask":
        return f"'{how.mask}'::text"
    return f"n{at}.{NEW}" if change.kind == "pseudonym" else column


@contextmanager
def _writing(link: Link) -> Iterator[tuple[Link, Any]]:
    """A transaction that is undone unless it is committed."""
    try:
        with link.explained(), link.connection.cursor() as cursor:
            configure(cursor, PLAIN)
            yield link, cursor
    finally:
        link.close()


def _create(cursor: Any, address: Address, columns: list[str]) -> None:
    from psycopg import errors

    try:
        cursor.execute(f"CREATE TABLE {_target(address)} ({', '.join(columns)})")
    except errors.DuplicateTable:
        raise DataError(
            "there is such a table already", where=address.name, hint="name another"
        ) from None


def _target(address: Address) -> str:
    return ".".join(quoted(part) for part in address.table)


def _identity(link: Link) -> Any:
    """What tells one database of one running server from all others."""
    with link.reading() as cursor:
        cursor.execute(
            "SELECT pg_postmaster_start_time()::text, oid, datname FROM pg_database "
            "WHERE datname = current_database()"
        )
        return cursor.fetchone()
