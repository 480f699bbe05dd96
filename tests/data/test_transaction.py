"""Several files that switch together: whenever a process dies, all are old or all are new."""

from __future__ import annotations

import gc
import os
import stat
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from processes import copy_process, forking
from tclose.data.io.files import write_folder, write_text
from tclose.data.io.transaction import (
    close_interrupted,
    find_part,
    refuse_locked,
    switch_now,
    write_together,
)
from tclose.errors import DataError

NAMES = ("release.csv", "beside/certificate.json", "plan.json", "report.html")
EVENTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.truncate")


def write_all(folder: Path, text: str, at_end: Callable[[], None] = lambda: None) -> None:
    """A release and what belongs to it, all of which name the release that they are about."""
    with write_together(folder / NAMES[0]):
        for name in (*NAMES[1:], NAMES[0]):  # as a release is written: it comes last
            write_text(folder / name, text)
        at_end()


def read_all(folder: Path) -> list[str | None]:
    places = [folder / name for name in NAMES]
    return [place.read_text() if place.exists() else None for place in places]


def list_hidden(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.startswith(".")]


def die_at(moment: int, work: Callable[[], None], events: Sequence[str] = EVENTS) -> bool:
    """Does the work in a copy of this process, which dies before so many calls of the system.

    Returns whether it died: past the last moment it does not.
    """
    child = copy_process()
    if child == 0:
        count = 0

        def die(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal count
            count += event in events
            if count > moment:
                os._exit(99)

        sys.addaudithook(die)
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 99


@forking
@pytest.mark.parametrize("before", ["old", pytest.param(None, marks=pytest.mark.slow)])
def test_killed_before_any_call_of_the_system_nothing_is_mixed(
    tmp_path: Path, before: str | None
) -> None:
    moment, seen = 0, set()
    while True:
        folder = tmp_path / str(moment)
        (folder / "beside").mkdir(parents=True)
        if before is not None:
            write_all(folder, before)
        died = die_at(moment, partial(write_all, folder, "new"))
        release, certificate, *_ = read_all(folder)
        assert release is None or release == certificate
        refuse_locked(folder / NAMES[0])  # the next run begins like this
        (found,) = set(read_all(folder))
        assert found in (before, "new")
        assert list_hidden(folder) == []
        seen.add(found)
        if not died:
            break
        moment += 1
    assert found == "new" and seen == {before, "new"}
    assert moment > 30


@pytest.mark.slow
@forking
def test_killed_while_it_finishes_what_another_began_it_is_finished_by_the_next(
    tmp_path: Path,
) -> None:
    """The journal decides until the last file is in its place."""
    moment, stopped = 0, 0
    while True:
        folder = tmp_path / str(moment)
        (folder / "beside").mkdir(parents=True)
        write_all(folder, "old")
        assert die_at(5, partial(write_all, folder, "new"), ["os.rename"])
        assert len(set(read_all(folder))) > 1  # it was in the middle
        died = die_at(moment, partial(refuse_locked, folder / NAMES[0]))
        stopped += died
        refuse_locked(folder / NAMES[0])
        assert set(read_all(folder)) == {"new"} and list_hidden(folder) == []
        if not died:
            break
        moment += 1
    assert stopped > 5


def test_what_fails_leaves_everything_as_it_was(tmp_path: Path) -> None:
    write_all(tmp_path, "old")

    def fail() -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_all(tmp_path, "new", fail)
    assert set(read_all(tmp_path)) == {"old"} and list_hidden(tmp_path) == []


@pytest.mark.parametrize("refused", range(8))
def test_a_rename_that_fails_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: int
) -> None:
    write_all(tmp_path, "old")
    rename, count = Path.replace, 0

    def fail(self: Path, target: Path) -> Path:
        nonlocal count
        count += 1
        if count == refused + 1:
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(DataError, match="cannot be written"):
        write_all(tmp_path, "new")
    assert set(read_all(tmp_path)) == {"old"} and list_hidden(tmp_path) == []


