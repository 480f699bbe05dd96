"""How a CSV file is written: its encoding, its delimiter, its header; sniffed or told."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tclose.data.io.reading import refuse_ambiguous
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


@dataclass(frozen=True)
class Dialect:
    """What is needed to read the file, and what had to be assumed."""

    encoding: str
    delimiter: str
    header: tuple[str, ...]
    header_lines: int
    """How many lines stand before the first row: blank ones, and the header's own."""
    notes: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the engine can read the file as it is: UTF-8, and a header of one line."""
        return self.encoding in ("utf-8", "utf-8-sig") and self.header_lines == 1


def sniff(path: Path, *, encoding: str | None = None, delimiter: str | None = None) -> Dialect:
    """Reads the beginning of a CSV file and says how the rest is written."""
    with path.open("rb") as file:
        return sniff_sample(file.read(SAMPLE), path.name, encoding=encoding, delimiter=delimiter)


def sniff_sample(
    sample: bytes,
    name: str,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    most: int = SAMPLE,
) -> Dialect:
    """Says from the beginning of a CSV file, at most so many bytes, how the rest is written."""
    if not sample.strip():
        raise DataError("the file is empty", where=name, hint="it needs a header and rows")
    csv.field_size_limit(SAMPLE + 1)
    whole = len(sample) < most
    used, notes = _encoding(sample, encoding, name, whole=whole)
    text = _decode(sample, used, name, whole=whole)
    if "\x00" in text:
        raise _no_text(name)
    mark = delimiter or _delimiter(text)
    if len(mark) != 1 or mark in '"\r\n':
        raise DataError(
            "a delimiter is one character, neither a quote nor a line end",
            where=name,
            hint="for example --delimiter ';', or --delimiter tab",
        )
    names, lines = _header(text, mark, name, whole=whole)
    return Dialect(used, mark, names, lines, notes)


def _encoding(
    sample: bytes, told: str | None, where: str, *, whole: bool
) -> tuple[str, tuple[str, ...]]:
    if told:
        try:
            "".encode(told)  # codecs that do not make bytes from text are refused here
            return codecs.lookup(told).name, ()
        except (LookupError, UnicodeError):
            raise DataError(
                "unknown encoding", where=where, hint="for example utf-8, latin-1 or utf-16"
            ) from None
    for mark, name in MARKS:
        if sample.startswith(mark):
            return name, ()
    if b"\x00" in sample:
        raise _no_text(where)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, final=whole)
        return "utf-8", ()
    except UnicodeDecodeError:
        note = "the file is not UTF-8; read as Windows-1252 (give --encoding if that is wrong)"
        return "cp1252", (note,)


def _decode(sample: bytes, encoding: str, where: str, *, whole: bool) -> str:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        return decoder.decode(sample, final=whole).removeprefix("\ufeff")
    except UnicodeError:
        raise not_this_encoding(encoding, where) from None


def _no_text(where: str) -> DataError:
    return DataError(
        "the file holds null bytes; it is not a text table",
        where=where,
        hint="export it as CSV, or let the name of a Parquet file end in .parquet",
    )


def not_this_encoding(encoding: str, where: str) -> DataError:
    """The error for bytes that an encoding has no characters for."""
    return DataError(f"the text is not {encoding}", where=where, hint="give the right --encoding")


def _delimiter(text: str) -> str:
    """The candidate that splits the most lines into the same, largest number of fields."""

    def score(mark: str) -> tuple[int, int]:
        lines = text.splitlines(keepends=True)[:200]
        lines = lines[:-1] if len(lines) == 200 else lines
        try:
            widths = Counter(len(row) for row in csv.reader(lines, delimiter=mark) if row)
        except csv.Error:
            return (0, 0)
        if not widths:
            return (0, 0)
        width, often = widths.most_common(1)[0]
        return (often, width) if width > 1 else (0, 0)

    return max(DELIMITERS, key=score)


def _header(text: str, delimiter: str, where: str, *, whole: bool) -> tuple[tuple[str, ...], int]:
    """The column names and how many lines they end on; refuses what would make them ambiguous."""
    if not whole and "\n" not in text and "\r" not in text:
        raise DataError(
            f"the header line is longer than {len(text):,} characters",
            where=where,
            hint="is this a CSV file?",
        )
    # Strict: a quote left open would make the rows below, cell values and all, part of a name.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        names = [name.strip() for name in next(row for row in reader if row)]
    except (csv.Error, StopIteration):
        raise DataError(
            "the header line cannot be read", where=where, hint="is a quote left open?"
        ) from None
    refuse_ambiguous(names, where)
    return tuple(names), reader.line_num
