"""What identifies a table: the hash of a file's bytes, or of rows that are in no file.

A table that is no file may come in any order and from any engine. Each row is written as text and
hashed, and the hashes are added up: equal rows, equal sum, whatever the order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from tclose.data.io.arrow_types import countable_type, make_countable
from tclose.data.io.connection import connect
from tclose.data.io.paths import Files
from tclose.errors import InternalError

BATCH = 131_072
LIMB = 64
LIMBS = 4
Sums = tuple[int, ...]
"""The number of rows, and the sums of the four parts of their hashes."""


def file_hash(path: str | Path) -> str:
    """The sha256 of a file's bytes.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "empty"
    >>> _ = place.write_bytes(b"")
    >>> file_hash(place)[:8]
    'e3b0c442'
    """
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_hash(root: Path, paths: Sequence[Path]) -> str:
    """The sha256 of several files: of their names below a folder and their own hashes."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.relative_to(root).as_posix()}\n{file_hash(path)}\n".encode())
    return digest.hexdigest()


def hash_files(files: Files) -> str:
    """The hash of the file or the files of a table."""
    return file_hash(files.paths[0]) if files.single else files_hash(files.root, files.paths)


def fingerprint(schema: pa.Schema, parts: Iterable[pa.RecordBatch]) -> str:
    """The hash of a table's rows, whatever their order.

    >>> table = pa.table({"a": [1, None], "b": ["x", "y"]})
    >>> turned = pa.table({"a": [None, 1], "b": ["y", "x"]})
    >>> fingerprint(table.schema, table.to_batches()) == fingerprint(
    ...     turned.schema, turned.to_batches())
    True
    """
    return combine_sums(schema.names, [sum_hashes(schema, parts)])


def sum_hashes(schema: pa.Schema, parts: Iterable[pa.RecordBatch]) -> Sums:
    """The sums over some of a table's rows."""
    connection = connect()
    try:
        # One text for a moment, wherever it is looked at; names of zones are no part of it.
        connection.execute("SET TimeZone = 'UTC'")
        kinds = {field.name: countable_type(field.type) for field in schema}
        named = [f"c{at}" for at in range(len(schema))]
        plain = pa.schema([pa.field(n, k) for n, k in zip(named, kinds.values(), strict=True)])
        failed: list[BaseException] = []
        renamed = (
            pa.RecordBatch.from_arrays(
                [make_countable(column) for column in batch.columns], schema=plain
            )
            for batch in note_failure(parts, failed)
        )
        reader = pa.RecordBatchReader.from_batches(plain, renamed)
        texts = [_text(name, kind) for name, kind in zip(named, kinds.values(), strict=True)]
        row = ", ".join(f"coalesce(strlen({text})::VARCHAR, '-'), ':', {text}" for text in texts)
        hashed = connection.from_arrow(reader).project(f"unhex(sha256(concat({row}))) AS h")
        try:
            return _add(hashed.to_arrow_reader(BATCH))
        except duckdb.Error:
            raise failed[0] if failed else InternalError("rows cannot be hashed") from None
    finally:
        connection.close()


def _add(hashes: Iterable[pa.RecordBatch]) -> Sums:
    """The number of some hashes, and the sums of their parts: no sum of halves overflows."""
    sums = [0] * (1 + LIMBS)
    for batch in hashes:
        column, rows = batch.column(0), batch.num_rows
        sums[0] += rows
        start = column.offset * LIMBS
        limbs = np.frombuffer(column.buffers()[2], ">u8")[start : start + rows * LIMBS]
        for at in range(LIMBS):
            limb = limbs[at::LIMBS]
            high, low = limb >> np.uint64(32), limb & np.uint64(0xFFFFFFFF)
            sums[1 + at] += (int(high.sum(dtype=np.uint64)) << 32) + int(low.sum(dtype=np.uint64))
    return tuple(sums)


def note_failure(
    parts: Iterable[pa.RecordBatch], failed: list[BaseException]
) -> Iterator[pa.RecordBatch]:
    """The same parts. What they raise is noted: the engine that reads them would not pass it on."""
    try:
        yield from parts
    except BaseException as error:
        failed.append(error)
        raise


def combine_sums(names: Sequence[str], parts: Iterable[Sums]) -> str:
    """The fingerprint of a table with these columns, from the sums over its parts."""
    rows, total = 0, 0
    for part in parts:
        rows += part[0]
        for at, limb in enumerate(part[1:]):
            total += limb << (LIMB * (LIMBS - 1 - at))
    total %= 1 << (LIMB * LIMBS)
    told = "\n".join([*(f"{len(name)}:{name}" for name in names), str(rows), f"{total:064x}"])
    return hashlib.sha256(told.encode()).hexdigest()


def _text(column: str, kind: pa.DataType) -> str:
    """A value as text: NaN is missing, and moments are told to the microsecond."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_floating(kind):
        column = f"CASE WHEN isnan({column}) THEN NULL ELSE {column} + 0 END"
    elif pa.types.is_timestamp(kind):
        column = f"CAST({column} AS {'TIMESTAMPTZ' if kind.tz else 'TIMESTAMP'})"
    return f"CAST({column} AS VARCHAR)"
