"""Connections to DuckDB that keep to an amount of memory, and put aside what is more."""

from __future__ import annotations

import shutil
import tempfile
import weakref

import duckdb

from tclose.data.io.reading import bytes_of
from tclose.errors import DataError

SHARE = 200_000_000
"""Bytes that a thread should have: with less, threads crowd each other out."""
BUFFER = 32 << 20


def connect(memory: str | None = None) -> duckdb.DuckDBPyConnection:
    """A connection of our own, with so much memory for counting.

    What does not fit goes to a private folder below the system's one for such things (TMPDIR),
    which goes when the connection does.
    """
    connection = duckdb.connect()
    folder = tempfile.mkdtemp(prefix="tclose-")
    weakref.finalize(connection, shutil.rmtree, folder, ignore_errors=True)
    connection.execute("SET temp_directory = ?", [folder])
    if memory:
        _limit(connection, memory)
    connection.execute("SET preserve_insertion_order = false")
    connection.execute("SET enable_progress_bar = false")
    # What the engine needed for counting goes back to the system while the counts are measured.
    connection.execute("SET allocator_background_threads = true")
    return connection


def _limit(connection: duckdb.DuckDBPyConnection, memory: str) -> None:
    try:
        connection.execute("SET memory_limit = ?", [memory])
    except duckdb.Error:
        raise DataError("not an amount of memory", hint="for example --memory 4GB") from None
    amount = bytes_of(memory)
    if amount is not None:
        threads = int(connection.execute("SELECT current_setting('threads')").fetchall()[0][0])
        connection.execute(f"SET threads = {max(1, min(threads, amount // SHARE))}")


def buffer_for(connection: duckdb.DuckDBPyConnection, least: int) -> int:
    """How many bytes of a file are read at a time: several buffers must leave room for counts.

    >>> buffer_for(connect("100MB"), 9_000_000), buffer_for(connect("1GB"), 9_000_000)
    (9000000, 33554432)
    """
    allowed = connection.execute("SELECT current_setting('memory_limit')").fetchall()[0][0]
    return max(least, min(BUFFER, (bytes_of(allowed) or BUFFER) // 16))
