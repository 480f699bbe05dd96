"""Excel sheets: read once, row by row, into a file of typed columns that DuckDB counts.

A column has the one type that all of its cells have; where they have several, it is text. What a
formula gave when the file was last saved counts, not the formula.
"""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterator
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
from tclose.data.io.excel_writer import needs_openpyxl
from tclose.data.io.files import Scratch
from tclose.data.io.paths import Files, refuse_ambiguous
from tclose.errors import DataError, nearest

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
CHUNK, OVERLAP = 1 << 20, 1 << 16
TYPES = {
    frozenset({"bool"}): pa.bool_(), frozenset({"whole"}): pa.int64(),
    frozenset({"large"}): pa.int64(), frozenset({"whole", "large"}): pa.int64(),
    frozenset({"number"}): pa.float64(), frozenset({"whole", "number"}): pa.float64(),
    frozenset({"day"}): pa.date32(), frozenset({"moment"}): pa.timestamp("us"),
    frozenset({"day", "moment"}): pa.timestamp("us"), frozenset({"time"}): pa.time64("us"),
    frozenset({"span"}): pa.duration("ms"), frozenset({"text"}): pa.string(),
    frozenset(): pa.string(),
}  # fmt: skip
"""The type of a column, from the kinds of cells that it has; text in any other case."""


def open_excel(files: Files, sheet: str | None, connection: Connection) -> DuckSource:
    """The table in a sheet: the first one, unless another is named."""
    path, scratch = files.paths[0], Scratch()
    target = Path(scratch.name) / "table.arrow"
    with _open_book(path) as book:
        chosen, notes = _sheet(book, sheet, path.name)
        _refuse_unreadable(path, chosen)
        copy = _SheetCopy(chosen, path.name, Path(scratch.name) / "cells.arrow")
    notes += copy.write_typed(target)
    import pyarrow.dataset as ds  # slow to import: it looks for pandas

    dataset = ds.dataset([str(target)], format="ipc")
    return open_dataset(
        dataset, files.name, connection=connection, hashed=lambda: file_hash(path),
        scratch=scratch, notes=tuple(notes), files=files.paths,
    )  # fmt: skip


@contextmanager
def _open_book(path: Path) -> Iterator[Any]:
    """The workbook; what openpyxl warns about (styles, validation) does not concern values."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise needs_openpyxl(path) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        except OSError:
            raise
        except Exception:
            raise DataError(
                "not an Excel file, damaged, or protected by a password",
                where=path.name,
                hint="save it again as .xlsx, without a password",
            ) from None
        try:
            yield book
        finally:
            book.close()


def _sheet(book: Workbook, wanted: str | None, name: str) -> tuple[Any, list[str]]:
    """The sheet that is asked for; the first where none is."""
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
            if found := MERGED.search(kept):
                raise DataError(
                    f"the cells {found[1].decode()} are merged",
                    where=where,
                    hint="unmerge them and fill each cell; a header is one row of names",
                )
            formulas = b"<f" in kept or b":f" in kept
            if formulas and (found := NOT_CALCULATED.search(kept)):
                raise DataError(
                    f"the formula in {found[1].decode()} has no value",
                    where=where,
                    hint="open it in a spreadsheet program, which calculates, and save it again",
                )


class _SheetCopy:
    """The cells of a sheet as text in a file, and which kinds each column has."""

    def __init__(self, sheet: ReadOnlyWorksheet, name: str, path: Path) -> None:
        self.where, self.path = f"{name}, sheet {sheet.title!r}", path
        self.blank, self.errors = 0, 0
        sheet.reset_dimensions()
        with closing(sheet.iter_rows()) as read:  # left open, it would keep the file open
            self._copy(enumerate(read, 1))

    def _copy(self, rows: Iterator[tuple[int, Any]]) -> None:
        self.names = self._header(rows)
        self.kinds: list[set[str]] = [set() for _ in self.names]
        self.schema = pa.schema({name: pa.string() for name in self.names})
        with pa.ipc.new_file(self.path, self.schema) as file:
            for chunk in self._chunks(rows):
                turned = enumerate(zip(*chunk, strict=True))
                columns = [self._texts(at, cells) for at, cells in turned]
                file.write(pa.record_batch(columns, schema=self.schema))

    def write_typed(self, target: Path) -> list[str]:
        """Writes the cells in the types of their columns; tells what a reader should know."""
        types = [TYPES.get(frozenset(kinds), pa.string()) for kinds in self.kinds]
        schema = pa.schema(list(zip(self.names, types, strict=True)))
        with (
            pa.memory_map(str(self.path)) as source,
            pa.ipc.open_file(source) as read,
            pa.ipc.new_file(target, schema) as write,
        ):
            for at in range(read.num_record_batches):
                batch = read.get_batch(at)
                columns = [_cast(*pair) for pair in zip(batch.columns, types, strict=True)]
                write.write(pa.record_batch(columns, schema=schema))
        self.path.unlink()
        return self._notes()

    def _notes(self) -> list[str]:
        notes = [
            f"column {name!r} has cells of several kinds ({', '.join(sorted(kinds))}): read as text"
            for name, kinds in zip(self.names, self.kinds, strict=True)
            if frozenset(kinds) not in TYPES
        ]
        if self.blank:
            notes.append(f"{self.blank:,} blank rows between others were skipped")
        if self.errors:
            notes.append(f"{self.errors:,} cells hold errors such as #N/A: read as missing")
        return notes

    def _header(self, rows: Iterator[tuple[int, Any]]) -> list[str]:
        """The first row that is not blank."""
        for _, cells in rows:
            names = ["" if cell.value is None else as_text(cell.value).strip() for cell in cells]
            while names and not names[-1]:
                names.pop()
            if names:
                refuse_ambiguous(names, self.where)
                return names
        raise DataError("the sheet is empty", where=self.where, hint="it needs a header and rows")

    def _chunks(self, rows: Iterator[tuple[int, Any]]) -> Iterator[list[list[Any]]]:
        """The rows that have a cell, as wide as the header, some thousand at a time."""
        chunk: list[list[Any]] = []
        wide, blank = len(self.names), 0
        for number, cells in rows:
            row = list(cells)
            if any(cell.value is not None for cell in row[wide:]):
                raise DataError(
                    f"row {number:,} has cells beyond the last name of the header",
                    where=self.where,
                    hint="name every column, and keep other tables and remarks in other sheets",
                )
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

    def _texts(self, column: int, cells: tuple[Any, ...]) -> pa.Array:
        texts: list[str | None] = []
        seen = self.kinds[column]
        for cell in cells:
            if cell is None or cell.value is None:
                texts.append(None)
            elif cell.data_type == "e":
                self.errors += 1
                texts.append(None)
            else:
                kind, text = _classify(cell.value)
                seen.add(kind)
                texts.append(text)
        return pa.array(texts, pa.string())


def _classify(value: object) -> tuple[str, str]:
    """The kind of a cell's value, and the value as text."""
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
