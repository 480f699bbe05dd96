"""DuckDB in bounded memory, the types that it counts, and the hashes that identify tables.

A table that is no file may come in any order and from any engine. Each row is written as text and
hashed, and the hashes are added up: equal rows, equal sum, whatever the order.
"""

from __future__ import annotations

import hashlib
import os
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from tclose.data.io.paths import PACKED, Files, bytes_of
from tclose.data.io.scratch import Scratch
from tclose.errors import DataError, InternalError

types = pa.types
Connection = duckdb.DuckDBPyConnection
Relation = duckdb.DuckDBPyRelation

THREAD_BYTES = 200_000_000
"""Bytes that a thread should have: with less, threads crowd each other out."""
BUFFER = 32 << 20
BATCH = 131_072
SMALL = 1 << 20
"""Bytes of text that are counted sooner than an engine of their own has started."""
Batches = Iterable[pa.RecordBatch]
Sums = tuple[int, ...]
"""The number of rows, and the sums of the four parts of their hashes."""


def connect(memory: str | None = None) -> Connection:
    """A connection of our own, with so much memory for counting.

    What does not fit goes to a private folder (in TMPDIR), which goes when the connection does.
    """
    connection = duckdb.connect()
    scratch = Scratch()
    weakref.finalize(connection, scratch.close)
    connection.execute("SET temp_directory = ?", [str(scratch.path)])
    # An engine that reads tables of others fetches no code for that.
    for name in ("autoinstall_known_extensions", "autoload_known_extensions"):
        connection.execute(f"SET {name} = false")
    if memory:
        try:
            connection.execute("SET memory_limit = ?", [memory])
        except duckdb.Error:
            raise DataError("not an amount of memory", hint="for example --memory 4GB") from None
        threads = int(connection.execute("SELECT current_setting('threads')").fetchall()[0][0])
        allowed = (bytes_of(memory) or THREAD_BYTES * threads) // THREAD_BYTES
        connection.execute(f"SET threads = {max(1, min(threads, allowed))}")
    connection.execute("SET preserve_insertion_order = false")
    # In a notebook without ipywidgets DuckDB shows no bar, and refuses to be told so.
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")
    # What the engine needed for counting goes back to the system while the counts are measured.
    connection.execute("SET allocator_background_threads = true")
    return connection


def connect_for(files: Files, memory: str | None) -> Connection:
    """The connection for a table in files: the shared one for little text, else one of its own.

    Text is read as it is, so neither a time zone nor an extension is of any matter to it.
    """
    if memory or files.kind != "text" or any(path.suffix.lower() in PACKED for path in files.paths):
        return connect(memory)
    is_small = sum(path.stat().st_size for path in files.paths) <= SMALL
    return connect_to_shared() if is_small else connect()


def connect_to_shared() -> Connection:
    """A connection for small tables, whose answers come in the order of the rows.

    All are of one engine, which takes longer to start than a small table to count.
    """
    return _start_shared(os.getpid()).cursor()


@cache
def _start_shared(process: int) -> Connection:
    """The engine of a process: one that was forked has none of the threads of its parent's."""
    connection = connect()
    connection.execute("SET preserve_insertion_order = true")
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    # Of files that were read nothing is kept: each is read as it is when it is read.
    with suppress(duckdb.CatalogException):
        connection.execute("SET enable_external_file_cache = false")
    return connection


