"""Hierarchy files in the format of ARX and similar tools: headerless CSV, from value to root."""

from __future__ import annotations

import csv
import io
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TextIO

from tclose.errors import HierarchyError
from tclose.hierarchy.tree import Hierarchy, hierarchy_error
from tclose.small_files import read_small_file

_SNIFFED_ROWS = 1000
_UTF8_HINT = "save the file as UTF-8 text"


def read(
    source: str | os.PathLike[str] | TextIO, column: str, delimiter: str | None = None
) -> Hierarchy:
    """Reads a hierarchy from a file or a text stream.

    Cells are separated by `;` or `,`, whichever the rows use, unless a delimiter is given. Empty
    cells at the end of a row and blank lines are ignored.

    >>> import io
    >>> read(io.StringIO("cat;animal;*\\ndog;animal;*\\noak;oak;*\\n"), "kind").labels
    ('cat', 'dog', 'oak', 'animal', '*')
    """
    text = _text(source, column)
    mark = _sniff(text) if delimiter is None else _check_delimiter(delimiter, column)
    rows = list(_rows(text, mark, column))
    lines, chains = [line for line, _ in rows], [cells for _, cells in rows]
    return Hierarchy.from_chains(chains, column, lines=lines)


def write(hierarchy: Hierarchy, path: str | os.PathLike[str], delimiter: str = ";") -> None:
    """Writes a hierarchy so that `read` returns it again: one row per leaf, one cell per level.

    A node is repeated on every level where it stays. The file appears complete or not at all.

    >>> import tempfile
    >>> tree = Hierarchy.from_chains([["cat", "animal", "*"], ["oak", "*"]], "kind")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(tree, Path(folder, "kind.csv"))
    ...     print(Path(folder, "kind.csv").read_text(encoding="utf-8"))
    cat;animal;*
    oak;oak;*
    <BLANKLINE>
    """
    text = _format(hierarchy, _check_delimiter(delimiter, hierarchy.column))
    try:
        _replace(Path(path), text.encode("utf-8"))
    except UnicodeEncodeError:
        raise hierarchy_error(hierarchy.column, "a label cannot be written as UTF-8") from None
    except (OSError, ValueError) as error:
        raise _file_error("written", error, hierarchy.column) from error


def _text(source: str | os.PathLike[str] | TextIO, column: str) -> str:
    try:
        if isinstance(source, str | os.PathLike):
            text: Any = read_small_file(source).decode("utf-8")
        else:
            text = source.read()
    except UnicodeDecodeError:
        # The decoder's own error quotes the bytes of the file, hence `from None`.
        raise hierarchy_error(column, "the file is not UTF-8 text", _UTF8_HINT) from None
    except (OSError, ValueError) as error:
        raise _file_error("read", error, column) from error
    # A stream may give bytes, or UTF-16 that was taken for UTF-8.
    if not isinstance(text, str) or "\0" in text:
        raise hierarchy_error(column, "the file is not plain text", _UTF8_HINT)
    return text.removeprefix("\ufeff")


def _file_error(done: str, error: Exception, column: str) -> HierarchyError:
    reason = error.strerror if isinstance(error, OSError) else "it is closed or has no valid name"
    what = f"the file cannot be {done}: {reason}"
    return hierarchy_error(column, what, "check the path and who may use it")


def _check_delimiter(delimiter: str, column: str) -> str:
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        what = "the delimiter must be one character, neither a quote nor a line end"
        raise hierarchy_error(column, what, "use ; or ,")
    return delimiter


def _sniff(text: str) -> str:
    """Guesses the delimiter: `;` if half of the rows split on it, else `,` if any row does.

    Not symmetric: interval labels such as `[20, 25)` make commas common in `;` files, whereas a
    bare `;` is rare in `,` files.
    """
    split, rows = {}, 0
    for mark in ";,":
        split[mark], total = _rows_split(text, mark)
        rows = max(rows, total)
    return ";" if 2 * split[";"] >= rows or split[","] == 0 else ","


def _rows_split(text: str, delimiter: str) -> tuple[int, int]:
    """Counts how many of the first rows have several cells, and how many rows there are.

    Stops at a row whose quotes are invalid with this delimiter: a sign that it is the wrong one.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    split = rows = 0
    with suppress(csv.Error):
        for cells in islice(reader, _SNIFFED_ROWS):
            split += len(cells) > 1
            rows += len(cells) > 0
    return split, rows


def _rows(text: str, delimiter: str, column: str) -> Iterator[tuple[int, list[str]]]:
    """Yields the non-empty rows, with the line on which each begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for cells in reader:
            while cells and not cells[-1].strip():
                cells.pop()
            for level, cell in enumerate(cells):
                if not cell.strip():
                    what = "the cell is empty, but cells after it are not"
                    hint = "repeat the label before it, or fill in the missing one"
                    raise hierarchy_error(column, what, hint, line=line, level=level)
            if cells:
                yield line, cells
            line = reader.line_num + 1
    except csv.Error:
        what = "the quotes of the row do not close, or a cell is far too long"
        hint = 'write a quote inside a quoted cell twice: ""'
        raise hierarchy_error(column, what, hint, line=line) from None


def _format(hierarchy: Hierarchy, delimiter: str) -> str:
    """Returns the text of the file; quotes all cells if bare ones would be read differently."""
    text = _csv(hierarchy, delimiter, csv.QUOTE_MINIMAL)
    misread = delimiter in ";," and _sniff(text) != delimiter
    # The csv module leaves a bare carriage return unquoted, and a reader drops a byte order mark.
    if misread or "\r" in text or text.startswith("\ufeff"):
        return _csv(hierarchy, delimiter, csv.QUOTE_ALL)
    return text


def _csv(hierarchy: Hierarchy, delimiter: str, quoting: Literal[0, 1]) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, quoting=quoting, lineterminator="\n")
    writer.writerows([hierarchy.labels[node] for node in row] for row in hierarchy.ancestors)
    return stream.getvalue()


def _replace(target: Path, content: bytes) -> None:
    """Writes a temporary file and renames it, so that readers see the old file or the new one."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
