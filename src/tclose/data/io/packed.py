"""How much packed data unpacks to, as its own headers state before anything is unpacked.

Arrow unpacks a batch as a whole, and Parquet a page of each column: some kilobytes may be many
gigabytes of zeros. A batch of an Arrow file is a FlatBuffers table, which says where its buffers
are; a packed buffer begins with its size (Arrow's format, `Message.fbs`).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tclose.errors import DataError

DENSE, RATIO = 1 << 30, 200
"""Beyond `DENSE` bytes, a file unpacks to so many times what is stored at most."""
FILE_FORMAT = b"ARROW1"
DICTIONARY, BATCH = 2, 3
"""The kinds of messages that hold values."""


def refuse_dense(sizes: Iterable[int], path: str | Path, part: str) -> None:
    """Raises where a part of a file would unpack to more than is allowed."""
    most = max(DENSE, RATIO * os.stat(path).st_size)
    if any(size > most for size in sizes):
        what = f"unpacked, {part} is larger than {most >> 20:,} MiB, {RATIO} times the file"
        hint = "write it anew, with fewer rows in each or unpacked, if that is meant"
        raise DataError(what, where=Path(path).name, hint=hint)


def measure_row_groups(file: pq.ParquetFile) -> Iterator[int]:
    """The unpacked bytes of each group of rows of a Parquet file."""
    groups = file.metadata
    for at in range(groups.num_row_groups):
        yield groups.row_group(at).total_byte_size


def measure_batches(path: str | Path) -> Iterator[int]:
    """The unpacked bytes of each packed batch of an Arrow file, with all dictionaries before it."""
    dictionaries = 0
    try:
        with pa.memory_map(str(path)) as file:
            for message in _messages(file.read_buffer()):
                kind, size = _measure(message)
                yield dictionaries + size
                if kind == DICTIONARY:
                    dictionaries += size
    except (struct.error, EOFError):
        raise pa.ArrowInvalid("a header that points beyond its end") from None


def _messages(data: pa.Buffer) -> Iterator[pa.Message]:
    """The messages of a stream, or those that the end of a file lists."""
    if data.slice(0, len(FILE_FORMAT)).to_pybytes() != FILE_FORMAT:
        yield from pa.ipc.MessageReader.open_stream(data)
        return
    whole = memoryview(data)
    (size,) = struct.unpack_from("<I", whole, len(whole) - len(FILE_FORMAT) - 4)
    end = whole[len(whole) - len(FILE_FORMAT) - 4 - size :]
    for field in (2, 3):  # the blocks of dictionaries, then of batches
        for at, _, _ in _structs(end, _field(end, _follow(end, 0), field), "<qi4xq"):
            yield pa.ipc.read_message(data.slice(at))


def _measure(message: pa.Message) -> tuple[int, int]:
    """The kind of a message, and the unpacked bytes of its packed buffers."""
    header = memoryview(message.metadata)
    root = _follow(header, 0)
    (kind,) = struct.unpack_from("<B", header, _field(header, root, 1))
    if kind not in (DICTIONARY, BATCH):
        return kind, 0
    batch = _follow(header, _field(header, root, 2))
    if kind == DICTIONARY:
        batch = _follow(header, _field(header, batch, 1))
    if not _field(header, batch, 3):
        return kind, 0  # it is not packed
    body, total = memoryview(message.body), 0
    for at, length in _structs(header, _field(header, batch, 2), "<qq"):
        if length >= 8:
            (stated,) = struct.unpack_from("<q", body, at)
            total += length if stated < 0 else stated  # −1: stored as it is
    return kind, total


def _follow(data: memoryview, place: int) -> int:
    """Where the offset at a place leads to."""
    (offset,) = struct.unpack_from("<I", data, place)
    return int(place + offset)


def _field(data: memoryview, table: int, number: int) -> int:
    """The place of a field of a table; 0 where it is not given."""
    (back,) = struct.unpack_from("<i", data, table)
    entry = 4 + 2 * number
    (size,) = struct.unpack_from("<H", data, table - back)
    if entry >= size:
        return 0
    (offset,) = struct.unpack_from("<H", data, table - back + entry)
    return table + int(offset) if offset else 0


def _structs(data: memoryview, place: int, form: str) -> Iterator[tuple[int, ...]]:
    """The structures of a vector; none where its field is not given."""
    if not place:
        return iter(())
    start = _follow(data, place)
    (count,) = struct.unpack_from("<I", data, start)
    return struct.iter_unpack(form, data[start + 4 : start + 4 + count * struct.calcsize(form)])
