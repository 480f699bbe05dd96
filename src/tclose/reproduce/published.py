"""The output of an experiment: a page, its numbers as CSV files, and tables for a terminal."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tclose.data.io.files import refuse_unwritable, write_text
from tclose.report.document import Document, Table
from tclose.report.render.saving import render_page

Lines = Iterable[Sequence[object]]


@dataclass(frozen=True)
class Published:
    """A page and its file, the lines of its CSV files, and the tables for a terminal."""

    page: str
    document: Document
    numbers: Mapping[str, Lines]
    tables: Sequence[Table] = ()

    def write(self, folder: Path) -> Path:
        """Writes everything to a folder, which is made if needed; returns the path of the page."""
        for name, lines in self.numbers.items():
            write_text(folder / name, _write_csv(lines))
        return write_text(folder / self.page, render_page(self.document))


def tabulate(caption: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Tabulates a name and numbers in each row; whole numbers with commas, others as they are."""
    cells = tuple(
        tuple(f"{value:,}" if isinstance(value, int) else str(value) for value in row)
        for row in rows
    )
    return Table(caption, tuple(headings), cells, tuple(range(1, len(headings))))


def refuse_files(folder: Path, names: Iterable[str]) -> None:
    """Raises UsageError if the files cannot be written, before any work is done for them."""
    for name in names:
        refuse_unwritable(folder / name)


def _write_csv(lines: Lines) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()