def test_two_at_once_are_refused_and_later_ones_are_not(tmp_path: Path) -> None:
    told: list[BaseException] = []

    def intrude() -> None:
        try:
            write_all(tmp_path, "another")
        except DataError as error:
            told.append(error)

    def at_end() -> None:
        other = threading.Thread(target=intrude)
        other.start()
        other.join()

    write_all(tmp_path, "first", at_end)
    assert [str(error) for error in told] and "another process is writing this" in str(told[0])
    assert set(read_all(tmp_path)) == {"first"}
    write_all(tmp_path, "second")
    assert set(read_all(tmp_path)) == {"second"} and list_hidden(tmp_path) == []


@pytest.mark.parametrize("named", [True, False])
def test_what_belongs_to_one_output_is_not_written_by_another(tmp_path: Path, named: bool) -> None:
    """Both would end well, and one release would stand beside the certificate of the other."""
    certificate, told = tmp_path / "certificate.json", []

    def intrude() -> None:
        try:
            with write_together(tmp_path / "b.csv"):
                write_text(tmp_path / "b.csv", "b")
                write_text(certificate, "of b")
        except DataError as error:
            told.append(str(error))

    def begin_another() -> None:
        other = threading.Thread(target=intrude)
        other.start()
        other.join()

    with write_together(tmp_path / "a.csv", *([certificate] if named else [])):
        if named:  # from the start, not only once it is written
            begin_another()
        write_text(certificate, "of a")
        if not named:
            begin_another()
        write_text(tmp_path / "a.csv", "a")
    assert len(told) == 1 and "certificate.json: another process is writing this" in told[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "certificate.json"]
    assert certificate.read_text() == "of a"
    intrude()
    assert certificate.read_text() == "of b" and list_hidden(tmp_path) == []


@forking
def test_the_lock_goes_with_the_process_that_had_it(tmp_path: Path) -> None:
    ready, go = os.pipe(), os.pipe()
    child = copy_process()
    if child == 0:
        with write_together(tmp_path / "a.csv"):
            os.write(ready[1], b"1")
            os.read(go[0], 1)
            os._exit(9)
    os.read(ready[0], 1)
    with pytest.raises(DataError, match="another process"):
        write_text(tmp_path / "a.csv", "x")
    write_text(tmp_path / "b.csv", "another output of the same folder")
    os.write(go[1], b"1")
    os.waitpid(child, 0)
    write_text(tmp_path / "a.csv", "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.csv"]


def test_a_journal_that_somebody_made_up_moves_nothing(tmp_path: Path) -> None:
    victim, bait = tmp_path / "victim", tmp_path / "bait"
    victim.write_text("mine")
    bait.mkdir()
    (bait / "victim").write_text("theirs")
    lines = [f'["{victim}", "../bait"]', f'["{victim}", "00/../../bait"]', '["x", 3]', "{"]
    (tmp_path / ".a.csv.journal").write_text("\n".join([*lines, '"switch"']) + "\n")
    write_text(tmp_path / "a.csv", "x")
    assert victim.read_text() == "mine" and (bait / "victim").read_text() == "theirs"


def test_a_journal_holds_names_only(tmp_path: Path) -> None:
    with write_together(tmp_path / "a.csv"):
        write_text(tmp_path / "a.csv", "SECRET")
        journal = tmp_path / ".a.csv.journal"
        assert b"SECRET" not in journal.read_bytes()
        assert stat.S_IMODE(journal.stat().st_mode) == 0o600
        part = find_part(tmp_path / "a.csv")
        assert part is not None and part.read_text() == "SECRET"
        assert stat.S_IMODE(part.parent.stat().st_mode) == 0o700
    assert find_part(tmp_path / "a.csv") is None


