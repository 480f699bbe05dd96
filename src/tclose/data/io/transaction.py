"""Files that appear together or not at all, and are written by one process at a time.

Each file is first written into a private folder beside its target. A journal beside the first
target, which is also the lock of that output, names the targets (and holds no value of any table);
each other target has an empty file like it, as its lock.
Once everything is written and checked, one line in it decides that the files are switched: what was
there leaves, the first target first, and the new files take their places, the first target last. So
that file, the release, is never there without its own certificate. The next process that writes to
this output finishes what was decided, and removes what was not.
"""

from __future__ import annotations

import atexit
import json
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, TypeVar

from tclose.errors import DataError

T = TypeVar("T")
DECIDED = b'"switch"\n'
BEFORE = ".before"
"""What was there, in the private folder of what takes its place."""
_unfinished: dict[FileTransaction, int] = {}
"""Those that are not closed, each with its process."""
_active: ContextVar[FileTransaction | None] = ContextVar("active transaction", default=None)


@contextmanager
def write_together(first: object = None, *others: object) -> Iterator[None]:
    """Makes all files written inside appear together at the end, or none of them if an error is
    raised.

    The first is what the others belong to. All are locked until then, also those that are written
    without being named here; what is no file has no lock. Inside of another such block, the files
    appear when that ends.
    """
    if not isinstance(first, str | Path) or _active.get() is not None:
        yield
        return
    transaction = FileTransaction(Path(os.path.realpath(first)))
    token = _active.set(transaction)
    try:
        for path in (first, *others):
            if isinstance(path, str | Path):
                with _explain(path):
                    transaction.lock(Path(os.path.realpath(path)))
        yield
        with _explain(first):
            transaction.commit()
    finally:
        _active.reset(token)
        transaction.close()


def write_part(path: str | Path, write: Callable[[Path], T], *, is_folder: bool = False) -> T:
    """Calls `write` on a new file or folder, which appears with the others of the transaction."""
    target = Path(os.path.realpath(path))
    with write_together(target), _explain(path):
        transaction = _active.get()
        assert transaction is not None
        return transaction.stage(target, write, is_folder=is_folder)


def find_part(path: object) -> Path | None:
    """Where a file that is written, but not yet in its place, can be read; None for any other."""
    transaction = _active.get()
    if transaction is None or not isinstance(path, Path):
        return None
    target = Path(os.path.realpath(path))
    folder = transaction.folders.get(target)
    return None if folder is None else folder / target.name


def switch_now() -> None:
    """Moves the files into place at once, where their table is in its database already."""
    transaction = _active.get()
    if transaction is not None:
        with _explain(transaction.first):
            transaction.commit()


def refuse_locked(path: str | Path) -> None:
    """Raises where another process writes this output, or its folder takes no new file.

    What a process that was killed has left of this output is finished or removed.
    """
    with write_together(path):
        pass


