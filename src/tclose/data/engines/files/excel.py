"""Excel sheets: read once, row by row, into a file of typed columns that DuckDB counts.

A column has the one type that all of its cells have; where they have several, it is text. What a
formula gave when the file was last saved counts, not the formula.
"""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.encode.columns import as_text
from tclose.data.engines.duckdb.source import DuckSource
from tclose.data.engines.files.source import open_dataset
from tclose.data.io.counting import Connection, file_hash
from tclose.data.io.excel_writer import MOST_ROWS, needs_openpyxl
from tclose.data.io.files import TYPES
from tclose.data.io.paths import Files, refuse_ambiguous
from tclose.data.io.scratch import Scratch
from tclose.errors import DataError, TcloseError, nearest

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

ROWS = 8_192
EXACT = 2**53
"""Beyond this, not every whole number is one of Excel's numbers."""
MERGED = re.compile(rb'<(?:\w+:)?mergeCell\b[^>]*\bref="([A-Z0-9:]+)"')
NOT_CALCULATED = re.compile(
    rb'<(?:\w+:)?c\b(?![^>]*\bt="str")[^>]*\br="([A-Z0-9]+)"[^>]*>\s*'
    rb"<(?:\w+:)?f\b[^>]*(?:/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
ROW_NUMBER = re.compile(rb'<(?:\w+:)?row\b[^>]*?\br\s*=\s*["\'](\d+)')
MOST_BYTES, DENSE, RATIO = 4 << 30, 64 << 20, 200
"""What a workbook may unpack to; parts beyond `DENSE` bytes, to so many times what is stored."""
CHUNK, OVERLAP = 1 << 20, 1 << 16
KINDS = {
    "bool": "true or false", "whole": "whole number", "large": "whole number",
    "huge": "whole number", "day": "date", "moment": "date and time", "span": "duration",
}  # fmt: skip
"""The kinds of cells in words, where these differ."""


def open_excel(files: Files, sheet: str | None, connection: Connection) -> DuckSource:
    """The table in a sheet: the first one, unless another is named."""
    path, scratch = files.paths[0], Scratch()
    target = scratch.place("table.arrow")
    _refuse_exhausting(path)
    with _open_book(path) as book:
        chosen, notes = _sheet(book, sheet, path.name)
        _refuse_unreadable(path, chosen)
        copy = _SheetCopy(chosen, path.name, scratch.place("cells.arrow"))
    copy.write_typed(target)
    scratch.discard(copy.path)
    import pyarrow.dataset as ds  # slow to import: it looks for pandas

    dataset = ds.dataset([str(target)], format="ipc")
    return open_dataset(
        dataset, connection, files.name, hashed=lambda: file_hash(path), scratch=scratch,
        notes=(*notes, *copy.notes()), files=files.paths,
    )  # fmt: skip


def refuse_other_sheets(path: Path) -> None:
    """Raises where a workbook that is to be passed on holds more sheets than the one judged."""
    _refuse_exhausting(path)
    with _open_book(path) as book:
        number = len(book.sheetnames)
    if number > 1:
        raise DataError(
            f"the file has {number} sheets, and the recipient sees all of them",
            where=path.name,
            hint="save the release in a file of its own, or name the sheet that counts (--sheet)",
        )


@contextmanager
def _open_book(path: Path) -> Iterator[Any]:
    """The workbook, without openpyxl's warnings about styles and validation."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise needs_openpyxl(path) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:  # cells are read as they are asked for, so a damaged one is found later
            with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
                yield book
        except (OSError, MemoryError, TcloseError):
            raise
        except Exception:
            raise _no_workbook(path.name) from None


def _no_workbook(name: str) -> DataError:
    what = "not an Excel file, damaged, or protected by a password"
    return DataError(what, where=name, hint="save it again as .xlsx, without a password")


def _refuse_exhausting(path: Path) -> None:
    """Raises where a small file would become a very large one, before any of it is unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise _no_workbook(path.name) from None
    whole = sum(part.file_size for part in parts)
    if whole > MOST_BYTES or any(
        part.file_size > max(DENSE, RATIO * part.compress_size) for part in parts
    ):
        what = f"its sheets unpack to {whole >> 20:,} MiB, which is more than a sheet's cells take"
        limit = f"at most {MOST_BYTES >> 20:,} MiB, and {RATIO} times what is stored"
        raise DataError(what, where=path.name, hint=f"save it as .csv ({limit})")


def _sheet(book: Workbook, wanted: str | None, name: str) -> tuple[Any, list[str]]:
    sheets = {page.title: page for page in book.worksheets}
    if not sheets:
        raise DataError("it has no sheet with cells", where=name, hint="save the table in a sheet")
    if wanted is None:
        first = next(iter(sheets))
        note = f"the first of {len(sheets)} sheets is read, {first!r} (choose with --sheet)"
        return sheets[first], [note] if len(sheets) > 1 else []
    if wanted not in sheets:
        hint = nearest(wanted, sheets) or f"its sheets are {', '.join(map(repr, sheets))}"
        raise DataError(f"there is no sheet {wanted!r}", where=name, hint=hint)
    return sheets[wanted], []


def _refuse_unreadable(path: Path, sheet: ReadOnlyWorksheet) -> None:
    """Raises where cells are merged, or formulas were never calculated: both look like gaps."""
    where = f"{path.name}, sheet {sheet.title!r}"
    with zipfile.ZipFile(path) as archive, archive.open(sheet._worksheet_path) as file:
        kept = b""
        while chunk := file.read(CHUNK):
            kept = kept[-OVERLAP:] + chunk
            if any(int(number[:9]) > MOST_ROWS for number in ROW_NUMBER.findall(kept)):
                what = f"a row has a number beyond {MOST_ROWS:,}, the last of a sheet"
                raise DataError(what, where=where, hint="save it again in a spreadsheet program")
            if found := MERGED.search(kept):
                hint = (
                    "delete titles above the header (one row of names); unmerge other cells and "
                    "fill each"
                )
                raise DataError(f"the cells {found[1].decode()} are merged", where=where, hint=hint)
            formulas = b"<f" in kept or b":f" in kept
            if formulas and (found := NOT_CALCULATED.search(kept)):
                what = f"the formula in {found[1].decode()} has no value"
                hint = "open it in a spreadsheet program, which calculates, and save it again"
                raise DataError(what, where=where, hint=hint)


class _SheetCopy:
    """The cells of a sheet as text in a file, and which kinds each column has."""

    def __init__(self, sheet: ReadOnlyWorksheet, name: str, path: Path) -> None:
        self.where, self.path = f"{name}, sheet {sheet.title!r}", path
        self.blank, self.errors = 0, 0
        sheet.reset_dimensions()
        with closing(sheet.iter_rows()) as read:  # left open, it would keep the file open
            rows = enumerate(read, 1)
            self.names = self._header(rows)
            self.kinds: list[set[str]] = [set() for _ in self.names]
            schema = pa.schema({name: pa.string() for name in self.names})
            with pa.ipc.new_stream(path, schema) as file:
                for chunk in self._chunks(rows):
                    turned = zip(self.kinds, zip(*chunk, strict=True), strict=True)
                    columns = [self._texts(kinds, cells) for kinds, cells in turned]
                    file.write(pa.record_batch(columns, schema=schema))

    def write_typed(self, target: Path) -> None:
        """Writes the cells in the types of their columns."""
        types = [TYPES.get(frozenset(kinds), pa.string()) for kinds in self.kinds]
        schema = pa.schema(list(zip(self.names, types, strict=True)))
        with (
            pa.ipc.open_stream(pa.memory_map(str(self.path))) as read,
            pa.ipc.new_file(target, schema) as write,
        ):
            for batch in read:
                columns = [_cast(*pair) for pair in zip(batch.columns, types, strict=True)]
                write.write(pa.record_batch(columns, schema=schema))

    def notes(self) -> list[str]:
        notes = [
            f"column {name!r} has cells of several kinds ({_name_kinds(kinds)}): read as text"
            for name, kinds in zip(self.names, self.kinds, strict=True)
            if frozenset(kinds) not in TYPES
        ]
        if self.blank:
            rows = "1 blank row" if self.blank == 1 else f"{self.blank:,} blank rows"
            notes.append(f"{rows} between others left out")
        if self.errors:
            notes.append(f"{self.errors:,} cells hold errors such as #N/A: read as missing")
        return notes

    def _header(self, rows: Iterator[tuple[int, Any]]) -> list[str]:
        for _, cells in rows:
            names = ["" if cell.value is None else as_text(cell.value).strip() for cell in cells]
            while names and not names[-1]:
                names.pop()
            if names:
                refuse_ambiguous(names, self.where)
                return names
        raise DataError("the sheet is empty", where=self.where, hint="it needs a header and rows")

    def _chunks(self, rows: Iterator[tuple[int, Any]]) -> Iterator[list[list[Any]]]:
        """The rows that have a cell, as wide as the header, some at a time.

        A blank row is layout: as a person without values it would count towards k. A release has
        an empty text in a row without any value (`excel_writer`), so that it is a row.
        """
        chunk: list[list[Any]] = []
        wide, blank = len(self.names), 0
        for number, cells in rows:
            row = list(cells)
            if any(cell.value is not None for cell in row[wide:]):
                what = f"row {number:,} has cells beyond the last name of the header"
                hint = (
                    "delete the rows above the header if it is not the first row with cells"
                    if wide == 1
                    else "name every column, and keep other tables and remarks in other sheets"
                )
                raise DataError(what, where=self.where, hint=hint)
            row = [*row[:wide], *[None] * (wide - len(row))]
            if all(cell is None or cell.value is None for cell in row):
                blank += 1
                continue
            self.blank, blank = self.blank + blank, 0
            chunk.append(row)
            if len(chunk) == ROWS:
                yield chunk
                chunk = []
        if chunk:
            yield chunk

    def _texts(self, kinds: set[str], cells: tuple[Any, ...]) -> pa.Array:
        texts: list[str | None] = []
        for cell in cells:
            text = None
            if cell is not None and cell.data_type == "e":
                self.errors += 1
            elif cell is not None and cell.value not in (None, ""):
                kind, text = _classify(cell.value)
                kinds.add(kind)
            texts.append(text)
        return pa.array(texts, pa.string())


def _name_kinds(kinds: Iterable[str]) -> str:
    return ", ".join(sorted({KINDS.get(kind, kind) for kind in kinds}))


def _classify(value: object) -> tuple[str, str]:
    if isinstance(value, bool):
        return "bool", "true" if value else "false"
    if isinstance(value, int):
        kind = "whole" if abs(value) <= EXACT else "large" if abs(value) < 2**63 else "huge"
        return kind, str(value)
    if isinstance(value, float):
        return "number", repr(value)
    if isinstance(value, datetime):
        if value.time() == time():
            return "day", value.date().isoformat()
        return "moment", value.isoformat(timespec="microseconds")
    if isinstance(value, date):
        return "day", value.isoformat()
    if isinstance(value, time):
        return "time", value.isoformat(timespec="microseconds")
    if isinstance(value, timedelta):
        return "span", str(value // timedelta(milliseconds=1))
    return "text", str(value)


def _cast(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_duration(kind):
        return texts.cast(pa.int64()).cast(kind)
    if pa.types.is_time(kind):
        moments = pc.binary_join_element_wise("1970-01-01T", texts, "")
        return moments.cast(pa.timestamp("us")).cast(kind)
    return texts.cast(kind)
