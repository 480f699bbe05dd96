"""Files that appear whole or not at all: written beside their target, then moved into place."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from tclose.data.io.address import refuse_address
from tclose.data.io.compact import compact_batch, compact_schema
from tclose.data.io.paths import is_read_from, suffix_of
from tclose.data.io.writers import writer_for
from tclose.errors import DataError, UsageError

T = TypeVar("T")


def write_atomically(path: str | Path, write: Callable[[Path], None]) -> Path:
    """A file that `write` fills, whole or not at all; see `fill_atomically`.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_atomically(folder / "a.txt", lambda part: part.write_text("whole") and None).name
    'a.txt'
    """
    fill_atomically(path, write)
    return Path(path)


def fill_atomically(path: str | Path, write: Callable[[Path], T]) -> T:
    """Lets `write` fill a temporary file beside the target and moves it there once it is whole.

    The temporary file has the target's suffix, so that `write` may read back what it has written
    and raise where that is not right; what it returns is returned. A process that is killed leaves
    at most a hidden `.part`.
    """
    target = Path(os.path.realpath(path))
    _refuse_no_file(target, path)
    part: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        end = suffix_of(target)
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name.removesuffix(end)}.", suffix=f".part{end}", dir=target.parent
        )
        os.close(handle)
        part = Path(name)
        found = write(part)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.chmod(0o666 & ~umask())
        part.replace(target)
    except OSError as error:
        if part is not None:
            part.unlink(missing_ok=True)
        raise not_written(error, path) from None
    except BaseException:
        if part is not None:
            part.unlink(missing_ok=True)
        raise
    return found


def write_text(path: str | Path, text: str) -> Path:
    """A text file, whole or not at all."""
    return write_atomically(path, lambda part: _text(part, text))


def write_table(
    path: str | Path,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    *,
    delimiter: str = ",",
) -> Path:
    """A file of any kind that can be written (by its name), whole or not at all."""
    write_checked_table(path, schema, batches, lambda part: None, delimiter=delimiter)
    return Path(path)


def write_checked_table(
    path: str | Path,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    check: Callable[[Path], T],
    *,
    delimiter: str = ",",
) -> T:
    """The same after `check` has read it back, and what that found; nothing where it raises."""
    opened = writer_for(path)

    def write(part: Path) -> T:
        with opened(part, compact_schema(schema), delimiter) as writer:
            for batch in batches:
                writer.write(compact_batch(batch))
        return check(part)

    return fill_atomically(path, write)


def delimiter_for(path: str | Path, usual: str = ",") -> str:
    """What separates the fields of a text file: a tab where its suffix does not say CSV."""
    return usual if suffix_of(path).startswith(".csv") else "\t"


def refuse_unwritable(path: str | Path) -> None:
    """Raises where no file could be written there, before any work is done for it."""
    target = Path(os.path.realpath(path))
    _refuse_no_file(target, path)
    folder = next(place for place in target.parents if place.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise not_written(error, path) from None


def refuse_overwriting(path: object, inputs: Iterable[object], what: str = "the output") -> None:
    """Raises where a file that is read would be written: it is never harmed, not even by a typo.

    A new file in a folder that is read, or one that a pattern would match, would be read as well.
    """
    if not isinstance(path, str | Path):
        return  # an address in a database
    if any(
        is_read_from(Path(given), Path(path)) for given in inputs if isinstance(given, str | Path)
    ):
        raise UsageError(f"{what} is an input", where=str(path), hint="name another file")


def not_written(error: OSError, path: str | Path) -> DataError:
    """What is raised where the system lets nothing be written."""
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return DataError(
        f"cannot be written ({reason})",
        where=str(path),
        hint="check the folder, who may write there, and the space left",
    )


def _text(part: Path, text: str) -> None:
    part.write_text(text, encoding="utf-8")


def _refuse_no_file(target: Path, path: str | Path) -> None:
    refuse_address(path)
    if target.exists() and not target.is_file():
        kind = "a folder" if target.is_dir() else "a device or a pipe"
        raise DataError(f"this is {kind}, not a file", where=str(path), hint="name a file")


def umask() -> int:
    """The rights that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
