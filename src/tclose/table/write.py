"""Files that appear whole or not at all: written beside their target, then moved into place."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from tclose.errors import DataError


def write_atomically(path: str | Path, write: Callable[[Path], None]) -> Path:
    """Lets `write` fill a temporary file beside the target and moves it there once it is whole.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_atomically(folder / "a.txt", lambda part: part.write_text("whole") and None).name
    'a.txt'
    """
    target = Path(path)
    part: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name}.", suffix=".part", dir=target.parent
        )
        os.close(handle)
        part = Path(name)
        write(part)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.chmod(0o666 & ~_umask())
        part.replace(target)
    except OSError as error:
        if part is not None:
            part.unlink(missing_ok=True)
        reason = error.strerror or type(error).__name__
        raise DataError(f"cannot be written ({reason})", where=str(target)) from None
    except BaseException:
        if part is not None:
            part.unlink(missing_ok=True)
        raise
    return target


def write_text(path: str | Path, text: str) -> Path:
    """A text file, whole or not at all."""
    return write_atomically(path, lambda part: _text(part, text))


def write_table(path: str | Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Path:
    """A CSV or Parquet file (by its suffix) from record batches, whole or not at all."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".parquet", ".pq"):
        raise DataError("unknown kind of file", where=str(path), hint="end it in .csv or .parquet")

    def write(part: Path) -> None:
        with (
            pq.ParquetWriter(part, schema)
            if suffix != ".csv"
            else pyarrow.csv.CSVWriter(part, schema)
        ) as writer:
            for batch in batches:
                writer.write(batch)

    return write_atomically(path, write)


def _text(part: Path, text: str) -> None:
    part.write_text(text, encoding="utf-8")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