class FileTransaction:
    """The files written so far, their locks, and their journal."""

    def __init__(self, first: Path) -> None:
        _unfinished[self] = os.getpid()
        self.first = first
        self.folders: dict[Path, Path] = {}
        """The private folder of each target."""
        self.locks: dict[Path, IO[bytes]] = {}
        self.begun: set[Path] = set()
        """The targets whose locks are there, or are about to be."""

    @property
    def journal(self) -> IO[bytes]:
        """The lock of the first file, which says what becomes of all."""
        return self.locks[self.first]

    def lock(self, target: Path) -> None:
        """Locks a file whose folder exists; raises where another process has the lock."""
        if target != self.first and target not in self.locks:
            if self.first not in self.locks:
                return
            self._note(target, "0")  # known before it is there: a kill may come in between
        place = _journal_of(target)
        self.begun.add(target)
        while target not in self.locks and target.parent.is_dir():
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
            file = os.fdopen(os.open(place, flags, 0o600), "r+b", buffering=0)
            try:
                if not try_lock(file.fileno()):
                    what = "another process is writing this"
                    hint = "wait until it is done, or name another file"
                    raise DataError(what, where=str(target), hint=hint)
                # Whoever had the lock may have removed the file that was opened here.
                if _is_file(place, file):
                    _refuse_foreign(file, place)
                    self.locks[target] = file
                    self._recover(file)
            finally:
                if self.locks.get(target) is not file:
                    file.close()

    def stage(self, target: Path, write: Callable[[Path], T], *, is_folder: bool) -> T:
        """Writes a file or a folder that takes its place later; returns the result of `write`."""
        if any(target.is_relative_to(folder) for folder in self.folders.values()):
            return write(target)  # a part of what is being written
        target.parent.mkdir(parents=True, exist_ok=True)
        self.lock(self.first)
        self.lock(target)
        self._discard(target)
        mark = secrets.token_hex(4)
        folder = _private_folder(target, mark)
        self._note(target, mark)
        self.folders[target] = folder  # known before it is there: a signal may come in between
        folder.mkdir(0o700)
        part = folder / target.name
        try:
            if is_folder:
                part.mkdir()
            result = write(part)
            for file in part.iterdir() if is_folder else (part,):
                with file.open("rb") as written:
                    os.fsync(written.fileno())
            _keep_permissions(target, part)
        except BaseException:
            self._discard(target)
            raise
        return result

    def commit(self) -> None:
        """Switches all files; where that fails, everything is as it was before."""
        others = [target for target in self.folders if target != self.first]
        if not self.folders:
            return
        if not others:
            _put(self.folders[self.first], self.first)
            return self._forget()
        length = self.journal.seek(0, os.SEEK_END)
        self.journal.write(DECIDED)
        os.fsync(self.journal.fileno())
        try:
            for target, folder in self._list_switches(others):
                if os.path.lexists(target):
                    target.replace(folder / BEFORE)
            for target, folder in reversed(self._list_switches(others)):
                _put(folder, target)
        except BaseException:
            self._undo(others)
            self.journal.truncate(length)
            raise
        self._forget()

    def close(self) -> None:
        """Removes everything that did not take its place, and frees the lock."""
        folders = list(self.folders.values())
        for target in list(self.folders):
            self._discard(target)
        self._free_others()
        for target in self.begun - self.locks.keys():  # interrupted before it was locked
            _remove_lock(_journal_of(target))
        if self.first in self.locks:
            # Where something could not be removed, the next process finds it in the journal.
            if not any(folder.exists() for folder in folders):
                self._free(self.first)
            else:
                self.locks.pop(self.first).close()
        _unfinished.pop(self, None)

    def _list_switches(self, others: list[Path]) -> list[tuple[Path, Path]]:
        """The moves to be made, the first target first."""
        first = [self.first] if self.first in self.folders else []
        return [(target, self.folders[target]) for target in (*first, *others)]

    def _undo(self, others: list[Path]) -> None:
        for target, folder in self._list_switches(others)[::-1]:
            if not (folder / target.name).exists():
                target.replace(folder / target.name)
            if os.path.lexists(folder / BEFORE):
                (folder / BEFORE).replace(target)

    def _forget(self) -> None:
        """Marks everything staged so far as done."""
        for folder in {target.parent for target in self.folders}:
            _sync_folder(folder)
        for target in list(self.folders):
            self._discard(target)
        self._free_others()
        self.journal.truncate(0)

    def _note(self, target: Path, mark: str) -> None:
        """Writes into the journal what the next process has to look for."""
        self.journal.write(json.dumps([str(target), mark]).encode() + b"\n")

    def _free_others(self) -> None:
        for target in [known for known in self.locks if known != self.first]:
            self._free(target)

    def _free(self, target: Path) -> None:
        """Removes a lock, then frees it: nobody can get the lock of a file that is about to go."""
        place = _journal_of(target)
        with suppress(OSError):
            if _is_file(place, self.locks[target]):
                place.unlink()
        self.begun.discard(target)
        self.locks.pop(target).close()

    def _discard(self, target: Path) -> None:
        folder = self.folders.get(target)
        if folder is not None:
            _remove(folder, target.name)
            self.folders.pop(target)

    def _recover(self, journal: IO[bytes]) -> None:
        """Completes the moves that a killed process had decided on; removes the others."""
        content = journal.read()
        entries = [_parse(line) for line in content.splitlines(keepends=True) if line != DECIDED]
        known = [(target, folder) for target, folder in filter(None, entries) if _is_own(folder)]
        known.sort(key=lambda entry: entry[0] == self.first)
        for target, folder in known if content.endswith(DECIDED) else ():
            if (folder / target.name).exists():
                _put(folder, target)
        for target, folder in known:
            _remove(folder, target.name)
        for target in {target for target, _ in filter(None, entries)} - self.locks.keys():
            _remove_lock(_journal_of(target))
        journal.truncate(0)