def buffer_for(connection: Connection, least: int) -> int:
    """How many bytes of a file are read at a time: several buffers must leave room for counts."""
    allowed = connection.execute("SELECT current_setting('memory_limit')").fetchall()[0][0]
    return max(least, min(BUFFER, (bytes_of(allowed) or BUFFER) // 16))


def file_hash(path: str | Path) -> str:
    """The sha256 of a file's bytes."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        what, hint = f"cannot be read ({error.strerror})", "has it changed meanwhile?"
        raise DataError(what, where=Path(path).name, hint=hint) from None


def hash_files(files: Files) -> str:
    """The hash of a table's file, or of the names and the hashes of all of them."""
    if files.single:
        return file_hash(files.paths[0])
    digest = hashlib.sha256()
    for path in sorted(files.paths):
        digest.update(f"{path.relative_to(files.root).as_posix()}\n{file_hash(path)}\n".encode())
    return digest.hexdigest()


def fingerprint(schema: pa.Schema, parts: Iterable[pa.RecordBatch]) -> str:
    """The hash of a table's rows, whatever their order."""
    return combine_sums(schema.names, [sum_hashes(schema, parts)])


def sum_hashes(schema: pa.Schema, parts: Iterable[pa.RecordBatch]) -> Sums:
    """The sums over some of a table's rows."""
    # One text for a moment, wherever it is looked at; names of zones are no part of it.
    connection = connect_to_shared()
    try:
        plain = pa.schema([(f"c{at}", countable_type(f.type)) for at, f in enumerate(schema)])
        failed: list[BaseException] = []
        renamed = (
            pa.RecordBatch.from_arrays(
                [make_countable(column) for column in batch.columns], schema=plain
            )
            for batch in note_failure(parts, failed)
        )
        reader = pa.RecordBatchReader.from_batches(plain, renamed)
        texts = [_text(field.name, field.type) for field in plain]
        row = ", ".join(f"coalesce(strlen({text})::VARCHAR, '-'), ':', {text}" for text in texts)
        hashed = connection.from_arrow(reader).project(f"unhex(sha256(concat({row}))) AS h")
        sums = np.zeros(5, dtype=object)
        try:
            for batch in hashed.to_arrow_reader(BATCH):
                halves = np.frombuffer(batch.column(0).buffers()[2], ">u4").reshape(-1, 8)
                some = halves[batch.column(0).offset :][: batch.num_rows]
                high, low = some.sum(axis=0, dtype=np.uint64).astype(object).reshape(4, 2).T
                sums += np.array([batch.num_rows, *((high << 32) + low)], dtype=object)
            return tuple(sums.tolist())
        except duckdb.Error:
            raise failed[0] if failed else InternalError("rows cannot be hashed") from None
    finally:
        connection.close()


def note_failure(parts: Batches, failed: list[BaseException]) -> Iterator[pa.RecordBatch]:
    """Passes batches on and keeps any exception, which the reading engine would not report.

    That an engine reads no further, which it may on a signal, is no failure of the batches.
    """
    try:
        yield from parts
    except GeneratorExit:
        raise
    except BaseException as error:
        failed.append(error)
        raise


def combine_sums(names: Sequence[str], parts: Iterable[Sums]) -> str:
    """The fingerprint of a table with these columns, from the sums over its parts."""
    rows, *limbs = map(sum, zip((0,) * 5, *parts, strict=True))
    total = sum(limb << 64 * (3 - at) for at, limb in enumerate(limbs)) % (1 << 256)
    content = "\n".join([*(f"{len(name)}:{name}" for name in names), str(rows), f"{total:064x}"])
    return hashlib.sha256(content.encode()).hexdigest()


def _text(column: str, kind: pa.DataType) -> str:
    """A value as text: NaN is missing, and moments are written to the microsecond."""
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_floating(kind):
        column = f"CASE WHEN isnan({column}) THEN NULL ELSE {column} + 0 END"
    elif types.is_timestamp(kind):
        column = f"CAST({column} AS {'TIMESTAMPTZ' if kind.tz else 'TIMESTAMP'})"
    return f"CAST({column} AS VARCHAR)"


def is_countable(kind: pa.DataType) -> bool:
    """Whether DuckDB reads values of a type unchanged."""
    return bool(countable_type(kind) == kind)


def countable_type(kind: pa.DataType) -> pa.DataType:
    """The type in which DuckDB reads these values: their own, or the nearest one that it supports.

    >>> countable_type(pa.float16()), countable_type(pa.decimal256(60, 2))
    (DataType(float), DataType(string))
    """
    return make_countable(pa.nulls(0, kind)).type


def make_countable(column: pa.Array) -> pa.Array:
    """A column's values in that type."""
    kind = column.type
    if types.is_dictionary(kind):
        inner = kind.value_type
        plain = is_countable(inner) and not (types.is_nested(inner) or types.is_dictionary(inner))
        return column if plain else make_countable(column.dictionary_decode())
    if isinstance(kind, pa.BaseExtensionType):
        return make_countable(column.storage)
    if types.is_float16(kind):
        return column.cast(pa.float32())
    if types.is_decimal(kind) and (kind.bit_width > 128 or kind.scale < 0):
        return column.cast(pa.string())
    inner = [kind.field(at).type for at in range(kind.num_fields)] if types.is_nested(kind) else []
    if is_misread(kind) or not all(map(is_countable, inner)):
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        return pa.array(texts, pa.string())
    return column


def is_misread(kind: pa.DataType) -> bool:
    """Whether DuckDB takes other memory for the values of a nested type, or refuses parts of it.

    These are dictionaries within lists of a fixed size, and structures of structures whose rows do
    not begin with the first.
    """
    if types.is_fixed_size_list(kind):
        return has_dictionary(kind.value_type)
    fields = range(kind.num_fields if types.is_struct(kind) else 0)
    inner = [kind.field(at).type for at in fields]
    return any(types.is_struct(each) or types.is_union(each) for each in inner)


def has_dictionary(kind: pa.DataType) -> bool:
    """Whether values of a type are coded by a dictionary, or something within them is.

    >>> has_dictionary(pa.list_(pa.dictionary(pa.int8(), pa.string()))), has_dictionary(pa.int8())
    (True, False)
    """
    fields = range(kind.num_fields if types.is_nested(kind) else 0)
    return bool(types.is_dictionary(kind)) or any(
        has_dictionary(kind.field(at).type) for at in fields
    )


def coarsen_times(table: pa.Table) -> pa.Table:
    """Converts nanosecond times to microseconds if nothing is lost.

    Raises where it is a time of day: two that differ by less would be told alike.
    """
    for at, field in enumerate(table.schema):
        if types.is_temporal(field.type) and getattr(field.type, "unit", "") == "ns":
            is_time = types.is_time(field.type)
            coarse = pa.time64("us") if is_time else pa.timestamp("us", field.type.tz)
            try:
                table = table.set_column(at, field.name, table.column(at).cast(coarse))
            except pa.ArrowInvalid:
                if is_time:
                    what, hint = "times of day are kept to the microsecond", "round them"
                    raise DataError(what, where=f"column {field.name!r}", hint=hint) from None
    return table
