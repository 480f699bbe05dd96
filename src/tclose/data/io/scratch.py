"""Private folders for temporary copies of raw rows, which must not remain after the process.

They go with the process, however it ends: where the system allows it (Linux), a file has no name
but a link that leads nowhere once the process is gone, so nothing of it outlives even a kill. What
must have a name (what an engine spills, cells put aside) is removed by the next process: each
folder is locked by the one that made it, and a folder that nobody locks is swept.
"""

from __future__ import annotations

import atexit
import errno
import os
import re
import secrets
import shutil
import sys
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import IO

PREFIX = "tclose-aside-"
FOLDER = re.compile(re.escape(PREFIX) + r"\w{8}")
NAMELESS = sys.platform == "linux" and os.path.isdir("/proc/self/fd")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where a folder takes no more."""
_swept: set[str] = set()
_made: dict[Path, int] = {}
"""The folders that are there, or are about to be, each with the process that makes it."""


class Scratch:
    """A private folder that is removed with the last reference to it."""

    def __init__(self) -> None:
        self.path, lock = _make_folder()
        self.files: dict[Path, IO[bytes]] = {}
        self._finalizer = weakref.finalize(self, _remove, self.path, lock, self.files)

    def place(self, name: str, *, named: bool = False) -> Path:
        """Where a new file of this name can be put, whatever names there are already.

        Other processes find it only if it is to be `named`, and then it may outlive a kill.
        """
        place = Path(tempfile.mkdtemp(dir=self.path), name)
        if NAMELESS and not named:
            file = self.files[place] = tempfile.TemporaryFile(dir=self.path)  # noqa: SIM115
            place.symlink_to(f"/proc/self/fd/{file.fileno()}")
        return place

    def close(self) -> None:
        """Removes the folder and all that is in it."""
        self._finalizer()

    def discard(self, place: Path) -> None:
        """Removes a file before the others."""
        place.unlink()
        if place in self.files:
            self.files.pop(place).close()


def _make_folder() -> tuple[Path, int | None]:
    """Creates a folder and its lock, after removing the folders that dead processes have left."""
    above = tempfile.gettempdir()
    if above not in _swept:
        _swept.add(above)
        sweep(Path(above))
    while True:
        folder = Path(above, f"{PREFIX}{secrets.token_hex(4)}")
        _made[folder] = os.getpid()  # known first: a signal may end the process at any moment
        try:
            os.mkdir(folder, 0o700)
        except OSError:
            del _made[folder]
            raise
        # Until it is locked, another process that sweeps takes it for one of the dead.
        try:
            lock = _lock(folder, wait=True)
        except FileNotFoundError:
            continue
        except OSError:  # no handle is left
            folder.rmdir()
            raise
        if folder.is_dir():
            return folder, lock
        if lock is not None:
            os.close(lock)


def sweep(above: Path) -> None:
    """Removes the folders of this user whose processes are dead."""
    if sys.platform == "win32":  # folders have no locks there
        return
    with suppress(OSError):
        for entry in os.scandir(above):
            with suppress(OSError):
                mine = entry.is_dir(follow_symlinks=False) and FOLDER.fullmatch(entry.name)
                if not mine or entry.stat(follow_symlinks=False).st_uid != os.geteuid():
                    continue
                lock = _lock(Path(entry.path), wait=False)
                if lock is not None:
                    shutil.rmtree(entry.path, ignore_errors=True)
                    os.close(lock)


def _lock(folder: Path, *, wait: bool) -> int | None:
    """The lock of a folder, which the system frees with the process; None where there is none."""
    if sys.platform == "win32":
        return None
    import fcntl

    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened


@atexit.register
def remove_interrupted() -> None:
    """Removes the folders whose making or removing a signal has interrupted."""
    for folder in [folder for folder, process in _made.items() if process == os.getpid()]:
        shutil.rmtree(folder, ignore_errors=True)


def _remove(folder: Path, lock: int | None, files: dict[Path, IO[bytes]]) -> None:
    # First closed: to look into the folder takes a handle, which there may be none of otherwise.
    for file in files.values():
        with suppress(OSError):
            file.close()
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)  # again, where that was the last handle
    _made.pop(folder, None)
