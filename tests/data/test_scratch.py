"""Raw rows that are put aside: nothing of them is left, however the process ends."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pytest

import tclose
from processes import copy_process, forking
from tclose.data.io import scratch
from tclose.data.io.counting import SMALL, connect, note_failure
from tclose.data.io.paths import Reading
from tclose.data.io.scratch import PREFIX, Scratch, sweep
from tclose.data.opening import open_source
from tclose.errors import DataError

SECRET = "SECRET-NAME"
HOLD = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the tests were started with
signal.signal(signal.SIGHUP, signal.SIG_DFL)
sys.path.insert(0, {sources!r})
from tclose.cli.console import tidy_ending
from tclose.data.opening import open_source
with tidy_ending():
    source = open_source({path!r})
    aside = open_source({path!r}).group_relation(["zip"])
    print(source.n_rows, flush=True)
    time.sleep(100)
"""


@pytest.fixture
def aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for what is put aside."""
    folder = tmp_path / "aside"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def make_table(path: Path) -> Path:
    rows = [("name", "zip"), *((f"{SECRET} {n}", str(n % 7)) for n in range(50))]
    text = "".join(",".join(row) + "\n" for row in rows)
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    elif path.suffix == ".arrows":
        columns = dict(zip(rows[0], map(list, zip(*rows[1:], strict=True)), strict=True))
        with pa.ipc.new_stream(path, pa.table(columns).schema) as file:
            file.write_table(pa.table(columns))
    else:
        path.write_text(text, encoding="utf-16")
    return path


def find_rows(folder: Path) -> list[Path]:
    """The files that hold a raw value."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if SECRET.encode() in path.read_bytes().replace(b"\0", b"")]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="files have names elsewhere")
@pytest.mark.parametrize(
    ("name", "end"),
    [(name, signal.SIGKILL) for name in ("t.csv.gz", "t.csv", "t.xlsx", "t.arrows")]
    + [("t.csv.gz", end) for end in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)],
)
def test_no_raw_row_outlives_the_process(
    tmp_path: Path, aside: Path, name: str, end: signal.Signals
) -> None:
    path = make_table(tmp_path / name)
    code = HOLD.format(sources=str(Path(tclose.__file__).parents[1]), path=str(path))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "50\n"
    assert list(aside.iterdir())
    process.send_signal(end)
    process.wait()
    process.stdout.close()
    assert find_rows(aside) == []
    if end == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
        assert list(aside.iterdir())  # empty folders, and links that lead nowhere
        sweep(aside)
    else:
        assert process.returncode == 128 + (end if end == signal.SIGINT else signal.SIGTERM)
    assert list(aside.iterdir()) == []


