"""The order that rows are released in: nobody foretells it who does not have the whole table."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
from pydantic import JsonValue

from tclose.arrays import Ints
from tclose.data.io.counting import Connection, connect
from tclose.data.io.files import take_rows
from tclose.data.io.paths import bytes_of
from tclose.data.io.records import json_hash
from tclose.data.io.scratch import Scratch

READ = 8_192
SORTED = 256_000_000
"""Bytes of rows that are sorted at once, at most; beyond it they are dealt out to files first."""
BITS = 6
"""How many bits of the hash tell the file that a row is dealt out to."""
HIGH, LOW = "__tclose_high__", "__tclose_low__"
"""The halves of the hash of a row's place."""


def derive_order_key(
    table: str, policy: Mapping[str, JsonValue], seed: int, secret: bytes = b""
) -> bytes:
    """What rows are shuffled by, from the hashes of the table and of its policy, and the seed.

    Equal tables, policies and seeds are shuffled alike, whoever gets the release and whoever signs
    it off. Only whoever has the whole table can derive the key; with a secret of the steward's own,
    nobody else.
    """
    rules = json_hash({name: part for name, part in policy.items() if name != "context"})
    return hmac.digest(secret, json_hash([table, rules, seed]).encode(), "sha256")


def write_order(place: str, key: bytes) -> str:
    """What DuckDB and PostgreSQL sort rows by; `place` is an expression for the row's number."""
    return f"md5('{key.hex()}' || CAST({place} AS VARCHAR))"


def hash_places(first: int, rows: int, key: bytes, connection: Connection) -> tuple[Ints, Ints]:
    """The halves of the hashes of so many places from the first on (the table's first is 1).

    As numbers they sort like the texts of `write_order`, in a fraction of the memory.
    """
    hashed = f"SELECT i, {write_order('i', key)} AS h FROM range({first}, {first + rows}) AS r(i)"
    halves = ", ".join(f"('0x' || h[{part}])::UBIGINT" for part in ("1:16", "17:32"))
    found = connection.sql(f"SELECT i, {halves} FROM ({hashed})").fetchnumpy()
    order = np.argsort(found.pop("i"))
    high, low = (half[order] for half in found.values())
    return high, low


def permute_rows(rows: int, key: bytes) -> Ints:
    """Which row comes at each place.

    >>> sorted(permute_rows(4, b"a key").tolist())
    [0, 1, 2, 3]
    """
    high, low = hash_places(1, rows, key, connect())
    return np.lexsort((low, high))


def shuffle_rows(
    parts: Iterable[pa.RecordBatch], schema: pa.Schema, key: bytes, memory: str | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows in the order of the hashes of their places; out of core."""
    connection, place = connect(), 1
    most = min(SORTED, (bytes_of(memory) or 8 * SORTED) // 8)

    def hash_parts() -> Iterator[pa.Table]:
        nonlocal place
        for part in parts:
            hashes = hash_places(place, part.num_rows, key, connection)
            place += part.num_rows
            yield pa.table([*part.columns, *map(pa.array, hashes)], [*schema.names, HIGH, LOW])

    halves = [pa.field(name, pa.uint64()) for name in (HIGH, LOW)]
    for table in _sort(hash_parts(), pa.schema([*schema, *halves]), most, 64 - BITS):
        yield from table.select(schema.names).to_batches(READ)


def _sort(
    parts: Iterable[pa.Table], schema: pa.Schema, most: int, shift: int
) -> Iterator[pa.Table]:
    """Rows in the order of their hashes, about `most` bytes at once.

    More are dealt out by the bits of the hash from `shift` on, and each file is sorted likewise.
    """
    held: list[pa.Table] = []
    size, files = 0, None
    for part in parts:
        held.append(part)
        size += part.nbytes
        if size > most and shift >= 0:
            files = files or DealtRows(schema, shift)
            files.add(pa.concat_tables(held))
            held, size = [], 0
    if files is None:
        if held:
            table = pa.concat_tables(held)
            order = np.lexsort([table.column(half).to_numpy() for half in (LOW, HIGH)])
            yield take_rows(table, order)
        return
    if held:
        files.add(pa.concat_tables(held))
    for part in files.read():
        yield from _sort(part, schema, most, shift - BITS)


class DealtRows:
    """Rows dealt out to files of a private folder, by some bits of their hashes."""

    def __init__(self, schema: pa.Schema, shift: int) -> None:
        self.scratch, self.shift = Scratch(), np.uint64(shift)
        self.places = [self.scratch.place("rows.arrows") for _ in range(1 << BITS)]
        self.writers = [pa.ipc.new_stream(str(place), schema) for place in self.places]

    def add(self, table: pa.Table) -> None:
        """Puts rows aside."""
        bits = table.column(HIGH).to_numpy() >> self.shift & np.uint64((1 << BITS) - 1)
        bits = bits.astype(np.int64)  # older versions of NumPy do not count others
        order = np.argsort(bits, kind="stable")
        dealt, ends = take_rows(table, order), np.cumsum(np.bincount(bits, minlength=1 << BITS))
        for writer, start, end in zip(self.writers, [0, *ends], ends, strict=False):
            writer.write_table(dealt.slice(start, end - start))

    def read(self) -> Iterator[Iterator[pa.Table]]:
        """The rows of each file in turn; a file is removed before the next one is read."""
        for writer in self.writers:
            writer.close()
        for place in self.places:
            with pa.ipc.open_stream(pa.OSFile(str(place))) as file:
                yield (pa.table(batch) for batch in file)
            self.scratch.discard(place)
        self.scratch.close()
