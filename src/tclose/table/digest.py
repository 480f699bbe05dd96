"""What identifies a table: the hash of a file's bytes, or of rows that are in no file.

A table that is no file may come in any order and from any engine. Each row is written as text and
hashed, and the hashes are added up: equal rows, equal sum, whatever the order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from tclose.errors import InternalError
from tclose.table.kinds import told, told_as

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


def fingerprint(schema: pa.Schema, parts: Iterable[pa.RecordBatch]) -> str:
    """The hash of a table's rows, whatever their order.

    >>> table = pa.table({"a": [1, None], "b": ["x", "y"]})
    >>> turned = pa.table({"a": [None, 1], "b": ["y", "x"]})
    >>> fingerprint(table.schema, table.to_batches()) == fingerprint(
    ...     turned.schema, turned.to_batches())
    True
    """
    return united(schema.names, [sums_of(schema, parts)])


def sums_of(schema: pa.Schema, parts: Iterable[pa.RecordBatch]) -> Sums:
    """The sums over some of a table's rows."""
    connection = duckdb.connect()
    try:
        # One text for a moment, wherever it is looked at; names of zones are no part of it.
        connection.execute("SET TimeZone = 'UTC'")
        kinds = {one.name: told_as(one.type) for one in schema}
        named = [f"c{at}" for at in range(len(schema))]
        plain = pa.schema([pa.field(n, k) for n, k in zip(named, kinds.values(), strict=True)])
        failed: list[BaseException] = []
        renamed = (
            pa.RecordBatch.from_arrays([told(column) for column in one.columns], schema=plain)
            for one in noted(parts, failed)
        )
        reader = pa.RecordBatchReader.from_batches(plain, renamed)
        texts = [_text(name, kind) for name, kind in zip(named, kinds.values(), strict=True)]
        row = " || ".join(f"coalesce(strlen({text}) || ':' || {text}, '-')" for text in texts)
        hashed = connection.from_arrow(reader).project(f"sha256({row}) AS h")
        width = LIMB // 4
        limbs = [
            f"sum(CAST('0x' || h[{at * width + 1}:{(at + 1) * width}] AS UBIGINT))"
            for at in range(LIMBS)
        ]
        try:
            found = hashed.aggregate(", ".join(["count(*)", *limbs])).fetchall()[0]
        except duckdb.Error:
            raise failed[0] if failed else InternalError("rows cannot be hashed") from None
    finally:
        connection.close()
    return tuple(int(number or 0) for number in found)


def noted(parts: Iterable[pa.RecordBatch], failed: list[BaseException]) -> Iterator[pa.RecordBatch]:
    """The same parts. What they raise is noted: the engine that reads them would not pass it on."""
    try:
        yield from parts
    except BaseException as error:
        failed.append(error)
        raise


def united(names: Sequence[str], parts: Iterable[Sums]) -> str:
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
