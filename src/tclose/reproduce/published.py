"""What an experiment publishes: a page, its numbers as CSV files beside it, and a few tables."""

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
    """A page and its file, the lines of the files beside it, and what a terminal shows."""

    page: str
    document: Document
    numbers: Mapping[str, Lines]
    tables: Sequence[Table] = ()

    def write(self, folder: Path) -> Path:
        """Writes everything to a folder, which is made if it is not there yet; the page's place."""
        for name, lines in self.numbers.items():
            write_text(folder / name, _write_csv(lines))
        return write_text(folder / self.page, render_page(self.document))


def refuse_files(folder: Path, names: Iterable[str]) -> None:
    """Raises where the files could not be written, before any work is done for them."""
    for name in names:
        refuse_unwritable(folder / name)


def _write_csv(lines: Lines) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()
