"""How the tests of the command line run a command, and what a refusal looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import tclose
from tclose.cli import app

SECRET = "SECRET-CELL"
"""Stands in cells that no message may quote."""
NAMED = ("--quasi", "age,zip", "--sensitive", "disease")

Run = Callable[..., Result]
Refused = Callable[..., str]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every command runs in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TCLOSE_DEBUG", raising=False)
    # A process that a test starts finds the same tclose as this one.
    monkeypatch.setenv("PYTHONPATH", str(Path(tclose.__file__).parents[1]))
    yield


@pytest.fixture
def run() -> Run:
    """Runs a command within this process."""

    def invoke(*arguments: object) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return invoke


@pytest.fixture
def refused(run: Run, tmp_path: Path) -> Refused:
    """Runs a command that must be refused; gives the message.

    Exit code 2, what and where and what to do on standard error, nothing on standard output, no
    traceback, no cell value, no file written.
    """

    def invoke(*arguments: object, says: tuple[str, ...] = ()) -> str:
        before = sorted(tmp_path.rglob("*"))
        result = run(*arguments)
        told = result.stderr
        assert result.exit_code == 2, (result.stdout, told)
        assert isinstance(result.exception, SystemExit)
        assert result.stdout == ""
        assert told.startswith("Error: ")
        assert "Traceback" not in told and "bug in tclose" not in told
        assert SECRET not in told
        assert "Hint: " in told
        for words in says:
            assert words in told, (words, told)
        assert sorted(tmp_path.rglob("*")) == before
        return told

    return invoke


@pytest.fixture
def holds(run: Run) -> Run:
    """Runs a command that must succeed; gives its result."""

    def invoke(*arguments: object) -> Result:
        result = run(*arguments)
        assert result.exit_code == 0, (result.stdout, result.stderr)
        return result

    return invoke


@pytest.fixture
def named() -> tuple[str, ...]:
    """The options that name the columns of most tables here."""
    return NAMED


@pytest.fixture
def secret() -> str:
    """A cell value that no message may quote."""
    return SECRET
