"""Folders that appear whole or not at all: filled beside their target, then moved into place."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tclose.data.io.address import refuse_address
from tclose.data.io.files import not_written, umask
from tclose.errors import DataError

T = TypeVar("T")


def refuse_folder(path: str | Path) -> None:
    """Raises where no new folder could be made there, before any work is done for it."""
    refuse_address(path)
    target = Path(os.path.realpath(path))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(
            "this exists already, and is not an empty folder",
            where=str(path),
            hint="name a new folder; nothing is overwritten",
        )
    parent = next(place for place in target.parents if place.exists())
    if not os.access(parent, os.W_OK | os.X_OK):
        raise DataError("cannot be written", where=str(path), hint="check who may write there")


def write_folder(path: str | Path, fill: Callable[[Path], T]) -> T:
    """Lets `fill` write files into a hidden folder beside the target, and moves it there whole.

    `fill` may read back what it has written and raise where that is not right; then nothing is
    left. A process that is killed leaves at most a hidden folder that ends in `.part`.

    >>> place = Path(tempfile.mkdtemp()) / "release"
    >>> written = write_folder(place, lambda part: (part / "a.txt").write_text("whole"))
    >>> [file.name for file in place.iterdir()]
    ['a.txt']
    """
    refuse_folder(path)
    target = Path(os.path.realpath(path))
    part: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
        found = fill(part)
        for file in part.iterdir():
            with file.open("rb") as written:
                os.fsync(written.fileno())
        part.chmod(0o777 & ~umask())
        part.replace(target)
    except OSError as error:
        _remove(part)
        raise not_written(error, path) from None
    except BaseException:
        _remove(part)
        raise
    return found


def _remove(part: Path | None) -> None:
    if part is not None:
        shutil.rmtree(part, ignore_errors=True)


class Scratch:
    """A private folder that is removed with the last reference to it."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="tclose-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)
