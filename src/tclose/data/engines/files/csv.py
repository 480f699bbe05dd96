"""CSV files, one or many, packed or not: every field stays text until its kind is known.

So `007` and `7` are two postcodes, and 0.10 is exactly a tenth.
"""

from __future__ import annotations

import gzip
import os
import shutil
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tclose.data.engines.duckdb.source import DuckSource, explain_error, quote_text, too_long
from tclose.data.engines.files.folder_columns import FILE, Partitions, read_partitions, scan_files
from tclose.data.io.counting import buffer_for, hash_files
from tclose.data.io.dialect import Dialect, not_this_encoding, sniff
from tclose.data.io.files import LINE, Scratch
from tclose.data.io.paths import PACKED, Files
from tclose.data.io.reading import Reading
from tclose.data.source import READ, Rows
from tclose.errors import DataError

CHUNK = 1 << 20
OTHERS = {
    b"PAR1": "this is a Parquet file: let its name end in .parquet",
    b"ARROW1": "this is an Arrow file: let its name end in .arrow",
    b"PK\x03\x04": "this is a spreadsheet or an archive: let its name end in .xlsx, or unpack it",
    b"\xd0\xcf\x11\xe0": "this is an old spreadsheet: save it as .xlsx or .csv",
    b"\x1f\x8b": "this is packed text: let its name end in .csv.gz",
    b"\x28\xb5\x2f\xfd": "this is packed text: let its name end in .csv.zst",
    b"SQLite format 3": "this is a database: export the table as .csv or .parquet",
}
"""How files begin that are no text, and what to do about each."""


def open_text(files: Files, reading: Reading, connection: duckdb.DuckDBPyConnection) -> DuckSource:
    """The table in one or several CSV files, which have the same columns in the same order."""
    scratch: list[Scratch] = []
    texts = [_unpack(path, scratch) for path in files.paths]
    dialects = [
        sniff(path, encoding=reading.encoding, delimiter=reading.delimiter) for path in texts
    ]
    first = dialects[0]
    _refuse_unlike(files, dialects)
    plain = all(dialect.is_plain for dialect in dialects)
    if not plain:
        copies = [rows_as_utf8(*both) for both in zip(texts, dialects, strict=True)]
        texts = [
            (Path(copy.name) / "table.csv").rename(Path(copy.name) / text.name)
            for copy, text in zip(copies, texts, strict=True)
        ]
        scratch += copies
    for place, path in zip(texts, files.paths, strict=True):
        _refuse_endless(place, path.name)
    folders = read_partitions(files, typed=False).without(list(first.header))
    table = _Table(connection, texts, first, plain, reading.nulls, folders, tuple(scratch))
    try:
        relation = table.relation()
    except duckdb.Error as error:
        raise explain_error(error, files.name) from None

    notes = dict.fromkeys(note for dialect in dialects for note in dialect.notes)
    return DuckSource(
        files.name, (*first.header, *folders.names), relation, connection,
        table.rows if len(texts) > 1 else None, partial(hash_files, files), tuple(scratch),
        0 if plain else first.header_lines,
        notes=tuple(notes), delimiter=first.delimiter, files=files.paths, steady=not folders,
    )  # fmt: skip


