"""CSV files, one or many, packed or not: every field stays text until its kind is known.

So `007` and `7` are two postcodes, and 0.10 is exactly a tenth.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import shutil
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from tclose.data.engines.duckdb.source import (
    TOO_LONG,
    DuckSource,
    explain_errors,
    quote_text,
    scan_files,
)
from tclose.data.engines.files.source import fit_batch, read_partitions
from tclose.data.io.counting import Connection, buffer_for, hash_files
from tclose.data.io.files import LINE
from tclose.data.io.packed import DENSE, RATIO
from tclose.data.io.paths import PACKED, Files, Reading, refuse_ambiguous
from tclose.data.io.scratch import FULL, Scratch
from tclose.data.source import READ, Rows
from tclose.errors import DataError

SAMPLE = 1 << 20
DELIMITERS = (",", ";", "\t", "|")
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
WINDOWS = "Windows-1252"
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


def open_text(files: Files, reading: Reading, connection: Connection) -> DuckSource:
    """The table in one or several CSV files, which have the same columns in the same order."""
    scratch = Scratch()
    texts = [_unpack(path, scratch) for path in files.paths]
    dialects = [_sniff(path, reading) for path in texts]
    first = dialects[0]
    _refuse_unlike(files, dialects)
    plain = all(dialect.is_plain for dialect in dialects)
    if not plain:
        texts = [
            copy_as_utf8(path, dialect, scratch.place(path.name))
            for path, dialect in zip(texts, dialects, strict=True)
        ]
    for place, path in zip(texts, files.paths, strict=True):
        _refuse_endless(place, path.name)
    named = not files.single  # by folders such as year=2024
    folders = read_partitions(files, first.header, typed=False) if named else pa.table({})
    columns = (*first.header, *folders.column_names)
    schema = pa.schema({name: pa.string() for name in columns})
    paths = [os.path.abspath(path) for path in texts]
    options = _options(first, reading.nulls, connection)
    with explain_errors(files.name):
        relation = scan_files(connection, "read_csv", paths, options, folders)

    def batches(_: object = scratch) -> Iterator[pa.RecordBatch]:
        connection.execute("SET preserve_insertion_order = true")
        for at, path in enumerate(paths):
            rows = scan_files(connection, "read_csv", [path], options)
            for batch in rows.to_arrow_reader(READ):
                yield fit_batch(batch, schema, folders, at)

    return DuckSource(
        files.name, columns, relation, connection,
        (lambda: Rows(schema, batches)) if len(texts) > 1 else None, partial(hash_files, files),
        scratch, 0 if plain else first.header_lines - 1,
        notes=tuple(dict.fromkeys(note for dialect in dialects for note in dialect.notes)),
        delimiter=first.delimiter, files=files.paths,
        encoding=", ".join(sorted({each.other_encoding for each in dialects} - {""})),
        steady=not folders.num_columns,
    )  # fmt: skip


def _options(dialect: Dialect, nulls: Sequence[str], connection: Connection) -> str:
    columns = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in dialect.header)
    return (
        f", delim = {quote_text(dialect.delimiter)}, "
        """quote = '"', escape = '"', header = true, """
        f"columns = {{{columns}}}, auto_detect = false, strict_mode = true, "
        f"nullstr = [{', '.join(map(quote_text, nulls))}], max_line_size = {LINE}, "
        f"buffer_size = {buffer_for(connection, LINE + CHUNK)}"
    )


def _unpack(path: Path, scratch: Scratch) -> Path:
    """The file itself, or its decompressed copy in a private folder."""
    with path.open("rb") as file:
        start = file.read(16)
    packed = path.suffix.lower()
    if packed not in PACKED:
        for mark, hint in OTHERS.items():
            if start.startswith(mark):
                raise DataError("not a text table", where=path.name, hint=hint)
        return path
    target = scratch.place(path.with_suffix("").name)
    most = max(DENSE, RATIO * path.stat().st_size)
    unpacking = gzip.open if packed == ".gz" else partial(pa.input_stream, compression="zstd")
    try:
        with unpacking(path) as read, target.open("wb") as write:
            while piece := read.read(CHUNK):
                write.write(piece)
                if write.tell() > most:
                    what = f"unpacked, it is larger than {most >> 20:,} MiB, {RATIO} times itself"
                    raise DataError(what, where=path.name, hint="unpack it first if that is meant")
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno in FULL:
            raise
        hint = "write or fetch it again"
        raise DataError(f"cannot be unpacked ({packed})", where=path.name, hint=hint) from None
    return target


def _refuse_unlike(files: Files, dialects: Sequence[Dialect]) -> None:
    first = dialects[0]
    for path, dialect in zip(files.paths, dialects, strict=True):
        if dialect.header != first.header:
            what = f"its header is not that of {files.paths[0].name}"
            hint = "the files of a table have the same columns in the same order"
            raise DataError(what, where=str(path), hint=hint)
        if dialect.delimiter != first.delimiter:
            what = f"its delimiter is not that of {files.paths[0].name}"
            hint = "give --delimiter if one was guessed wrong, or write all files alike"
            raise DataError(what, where=str(path), hint=hint)


def copy_as_utf8(path: Path, dialect: Dialect, target: Path) -> Path:
    """Writes a copy in UTF-8, with a header of one line, whose end says how rows end."""
    try:
        with (
            path.open("r", encoding=dialect.encoding, newline="") as read,
            target.open("w", encoding="utf-8", newline="") as write,
        ):
            lines = [read.readline() for _ in range(dialect.header_lines)]
            end = lines[-1][len(lines[-1].rstrip("\r\n")) :] or "\n"
            write.write(dialect.delimiter.join("x" * len(dialect.header)) + end)
            shutil.copyfileobj(read, write, CHUNK)
    except UnicodeError:
        raise _not_this_encoding(dialect.encoding, path.name) from None
    return target


def _refuse_endless(place: Path, name: str) -> None:
    """Raises where the last row is too long: the engine may leave such a row out and not say so."""
    with place.open("rb") as file:
        file.seek(max(0, place.stat().st_size - LINE - 2))
        tail = file.read().rstrip(b"\r\n")
    if len(tail) > LINE and b"\n" not in tail and b"\r" not in tail:
        raise DataError(TOO_LONG[0], where=f"{name}, last row", hint=TOO_LONG[1])


@dataclass(frozen=True)
class Dialect:
    """How the file is to be read, and what had to be assumed."""

    encoding: str
    delimiter: str
    header: tuple[str, ...]
    header_lines: int
    """How many lines stand before the first row: blank ones, and the header's own."""
    notes: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the engine can read the file as it is: UTF-8, and a header of one line."""
        return not self.other_encoding and self.header_lines == 1

    @property
    def other_encoding(self) -> str:
        """The name of the encoding, where it is not UTF-8."""
        if self.encoding in ("utf-8", "utf-8-sig"):
            return ""
        return WINDOWS if self.encoding == "cp1252" else self.encoding


def _sniff(path: Path, reading: Reading) -> Dialect:
    with path.open("rb") as file:
        return sniff_sample(file.read(SAMPLE), path.name, reading)


def sniff_sample(sample: bytes, name: str, reading: Reading, most: int = SAMPLE) -> Dialect:
    """Says from the beginning of a CSV file, at most so many bytes, how the rest is written."""
    if not sample.strip():
        raise DataError("the file is empty", where=name, hint="it needs a header and rows")
    csv.field_size_limit(SAMPLE + 1)
    whole = len(sample) < most
    used, notes = _encoding(sample, reading.encoding, name, whole=whole)
    try:
        text = codecs.getincrementaldecoder(used)().decode(sample, final=whole)
    except UnicodeError:
        raise _not_this_encoding(used, name) from None
    text = text.removeprefix("\ufeff")
    if "\x00" in text:
        raise _no_text(name)
    mark = reading.delimiter or _delimiter(text)
    if len(mark) != 1 or mark in '"\r\n':
        what = "a delimiter is one character, neither a quote nor a line end"
        hint = "for example --delimiter ';', or --delimiter tab"
        raise DataError(what, where=name, hint=hint)
    names, lines = _header(text, mark, name, whole=whole)
    return Dialect(used, mark, names, lines, notes)


def _encoding(
    sample: bytes, given: str | None, where: str, *, whole: bool
) -> tuple[str, tuple[str, ...]]:
    if given:
        try:
            "".encode(given)  # codecs that do not make bytes from text are refused here
            return codecs.lookup(given).name, ()
        except (LookupError, UnicodeError):
            hint = "for example utf-8, latin-1 or utf-16"
            raise DataError("unknown encoding", where=where, hint=hint) from None
    for mark, name in MARKS:
        if sample.startswith(mark):
            return name, ()
    if b"\x00" in sample:
        raise _no_text(where)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, final=whole)
        return "utf-8", ()
    except UnicodeDecodeError:
        note = f"the file is not UTF-8; read as {WINDOWS} (give --encoding if that is wrong)"
        return "cp1252", (note,)


def _no_text(where: str) -> DataError:
    hint = "export it as CSV, or let the name of a Parquet file end in .parquet"
    return DataError("the file holds null bytes; it is not a text table", where=where, hint=hint)


def _not_this_encoding(encoding: str, where: str) -> DataError:
    return DataError(f"the text is not {encoding}", where=where, hint="give the right --encoding")


def _delimiter(text: str) -> str:
    """The candidate that splits most lines into the same, largest number of fields."""

    def score(mark: str) -> tuple[int, int]:
        lines = text.splitlines(keepends=True)[:200]
        lines = lines[:-1] if len(lines) == 200 else lines
        try:
            widths = Counter(len(row) for row in csv.reader(lines, delimiter=mark) if row)
        except csv.Error:
            return (0, 0)
        width, often = max(widths.most_common(1), default=(0, 0))
        return (often, width) if width > 1 else (0, 0)

    return max(DELIMITERS, key=score)


def _header(text: str, delimiter: str, where: str, *, whole: bool) -> tuple[tuple[str, ...], int]:
    """The column names and the line that the header ends on; refuses ambiguous names."""
    if not whole and "\n" not in text and "\r" not in text:
        what = f"the header line is longer than {len(text):,} characters"
        hint = "is this a CSV file?"
        raise DataError(what, where=where, hint=hint)
    # Strict: a quote left open would make the rows below, cell values and all, part of a name.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        names = [name.strip() for name in next(row for row in reader if row)]
    except (csv.Error, StopIteration):
        hint = "is a quote left open?"
        raise DataError("the header line cannot be read", where=where, hint=hint) from None
    refuse_ambiguous(names, where)
    return tuple(names), reader.line_num
