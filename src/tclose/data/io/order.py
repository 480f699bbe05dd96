"""The order of released rows: a function of the released values, so that it reveals nothing more.

Rows are sorted by two hashes of their own released values. Rows with the same hashes are alike, so
that neither the order of the table nor anything that is not released takes part in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from tclose.arrays import Ints
from tclose.data.io.counting import Connection, connect_to_shared, make_countable
from tclose.data.io.files import take_rows
from tclose.data.io.paths import bytes_of
from tclose.data.io.scratch import Scratch

READ = 8_192
SORTED = 256_000_000
"""Bytes of rows that are sorted at once, at most; beyond it they are dealt out to files first."""
BITS = 6
"""How many bits of the hash tell the file that a row is dealt out to."""
HASHES = "__tclose_hash__", "__tclose_other_hash__"


def write_hashes(texts: Sequence[str]) -> tuple[str, str]:
    """The SQL expressions by which DuckDB sorts rows: two independent hashes of some texts.

    >>> write_hashes(["a", "b"])
    ('hash(a, b)', "hash(a || '~', b || '~')")
    """
    other = (f"{text} || '~'" for text in texts)
    return f"hash({', '.join(texts)})", f"hash({', '.join(other)})"


def hash_rows(batch: pa.RecordBatch, connection: Connection) -> tuple[Ints, Ints]:
    """The two hashes of each row, as `write_hashes` has them."""
    plain = pa.table([_spell_out(column) for column in batch.columns], _name(batch.num_columns))
    slices = pa.Table.from_batches(plain.to_batches(max_chunksize=READ), plain.schema)
    wanted = ", ".join(write_hashes([f"CAST({name} AS VARCHAR)" for name in plain.column_names]))
    found = connection.from_arrow(slices).project(wanted).to_arrow_table()
    first, second = (column.to_numpy() for column in found.columns)
    return first, second


def _name(count: int) -> list[str]:
    return [f"c{at}" for at in range(count)]


def _spell_out(column: pa.Array) -> pa.Array:
    """Values that are written differently where they differ: nanoseconds as numbers, in full."""
    plain = make_countable(column)
    if pa.types.is_dictionary(plain.type):
        plain = plain.dictionary_decode()
    return plain.view(pa.int64()) if getattr(plain.type, "unit", "") == "ns" else plain


def shuffle_table(table: pa.Table) -> Ints:
    """Which row comes at each place.

    >>> table = pa.table({"age": ["[20, 29]", "[30, 39]", "[40, 49]"], "ill": ["x", None, "y"]})
    >>> back = table.take([2, 1, 0])
    >>> table.take(shuffle_table(table)).equals(back.take(shuffle_table(back)))
    True
    """
    connection = connect_to_shared()
    parts = [hash_rows(batch, connection) for batch in table.to_batches()]
    if not parts:
        return np.empty(0, dtype=np.int64)
    first, second = (np.concatenate(hashes) for hashes in zip(*parts, strict=True))
    return np.lexsort((second, first))


def shuffle_rows(
    parts: Iterable[pa.RecordBatch], schema: pa.Schema, memory: str | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows in the order of their hashes; out of core."""
    connection = connect_to_shared()
    most = min(SORTED, (bytes_of(memory) or 8 * SORTED) // 8)
    hashed = (
        pa.table(
            [*part.columns, *map(pa.array, hash_rows(part, connection))],
            [*schema.names, *HASHES],
        )
        for part in parts
    )
    with_hashes = pa.schema([*schema, *(pa.field(name, pa.uint64()) for name in HASHES)])
    for table in _sort(hashed, with_hashes, most, 64 - BITS):
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
            order = np.lexsort([table.column(name).to_numpy() for name in reversed(HASHES)])
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
        bits = table.column(HASHES[0]).to_numpy() >> self.shift & np.uint64((1 << BITS) - 1)
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