@atexit.register
def close_interrupted() -> None:
    """Closes what a signal has interrupted while it was being opened or closed."""
    for transaction in [known for known, process in _unfinished.items() if process == os.getpid()]:
        transaction.close()


def try_lock(file: int) -> bool:
    """Takes the lock of an open file, which the system frees with the process.

    False where another has it. Where the file's system has no locks, nobody is kept out.
    """
    if sys.platform == "win32":
        import msvcrt

        try:
            os.lseek(file, 1 << 30, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(file, 0, os.SEEK_SET)
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _journal_of(target: Path) -> Path:
    return target.with_name(f".{target.name}.journal")


def _remove_lock(place: Path) -> None:
    """Removes the lock of a file that a killed process has left, unless it is a journal, too."""
    with suppress(OSError):
        flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with os.fdopen(os.open(place, flags), "r+b", buffering=0) as file:
            known = os.fstat(file.fileno())
            is_lock = stat.S_ISREG(known.st_mode) and known.st_size == 0
            is_own = os.name != "posix" or known.st_uid == os.geteuid()
            if is_lock and is_own and try_lock(file.fileno()) and _is_file(place, file):
                place.unlink()


def _private_folder(target: Path, mark: str) -> Path:
    return target.with_name(f".{target.name}.{mark}.part")


def _parse(line: bytes) -> tuple[Path, Path] | None:
    """A line of the journal: a target and its private folder; None if the line is incomplete."""
    try:
        name, mark = json.loads(line)
        target = Path(name)
        if line.endswith(b"\n") and target.is_absolute() and int(mark, 16) >= 0:
            return target, _private_folder(target, mark)
    except (ValueError, TypeError):
        pass
    return None


def _refuse_foreign(file: IO[bytes], place: Path) -> None:
    """Raises if the journal, which says what is moved and removed, is another user's or a link."""
    known = os.fstat(file.fileno())
    if os.name == "posix" and (known.st_uid != os.geteuid() or known.st_nlink > 1):
        what = "a journal of another user, or a link, is in the way"
        raise DataError(what, where=str(place), hint="have it removed, or name another folder")


def _is_own(folder: Path) -> bool:
    """Whether a private folder is there, is no link to another, and is this user's."""
    try:
        known = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(known.st_mode) and (os.name != "posix" or known.st_uid == os.geteuid())


def _remove(folder: Path, name: str) -> None:
    """Removes a private folder; of files also where the process may open no further ones."""
    for place in (folder / name, folder / BEFORE):
        with suppress(OSError):
            place.unlink()
    with suppress(OSError):
        return folder.rmdir()
    shutil.rmtree(folder, ignore_errors=True)


def _put(folder: Path, target: Path) -> None:
    (folder / target.name).replace(target)


def _is_file(place: Path, file: IO[bytes]) -> bool:
    try:
        return os.path.samestat(place.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _sync_folder(folder: Path) -> None:
    """Has the new names survive a loss of power, where folders can be opened."""
    if os.name == "posix":
        with suppress(OSError):
            opened = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)


def _keep_permissions(target: Path, part: Path) -> None:
    """Gives a new file the permissions of the file that it replaces."""
    if not target.exists():
        return
    known = target.stat()
    if hasattr(os, "chown"):
        with suppress(OSError):  # only some may give files away
            os.chown(part, known.st_uid, known.st_gid)
    part.chmod(stat.S_IMODE(known.st_mode))


@contextmanager
def _explain(path: str | Path) -> Iterator[None]:
    """Turns an error of the operating system into one that says where."""
    try:
        yield
    except OSError as error:
        raise not_written(error, path) from None


def not_written(error: OSError, path: str | Path) -> DataError:
    """The error raised if a file cannot be written."""
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    hint = "check the folder, who may write there, and the space left"
    return DataError(f"cannot be written ({reason})", where=str(path), hint=hint)