def test_what_belongs_to_a_table_that_is_there_follows_at_once(tmp_path: Path) -> None:
    with write_together(tmp_path / "table"):
        write_text(tmp_path / "certificate.json", "c")
        switch_now()
        assert (tmp_path / "certificate.json").read_text() == "c"
        write_text(tmp_path / "report.html", "r")
        assert not (tmp_path / "report.html").exists()
    assert (tmp_path / "report.html").read_text() == "r" and list_hidden(tmp_path) == []


def test_a_folder_is_switched_whole(tmp_path: Path) -> None:
    def fill(part: Path) -> None:
        write_text(part / "a.txt", "a")
        assert (part / "a.txt").read_text() == "a"  # at once: it is part of what is written
        write_text(part / "b.txt", "b")

    with write_together(tmp_path / "split"):
        write_folder(tmp_path / "split", fill)
        assert not (tmp_path / "split").exists()
    assert sorted(path.name for path in (tmp_path / "split").iterdir()) == ["a.txt", "b.txt"]


def test_a_journal_does_not_reach_through_a_link(tmp_path: Path) -> None:
    """Whoever may write beside an output must not have another's files moved or removed."""
    private, bait = tmp_path / "private", tmp_path / "bait"
    private.mkdir()
    bait.mkdir()
    (private / "diary").write_text("mine")
    (bait / ".diary.00.part").symlink_to(private)
    for end in ('"switch"\n', ""):
        (tmp_path / ".a.csv.journal").write_text(f'["{bait / "diary"}", "00"]\n{end}')
        write_text(tmp_path / "a.csv", "x")
        assert (private / "diary").read_text() == "mine" and not (bait / "diary").exists()


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_in_place_of_a_journal_empties_no_file(tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    diary.write_text("mine")
    os.link(diary, tmp_path / ".a.csv.journal")
    with pytest.raises(DataError, match="a link, is in the way"):
        write_text(tmp_path / "a.csv", "x")
    assert diary.read_text() == "mine" and not (tmp_path / "a.csv").exists()


@forking
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs two users")
def test_a_journal_of_another_user_is_refused(tmp_path: Path) -> None:
    journal = tmp_path / ".a.csv.journal"
    journal.write_text("")
    os.chown(journal, 65534, 65534)
    with pytest.raises(DataError, match="another user"):
        write_text(tmp_path / "a.csv", "x")
    journal.unlink()
    write_text(tmp_path / "a.csv", "x")


def interrupt_at(line: int, *functions: str) -> Callable[..., Any]:
    """A trace that interrupts some functions before their line of this number, counted."""
    left = [line]

    def trace(frame: Any, event: str, _: object) -> Any:
        if frame.f_code.co_name in functions and event == "line":
            left[0] -= 1
            if left[0] < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    return trace


# Interrupted between its opening and its `with`, a file is closed by whoever collects it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_at_any_line_of_the_staging_leaves_nothing(tmp_path: Path) -> None:
    release, tried = tmp_path / "release.csv", 0
    for line in range(100):
        sys.settrace(interrupt_at(line, "stage"))
        try:
            with write_together(release):
                write_text(release, "name")
        except KeyboardInterrupt:
            tried += 1
        finally:
            sys.settrace(None)
        assert [path.name for path in tmp_path.iterdir() if path != release] == [], line
        if release.exists():
            break
    assert tried >= 10 and release.read_text() == "name"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_while_locks_come_and_go_leaves_nothing(tmp_path: Path) -> None:
    """SIGTERM came once between the making of a lock and its being known, and it stayed."""
    release, certificate = tmp_path / "release.csv", tmp_path / "certificate.json"
    names, tried = ("lock", "close", "_free", "_free_others"), 0
    gc.freeze()  # what other tests left is not collected again and again
    for line in range(300):
        sys.settrace(interrupt_at(line, *names))
        try:
            with write_together(release, certificate):
                pass
        except KeyboardInterrupt:
            tried += 1
        else:
            break
        finally:
            sys.settrace(None)
            gc.collect()
        close_interrupted()  # as at the end of the process
        assert list_hidden(tmp_path) == [], line
    gc.unfreeze()
    assert tried > 40 and list_hidden(tmp_path) == []