@forking
def test_only_folders_of_the_dead_are_swept(aside: Path) -> None:
    living = Scratch()
    place = living.place("table.parquet", named=True)
    place.write_text(SECRET)
    others = [aside / f"{PREFIX}mine", aside / "tclose-aside", aside / f"x{PREFIX}01234567"]
    for folder in others:
        folder.mkdir()
    child = copy_process()
    if child == 0:
        dead = Scratch()
        dead.place("cells.parquet", named=True).write_text(SECRET)
        os._exit(9)
    os.waitpid(child, 0)
    assert len(find_rows(aside)) == 2
    sweep(aside)
    assert find_rows(aside) == [place]
    assert all(folder.is_dir() for folder in others)
    living.close()
    assert find_rows(aside) == []


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no locks there")
def test_a_folder_that_is_swept_before_it_is_locked_is_made_again(
    aside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, swept = os.mkdir, []

    def make_and_sweep(folder: Path, mode: int) -> None:
        make(folder, mode)
        if not swept:
            swept.append(folder)
            sweep(aside)

    monkeypatch.setattr("tclose.data.io.scratch.os.mkdir", make_and_sweep)
    living = Scratch()
    assert living.path.is_dir() and swept and not Path(swept[0]).exists()
    living.close()


def interrupt_at(line: int) -> Callable[..., Any]:
    """A trace that interrupts what makes or removes a folder before its line of this number."""
    left = [line]

    def trace(frame: Any, event: str, _: object) -> Any:
        if frame.f_code.co_filename == scratch.__file__ and event == "line":
            left[0] -= 1
            if left[0] < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    return trace


# Interrupted between its opening and its being known, a lock is closed by whoever collects it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_at_any_line_leaves_no_folder(aside: Path) -> None:
    scratch.sweep(aside)
    for line in range(200):
        sys.settrace(interrupt_at(line))
        try:
            made = Scratch()
            made.place("table.parquet", named=True).write_text(SECRET)
            made.close()
            break
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        scratch.remove_interrupted()  # as at the end of the process
        assert list(aside.iterdir()) == [], line
    assert line >= 20


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit there")
def test_a_folder_goes_also_where_it_took_the_last_handle(aside: Path) -> None:
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    place = Scratch()
    used = max(map(int, os.listdir("/proc/self/fd" if Path("/proc").is_dir() else "/dev/fd")))
    taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(used)]  # the gaps, too
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(taken) + 1, limits[1]))
        place.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for file in taken:
            os.close(file)
    assert list(aside.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no locks there")
def test_a_folder_that_cannot_be_locked_does_not_stay(
    aside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*how: Any) -> int:
        raise OSError(24, "Too many open files")

    sweep(aside)
    monkeypatch.setattr("tclose.data.io.scratch.os.open", refuse)
    with pytest.raises(OSError, match="Too many"):
        Scratch()
    monkeypatch.undo()
    assert list(aside.iterdir()) == []


def test_the_first_to_put_something_aside_sweeps(
    aside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = aside / f"{PREFIX}abcdefgh"
    stale.mkdir()
    (stale / "cells.parquet").write_text(SECRET)
    monkeypatch.setattr("tclose.data.io.scratch._swept", set())
    connection = connect()
    assert not stale.exists() and len(list(aside.iterdir())) == 1
    connection.close()
    del connection
    assert list(aside.iterdir()) == []


def test_what_is_put_aside_goes_with_the_table(tmp_path: Path, aside: Path) -> None:
    source = open_source(make_table(tmp_path / "t.csv.gz"))
    assert source.n_rows == 50
    if sys.platform == "linux":
        assert find_rows(aside) == [path for path in aside.rglob("t.csv")]
        assert all(path.is_symlink() for path in aside.rglob("t.csv"))
    del source
    assert list(aside.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of that kind")
@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv"])
def test_a_temporary_folder_that_is_full_is_told_as_that(
    tmp_path: Path, aside: Path, name: str
) -> None:
    path = make_table(tmp_path / name)
    code = (
        "import resource, signal, sys, tclose\n"
        "from tclose.data.opening import open_source\n"
        "import tclose.data.io.scratch\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        f"open_source({str(path)!r})"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(tclose.__file__).parents[1])}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert "no room for a copy of it in the temporary folder (File too large)" in found.stderr
    assert "TMPDIR" in found.stderr and "unpacked" not in found.stderr


def test_what_cannot_be_unpacked_is_told_as_that(tmp_path: Path) -> None:
    path = make_table(tmp_path / "t.csv.gz")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="cannot be unpacked"):
        open_source(path)


def test_the_engine_fetches_no_code() -> None:
    connection = connect()
    for name in ("autoinstall_known_extensions", "autoload_known_extensions"):
        found = connection.execute(f"SELECT current_setting('{name}')").fetchall()
        assert found == [(False,)]


def test_batches_that_an_engine_reads_no_further_have_not_failed() -> None:
    """A signal may end the reading: what is raised then must be the signal's own exception."""
    failed: list[BaseException] = []
    batches = note_failure(iter(pa.table({"a": [1, 2]}).to_batches(max_chunksize=1)), failed)
    next(batches)
    batches.close()
    assert failed == []

    def break_off() -> Iterator[pa.RecordBatch]:
        raise OSError("gone")
        yield

    with pytest.raises(OSError, match="gone"):
        next(note_failure(break_off(), failed))
    assert [str(error) for error in failed] == ["gone"]


def test_little_text_is_counted_by_the_engine_that_runs_already(tmp_path: Path) -> None:
    """Each table has a connection of its own; a limit of memory takes an engine of its own."""
    little, much = tmp_path / "little.csv", tmp_path / "much.csv"
    little.write_text("a,b\n1,2\n1,2\n")
    much.write_text("a,b\n" + "1,2\n" * (SMALL // 4))

    def find_engine(path: Path, memory: str | None = None) -> str:
        opened: Any = open_source(path, Reading(memory=memory))
        assert set(opened.group(["a"]).column("a").to_pylist()) == {"1"}
        query = "SELECT current_setting('temp_directory')"
        return str(opened.connection.execute(query).fetchall()[0][0])

    shared = find_engine(little)
    assert shared == find_engine(little) == find_engine(tmp_path / "little*.csv")
    for other in (find_engine(little, "100MB"), find_engine(much)):
        assert other != shared and not Path(other).exists()


def test_a_small_file_that_is_written_anew_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for value in ("1", "2", "3"):
        path.write_text(f"a\n{value}\n")
        os.utime(path, (1_000_000, 1_000_000))
        assert open_source(path).group(["a"]).column("a").to_pylist() == [value]
