"""How a CSV file is written: its encoding, its delimiter, its header; sniffed or told."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

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
    notes: tuple[str, ...] = ()

    @property
    def is_utf8(self) -> bool:
        """Whether the bytes can be read as they are."""
        return self.encoding in ("utf-8", "utf-8-sig")


def sniff(path: Path, *, encoding: str | None = None, delimiter: str | None = None) -> Dialect:
    """Reads the beginning of a CSV file and says how the rest is written."""
    with path.open("rb") as file:
        sample = file.read(SAMPLE)
    if not sample.strip():
        raise DataError("the file is empty", where=path.name, hint="it needs a header and rows")
    used, notes = _encoding(sample, encoding, path)
    text = _decoded(sample, used, path)
    if "\x00" in text:
        raise DataError(
            "the file holds null bytes; it is not a text table",
            where=path.name,
            hint="export it as CSV or Parquet",
        )
    mark = delimiter or _delimiter(text)
    if len(mark) != 1:
        raise DataError("a delimiter is one character", where=path.name)
    return Dialect(used, mark, _header(text, mark, path, whole=len(sample) < SAMPLE), notes)


def _encoding(sample: bytes, told: str | None, path: Path) -> tuple[str, tuple[str, ...]]:
    if told:
        try:
            return codecs.lookup(told).name, ()
        except LookupError:
            raise DataError("unknown encoding", where=path.name, hint="for example utf-8") from None
    for mark, name in MARKS:
        if sample.startswith(mark):
            return name, ()
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, final=len(sample) < SAMPLE)
        return "utf-8", ()
    except UnicodeDecodeError:
        note = "the file is not UTF-8; read as Windows-1252 (give --encoding if that is wrong)"
        return "cp1252", (note,)


def _decoded(sample: bytes, encoding: str, path: Path) -> str:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        return decoder.decode(sample, final=len(sample) < SAMPLE).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise DataError(
            f"the text is not {encoding}", where=path.name, hint="give the right --encoding"
        ) from None


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


def _header(text: str, delimiter: str, path: Path, *, whole: bool) -> tuple[str, ...]:
    """The column names; refuses what would make them ambiguous."""
    csv.field_size_limit(SAMPLE + 1)
    if not whole and "\n" not in text and "\r" not in text:
        raise DataError(
            f"the header line is longer than {SAMPLE:,} characters",
            where=path.name,
            hint="is this a CSV file?",
        )
    try:
        names = next(row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row)
    except (csv.Error, StopIteration):
        raise DataError("the header line cannot be read", where=path.name) from None
    names = [name.strip() for name in names]
    refuse_ambiguous(names, path.name)
    return tuple(names)


def refuse_ambiguous(names: list[str], where: str) -> None:
    """Raises where column names are empty or stand twice."""
    if any(not name for name in names):
        place = next(at for at, name in enumerate(names, 1) if not name)
        raise DataError(
            f"column {place} has no name", where=where, hint="name every column in the header"
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        shown = ", ".join(repr(name) for name in twice[:5])
        raise DataError(
            f"duplicate column names: {shown}", where=where, hint="rename one of each pair"
        )
