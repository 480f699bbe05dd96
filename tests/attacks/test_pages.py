"""The code in the pages on utility and attacks runs, and the tables name what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from tclose.cli import app

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("reference/utility.md", "explanation/attacks.md")


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_python_runs(page: str) -> None:
    (code,) = blocks(page, "python")
    exec(compile(code, page, "exec"), {"__name__": "page"})


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_their_options_exist(page: str) -> None:
    (line,) = blocks(page, "sh")
    command = get_command(app).commands[line.split()[1]]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in line.split() if word.startswith("-")} <= known
