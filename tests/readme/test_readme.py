"""The README keeps its word: its code runs, its policies load, its commands exist and work."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from tclose.cli import app
from tclose.policy import load_policy

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def command_lines(program: str) -> list[list[str]]:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    words = [shlex.split(line, comments=True) for line in lines]
    return [line[1:] for line in words if line[:1] == [program]]


def found(words: list[str]) -> tuple[Any, list[str]]:
    """The command that a line names, and the words after it."""
    command = typer.main.get_command(app)
    rest = list(words)
    while rest and rest[0] in getattr(command, "commands", {}):
        command = command.commands[rest.pop(0)]
    return command, rest


@pytest.mark.parametrize("code", blocks("python"))
def test_python_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})


@pytest.mark.parametrize("text", blocks("toml"))
def test_policies_load(text: str, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    assert load_policy(tmp_path / "policy.toml").columns


@pytest.mark.parametrize("words", command_lines("tclose"), ids=" ".join)
def test_commands_and_their_options_exist(words: list[str]) -> None:
    command, rest = found(words)
    assert not hasattr(command, "commands"), f"no such command: {words}"
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in rest if word.startswith("-")} <= known


@pytest.mark.parametrize("words", command_lines("make"), ids=" ".join)
def test_make_targets_exist(words: list[str]) -> None:
    assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


def test_there_is_something_to_check() -> None:
    assert blocks("python") and blocks("toml")
    assert len(command_lines("tclose")) >= 8 and len(command_lines("make")) >= 2


SMALL = {"1000000": "200"}
QUICK = {"anonymize": ["--effort", "1"], "frontier": ["--effort", "1"]}


def test_commands_work_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    illness = ["flu", "ulcer", "asthma"]
    rows = [(f"P{n}", f"{20 + n % 25}", f"{47600 + n}", illness[n % 3]) for n in range(60)]
    lines = [("name", "age", "zip", "disease"), *rows]
    Path("patients.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    for words in command_lines("tclose"):
        asked = [SMALL.get(word, word) for word in words] + QUICK.get(words[0], [])
        result = CliRunner().invoke(app, asked)
        broken = words[:2] == ["audit", "patients.csv"] and "--policy" in words
        assert result.exit_code == int(broken), (words, result.stdout, result.stderr)
    for made in ("flow.svg", "policy.toml", "release.csv", "certificate.json", "again.csv"):
        assert Path(made).is_file(), made
