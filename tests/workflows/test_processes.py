"""Real processes that are killed, interrupted, or run out of space."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from typer.testing import Result

pytestmark = pytest.mark.slow

POLICY = """
k = 5
[columns]
name = "identifier"
age = "quasi"
zip = "quasi"
ill = { role = "sensitive", t = "1/2" }
[search]
method = "mondrian"
"""
ROWS = 60_000
BOUND = 1.5
"""Seconds within which most of a run's stages lie, once kernels are compiled."""

SLOWLY = """
import time
from tclose import cli
from tclose.workflows.release import task

def slowly(*given, problem_of=task.problem_of):
    print("searching", flush=True)
    time.sleep(0.5)
    return problem_of(*given)

task.problem_of = slowly
cli.main()
"""
"""The program, with a search that says when it begins and takes a while to."""


@pytest.fixture
def big(elsewhere: Path) -> Path:
    """A table that takes a while."""
    draw = random.Random(1)
    lines = ["name,age,zip,ill"]
    lines += [
        f"person {at},{draw.randrange(90)},{draw.randrange(2000)},{draw.choice('abcdefgh')}"
        for at in range(ROWS)
    ]
    (elsewhere / "table.csv").write_text("\n".join(lines) + "\n")
    (elsewhere / "policy.toml").write_text(POLICY)
    return elsewhere / "table.csv"


def start(*more: str, how: Sequence[str] = ("-m", "tclose"), **options: object) -> subprocess.Popen:
    command = [sys.executable, *how, "anonymize", "table.csv", "--policy", "policy.toml"]
    return subprocess.Popen(
        [*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )  # type: ignore[call-overload]


def hash_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def parts(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if ".part" in path.name]


def wait_for(ready: Callable[[], bool], process: subprocess.Popen) -> None:
    while not ready() and process.poll() is None:
        time.sleep(0.002)


def test_killed_at_any_moment_nothing_is_half_written(
    big: Path, elsewhere: Path, run: Callable[..., Result]
) -> None:
    before, old = hash_of(big), "the release that was there before\n"
    target, certificate = elsewhere / "out.csv", elsewhere / "c.json"
    target.write_text(old)
    draw = random.Random(7)
    for moment in ("soon", "written to", "written to", "certified"):
        certificate.unlink(missing_ok=True)
        for part in parts(elsewhere):
            shutil.rmtree(part)
        process = start("-o", "out.csv", "--certificate", "c.json", "--force")
        if moment == "soon":
            time.sleep(draw.uniform(0.5, BOUND))
        if moment == "written to":
            wait_for(lambda: bool(parts(elsewhere)), process)
            time.sleep(draw.uniform(0, 0.2))
        if moment == "certified":
            wait_for(certificate.exists, process)
        process.kill()
        process.communicate()
        assert hash_of(big) == before
        if target.read_text() != old:  # it was quicker: then all of it must be there
            assert run("verify", target, "--policy", "policy.toml").exit_code == 0
            assert len(target.read_text().splitlines()) == ROWS + 1
            target.write_text(old)
    process = start("-o", "out.csv", "--certificate", "c.json", "--force")
    process.communicate()
    assert process.returncode == 0
    assert run("verify", target, "--certificate", certificate).exit_code == 0


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_a_full_disk_is_told_and_leaves_nothing(big: Path, elsewhere: Path, suffix: str) -> None:
    def small() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    process = start("-o", f"out.{suffix}", preexec_fn=small)
    _, told = process.communicate()
    assert process.returncode == 2, told
    assert f"out.{suffix}: cannot be written (File too large)" in told
    assert "Hint: " in told and "Traceback" not in told
    assert sorted(path.name for path in elsewhere.iterdir()) == ["policy.toml", "table.csv"]


def test_no_room_for_the_certificate_is_no_release(
    clinic: Mapping[str, Path], run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    import tclose.data.io.records

    def full(path: object, text: str) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(tclose.data.io.records, "write_text", full)
    result = run(
        "anonymize", clinic["table"], "--policy", clinic["policy"], "-o", clinic["release"],
        "--certificate", clinic["certificate"],
    )  # fmt: skip
    assert result.exit_code == 2 and "No space left" in result.stderr
    assert not clinic["release"].exists() and not parts(clinic["release"].parent)


@pytest.mark.parametrize("wish", ["keep", "drop", "ask"])
@pytest.mark.parametrize("moment", ["early", "writing"])
def test_ctrl_c_keeps_or_drops(
    big: Path, elsewhere: Path, run: Callable[..., Result], wish: str, moment: str
) -> None:
    target = elsewhere / "out.csv"
    how = ["-c", SLOWLY] if moment == "early" else ["-m", "tclose"]
    process = start("-o", "out.csv", "--on-interrupt", wish, how=how, stdin=subprocess.DEVNULL)
    if moment == "writing":
        wait_for(lambda: bool(parts(elsewhere)), process)
    else:
        assert process.stdout is not None and process.stdout.readline() == "searching\n"
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    if wish == "keep":
        assert process.returncode == 0, told
        assert run("verify", target, "--policy", "policy.toml").exit_code == 0
    else:
        assert process.returncode != 0
        assert "stopped; nothing was written" in told
        assert not target.exists()
    assert "Traceback" not in told and not parts(elsewhere)


def test_progress_is_shown_on_a_terminal_only(clinic: Mapping[str, Path]) -> None:
    quiet = start("-o", "release.csv")
    out, told = quiet.communicate()
    assert quiet.returncode == 0 and told == "" and "The promise holds" in out
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tclose", "anonymize", "table.csv", "--policy", "policy.toml"]
    process = subprocess.Popen(
        [*command, "-o", "release.csv", "--force", "--json"], stdout=subprocess.PIPE, stderr=theirs,
        env=os.environ | {"TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while True:
        try:
            read = os.read(ours, 4096)
        except OSError:
            break
        if not read:
            break
        shown += read
    os.close(ours)
    out, _ = process.communicate()
    assert process.returncode == 0
    assert json.loads(out)["holds"] is True
    assert b"step 1 of" in shown
