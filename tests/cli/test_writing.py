"""Files that are written: whole or not at all, and never over something that is no file."""

from __future__ import annotations

import errno
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tclose.data.io.files import write_atomically, write_table, write_text
from tclose.errors import DataError

SCHEMA = pa.schema([("a", pa.int64())])


def batches(error: BaseException | None = None) -> Iterator[pa.RecordBatch]:
    for _ in range(3):
        yield pa.record_batch([pa.array(range(1000))], schema=SCHEMA)
    if error is not None:
        raise error


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), RuntimeError(), KeyboardInterrupt()]
)
def test_a_failing_writer_leaves_nothing(tmp_path: Path, suffix: str, error: BaseException) -> None:
    expected = DataError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected) as failure:
        write_table(tmp_path / f"t{suffix}", SCHEMA, batches(error))
    assert list(tmp_path.iterdir()) == []
    if isinstance(error, OSError):
        assert f"t{suffix}: cannot be written (No space left" in str(failure.value)
        assert "Hint: " in str(failure.value)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_failing_writer_keeps_the_file_that_was_there(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"t{suffix}"
    target.write_bytes(b"before")
    with pytest.raises(RuntimeError):
        write_table(target, SCHEMA, batches(RuntimeError()))
    assert target.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [target]


def test_nobody_sees_half_a_file(tmp_path: Path) -> None:
    target = tmp_path / "t.txt"

    def write(part: Path) -> None:
        part.write_text("half")
        assert not target.exists()
        assert part.parent.parent == target.parent
        assert stat.S_IMODE(part.parent.stat().st_mode) == 0o700
        part.write_text("whole")

    write_atomically(target, write)
    assert target.read_text() == "whole"


def test_a_folder_that_is_missing_is_made(tmp_path: Path) -> None:
    write_text(tmp_path / "new" / "folder" / "t.txt", "x")
    assert (tmp_path / "new" / "folder" / "t.txt").read_text() == "x"


def test_a_written_file_may_be_read_as_any_other(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "x")
    (tmp_path / "b.txt").write_text("x")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a.txt", "b.txt")]
    assert modes[0] == modes[1]


@pytest.mark.skipif(os.name != "posix", reason="other systems have other permissions")
def test_a_file_that_is_replaced_stays_as_private_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "release.csv"
    for mode in (0o600, 0o640, 0o604):
        path.write_text("before")
        path.chmod(mode)
        write_table(path, SCHEMA, batches())
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert path.read_text() != "before"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("before")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_text(tmp_path / "link.txt", "after")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "after"


def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    # Devices are of the same kind, but a test that fails must not harm the machine it runs on.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(DataError, match="not a file"):
        write_text(pipe, "x")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(
    "command",
    [
        ("generate", "--rows", "5", "-o"),
        ("init", "t.csv", "--force", "-o"),
        ("explain", "t.csv", "--quasi", "a", "--sensitive", "b", "--svg"),
        ("hierarchy", "export", "tree.csv", "-o"),
    ],
    ids=lambda command: command[0],
)
def test_no_command_writes_where_it_cannot(
    refused: Any, command: tuple[str, ...], tmp_path: Path
) -> None:
    Path("t.csv").write_text("a,b\n1,2\n1,3\n")
    Path("tree.csv").write_text("x;*\ny;*\n")
    Path("folder.csv").mkdir()
    Path("file").write_text("")
    os.mkfifo("pipe.csv")
    refused(*command, "folder.csv", says=("folder.csv", "folder"))
    refused(*command, "pipe.csv", says=("pipe.csv", "not a file"))
    refused(*command, "file/below.csv", says=("below.csv", "cannot be written"))


@pytest.mark.parametrize(
    "command",
    [
        ("init", "t.csv", "--force", "-o"),
        ("explain", "t.csv", "--quasi", "a", "--sensitive", "b", "--svg"),
        ("lattice", "t.csv", "--policy", "p.toml", "--svg"),
        ("hierarchy", "export", "t.csv", "--column", "a", "--intervals", "5", "-o"),
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize("target", ["t.csv", "linked.csv"])
def test_no_command_writes_over_its_table(
    refused: Any, command: tuple[str, ...], target: str
) -> None:
    text = "a,b\n1,2\n1,3\n"
    Path("t.csv").write_text(text)
    Path("p.toml").write_text('k = 2\n[columns]\na = "quasi"\nb = "sensitive"\n')
    Path("linked.csv").hardlink_to("t.csv")
    what = "picture" if command[-1] == "--svg" else "output"
    refused(*command, target, says=(target, f"the {what} is an input"))
    assert Path("t.csv").read_text() == text


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_to(refused: Any) -> None:
    Path("folder").mkdir(mode=0o500)
    refused("generate", "--rows", 5, "-o", "folder/g.csv", says=("Permission denied",))


def test_the_demo_does_not_write_into_a_file(refused: Any) -> None:
    Path("file").write_text("")
    refused("demo", "-o", "file", says=("file", "the file exists already"))


@pytest.mark.slow
def test_a_disk_that_fills_up_while_writing(tmp_path: Path) -> None:
    """The system lets this process write at most 64 KiB into a file, as a full disk would."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))

    for suffix in ("csv", "parquet"):
        result = subprocess.run(
            [sys.executable, "-m", "tclose", "generate", "--rows", "20000", "-o", f"g.{suffix}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            preexec_fn=limited,
            check=False,
        )
        assert result.returncode == 2, result.stderr
        assert f"g.{suffix}: cannot be written (File too large)" in result.stderr
        assert result.stdout == "" and "Traceback" not in result.stderr
        assert list(tmp_path.iterdir()) == []