@dataclass(frozen=True)
class _Table:
    """How DuckDB reads the files."""

    connection: duckdb.DuckDBPyConnection
    texts: list[Path]
    dialect: Dialect
    header: bool
    nulls: tuple[str, ...]
    folders: Partitions
    scratch: tuple[Scratch, ...]
    """Lives as long as the rows can be read."""

    def relation(self) -> duckdb.DuckDBPyRelation:
        """All files together."""
        paths = [os.path.abspath(path) for path in self.texts]
        names = list(self.dialect.header)
        if self.folders:
            return self.folders.join_folders(self.connection, self._scan(paths, FILE), names, paths)
        return self.connection.sql(f"SELECT * FROM {self._scan(paths)}")

    def rows(self) -> Rows:
        """The rows of one file after the other."""
        schema = pa.schema(
            {name: pa.string() for name in (*self.dialect.header, *self.folders.names)}
        )
        return Rows(schema, lambda: self._batches(schema))

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        self.connection.execute("SET preserve_insertion_order = true")
        for at, path in enumerate(self.texts):
            for batch in self.connection.sql(
                f"SELECT * FROM {self._scan([os.path.abspath(path)])}"
            ).to_arrow_reader(READ):
                more = self.folders.of_rows(at, batch.num_rows)
                yield pa.RecordBatch.from_arrays([*batch.columns, *more], schema=schema)

    def _scan(self, paths: list[str], told: str | None = None) -> str:
        columns = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in self.dialect.header)
        marks = ", ".join(quote_text(mark) for mark in self.nulls)
        options = (
            f", delim = {quote_text(self.dialect.delimiter)}, "
            f"""quote = '"', escape = '"', header = {str(self.header).lower()}, """
            f"columns = {{{columns}}}, auto_detect = false, strict_mode = true, "
            f"nullstr = [{marks}], max_line_size = {LINE}, "
            f"buffer_size = {buffer_for(self.connection, LINE + CHUNK)}"
        )
        return scan_files("read_csv", paths, options + (f", filename = '{told}'" if told else ""))


def _unpack(path: Path, scratch: list[Scratch]) -> Path:
    """The file as it is, or what it unpacks to, in a private folder that joins the others."""
    with path.open("rb") as file:
        start = file.read(16)
    packed = path.suffix.lower()
    if packed not in PACKED:
        for mark, hint in OTHERS.items():
            if start.startswith(mark):
                raise DataError("not a text table", where=path.name, hint=hint)
        return path
    scratch.append(Scratch())
    target = Path(scratch[-1].name) / path.with_suffix("").name
    try:
        with _stream(path, packed) as read, target.open("wb") as write:
            shutil.copyfileobj(read, write, CHUNK)
    except (OSError, EOFError, zlib.error):
        raise DataError(
            f"cannot be unpacked ({packed})", where=path.name, hint="write or fetch it again"
        ) from None
    return target


def _stream(path: Path, packed: str) -> Any:
    return gzip.open(path) if packed == ".gz" else pa.input_stream(str(path), compression="zstd")


def _refuse_unlike(files: Files, dialects: Sequence[Dialect]) -> None:
    first = dialects[0]
    for path, dialect in zip(files.paths, dialects, strict=True):
        if dialect.header != first.header:
            raise DataError(
                f"its header is not that of {files.paths[0].name}",
                where=str(path),
                hint="the files of a table have the same columns in the same order",
            )
        if dialect.delimiter != first.delimiter:
            raise DataError(
                f"its fields are separated otherwise than in {files.paths[0].name}",
                where=str(path),
                hint="give --delimiter if one was guessed wrong, or write all files alike",
            )


def rows_as_utf8(path: Path, dialect: Dialect) -> Scratch:
    """A copy of the rows in UTF-8, without the header: `table.csv` in a private folder."""
    folder = Scratch()
    target = Path(folder.name) / "table.csv"
    try:
        with (
            path.open("r", encoding=dialect.encoding, newline="") as read,
            target.open("w", encoding="utf-8", newline="") as write,
        ):
            for _ in range(dialect.header_lines):
                read.readline()
            shutil.copyfileobj(read, write, CHUNK)
    except UnicodeError:
        raise not_this_encoding(dialect.encoding, path.name) from None
    return folder


def _refuse_endless(place: Path, name: str) -> None:
    """Raises where the last row is too long: the engine may leave such a row out and not say so."""
    with place.open("rb") as file:
        file.seek(max(0, place.stat().st_size - LINE - 2))
        tail = file.read().rstrip(b"\r\n")
    if len(tail) > LINE and b"\n" not in tail and b"\r" not in tail:
        raise too_long(f"{name}, last row")
