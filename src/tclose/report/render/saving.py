"""A document as a file, of the kind that its suffix names, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tclose.data.io.files import refuse_overwriting, refuse_unwritable, write_text
from tclose.errors import UsageError
from tclose.report.document import EDITIONS, Document, Edition
from tclose.report.render.html import render_page
from tclose.report.render.terminal import write_plain_text

SUFFIXES = (".html", ".htm", ".json", ".txt")
SCREEN = Path("-")
"""What a command is given in place of a file where the report is to be shown, not written."""


def save_document(document: Document, path: str | Path) -> Path:
    """Writes a page (.html), plain values (.json) or plain text (.txt)."""
    suffix = _suffix(path)
    if suffix == ".json":
        text = json.dumps(document.to_json(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    elif suffix == ".txt":
        text = write_plain_text(document)
    else:
        text = render_page(document)
    return write_text(path, text)


def choose_file(report: Path | None) -> Path | None:
    """The file that a report goes to, if any.

    >>> choose_file(Path("-")), choose_file(Path("report.html")).name
    (None, 'report.html')
    """
    return None if report == SCREEN else report


def refuse_report(
    path: str | Path | None,
    edition: str,
    inputs: Iterable[object],
    outputs: Iterable[object] = (),
) -> None:
    """Raises where a report could not be written, before any work is done for it.

    It is neither one of the files that are read nor one of the others that are written.
    """
    if path is None:
        if parse_edition(edition) != "external":
            raise UsageError("an edition of what?", where="edition", hint="give --report FILE, too")
        return
    parse_edition(edition)
    if path == SCREEN:
        return
    _suffix(path)
    refuse_unwritable(path)
    refuse_overwriting(path, inputs, "the report")
    target = Path(path).resolve()
    if any(isinstance(other, Path) and other.resolve() == target for other in outputs):
        raise UsageError(
            "the report would overwrite another file", where=str(path), hint="name another file"
        )


def parse_edition(word: str) -> Edition:
    """An edition by its name; raises UsageError where there is none.

    >>> parse_edition("internal")
    'internal'
    """
    for edition in EDITIONS:
        if word == edition:
            return edition
    raise UsageError(
        "a report has an internal and an external edition",
        where="edition",
        hint="external shows counts only, internal also values of single classes",
    )


def _suffix(path: str | Path) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            "unknown kind of report",
            where=str(path),
            hint=f"end it in one of {', '.join(SUFFIXES)}, or give - to see it here",
        )
    return suffix
