"""Rows to and from PostgreSQL by its COPY, in bounded memory: text on the wire, Arrow here."""

from __future__ import annotations

import io
import re
from collections.abc import Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as csv

from tclose.data.engines.postgres.connection import PostgresLink
from tclose.data.engines.postgres.types import make_storable
from tclose.data.source import BATCH
from tclose.errors import DataError

if TYPE_CHECKING:
    from psycopg import Cursor


BLOCK = 16 << 20
"""So many bytes of text are read at once, and at least one row."""


def copy_out(
    link: PostgresLink, query: str, schema: pa.Schema, **settings: str
) -> Generator[pa.RecordBatch, None, None]:
    """The rows of a query, as the server sends them; whoever stops before the last closes it."""
    # The server sends row by row, so a block is never cut within one, however long it is.
    copying = f"COPY ({query}) TO STDOUT (FORMAT csv)"
    with link.read(**settings) as cursor, cursor.copy(copying) as copy:
        for block in _blocks(copy):
            yield from _parse(block, schema, link.where)


def _blocks(rows: Iterable[bytes]) -> Iterator[bytes]:
    waiting: list[bytes] = []
    size = 0
    for row in rows:
        waiting.append(row)
        size += len(row)
        if size >= BLOCK or len(waiting) >= BATCH:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def _parse(block: bytes, schema: pa.Schema, where: str) -> list[pa.RecordBatch]:
    try:
        table = csv.read_csv(
            io.BytesIO(block),
            csv.ReadOptions(column_names=schema.names, block_size=len(block) + 1),
            csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types=schema,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                true_values=["t"],
                false_values=["f"],
            ),
        )
    except pa.ArrowException as error:
        raise _unreadable(str(error), schema, where) from None
    parts: list[pa.RecordBatch] = table.cast(schema).combine_chunks().to_batches()
    return parts


def _unreadable(message: str, schema: pa.Schema, where: str) -> DataError:
    """The parser's complaint without the value that it quotes."""
    at = re.match(r"In CSV column #(\d+)", message)
    if at is None:
        return DataError("a row cannot be read", where=where, hint="is its text UTF-8?")
    field = schema.field(int(at[1]))
    if "UTF8" in message:
        return DataError("not UTF-8 text", where=f"{where}, column {field.name!r}")
    return DataError(
        "a value is beyond what can be counted: an infinite date, one before the year 1 or after "
        "9999, or 24 o'clock",
        where=f"{where}, column {field.name!r}",
        hint="leave such rows out, or give the column as text (--query)",
    )


def copy_in(cursor: Cursor[Any], table: str, batches: Iterable[pa.RecordBatch]) -> int:
    """Puts rows into a table of the database; how many there were."""
    rows = 0
    with cursor.copy(f"COPY {table} FROM STDIN (FORMAT csv)") as copy:
        for batch in batches:
            rows += batch.num_rows
            sink = pa.BufferOutputStream()
            csv.write_csv(make_storable(batch), sink, csv.WriteOptions(include_header=False))
            copy.write(sink.getvalue().to_pybytes())
    return rows


def collect_within_limit(
    parts: Iterable[pa.RecordBatch], schema: pa.Schema, max_rows: int
) -> pa.Table | None:
    """All parts as one table; None where they have more rows than that."""
    kept, found = [], 0
    for part in parts:
        found += part.num_rows
        if found > max_rows:
            return None
        kept.append(part)
    return pa.Table.from_batches(kept, schema)
