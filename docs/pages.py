"""Runs the code of pages, and draws the pictures of the gallery: python docs/pages.py [PAGE …]

A page is run from top to bottom in a folder. A block that names a file (```toml title=…) is
written there, `python` blocks share their names, and in `sh` blocks every line is a tclose command
that ends with exit code 0, or with the one in its comment (`# exit code 1`). Every line of a `text`
block must occur in the output of the block before it, and every line of a `csv` block without a
title in a CSV file of the folder. A page must make each picture that it shows.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from textwrap import dedent

from typer.testing import CliRunner

from tclose.cli import app

HERE = Path(__file__).resolve().parent
BLOCK = re.compile(r"^( *)```(\w+)(?: title=(\S+))?\n(.*?)^\1```$", flags=re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r"!\[[^\]]+\]\(([\w-]+\.svg)\)")
CENSUS = "census.md"
"""The page that needs a table which is not in the repository (see `TCLOSE_ADULT`)."""


def pages(*folders: str) -> list[Path]:
    """Every page of these folders, in the order of their names."""
    found = (page for folder in folders for page in (HERE / folder).glob("*.md"))
    return sorted(page for page in found if page.name != "README.md")


def pictures(page: Path) -> list[str]:
    """The names of the pictures that a page shows."""
    return PICTURE.findall(page.read_text(encoding="utf-8"))


def run_page(page: Path, folder: Path) -> dict[str, str]:
    """Runs a page in a folder; the pictures that it made, by their names."""
    names: dict[str, object] = {"__name__": page.stem}
    printed = ""
    with chdir(folder):
        for _, language, title, indented in BLOCK.findall(page.read_text(encoding="utf-8")):
            text = dedent(indented)
            if title:
                Path(title).write_text(os.path.expandvars(text), encoding="utf-8")
            elif language == "python":
                with redirect_stdout(StringIO()) as output:
                    exec(compile(text, page.name, "exec"), names)
                printed = output.getvalue()
            elif language == "sh":
                lines = text.replace("\\\n", " ").splitlines()
                printed = "".join(run_line(line) for line in lines)
            elif language == "text":
                expect_lines(text, printed)
            elif language == "csv":
                tables = sorted(Path().glob("*.csv"))
                expect_lines(text, "\n".join(path.read_text(encoding="utf-8") for path in tables))
        return {name: Path(name).read_text(encoding="utf-8") for name in pictures(page)}


def run_line(line: str) -> str:
    """Runs one command of a page and returns its output; raises if the exit code is another."""
    words = shlex.split(os.path.expandvars(line), comments=True)
    if not words:
        return ""
    if words[0] != "tclose":
        raise ValueError(f"not a tclose command: {line}")
    expected = re.search(r"# exit code (\d)", line)
    result = CliRunner().invoke(app, words[1:])
    if result.exit_code != int(expected[1] if expected else 0):
        raise RuntimeError(f"{line}\nended with {result.exit_code}: {result.stderr}")
    return result.output


def expect_lines(text: str, printed: str) -> None:
    """Raises if a page shows a line that was not printed; spaces may differ."""
    whole = " ".join(printed.split())
    for line in text.splitlines():
        if " ".join(line.split()) not in whole:
            raise ValueError(f"not printed: {line}\n{printed}")


def main(wanted: list[str]) -> None:
    """Draws the pictures of some pages of the gallery, or of all that can be run here."""
    for page in pages("gallery"):
        if wanted and page.name not in wanted:
            continue
        if page.name == CENSUS and "TCLOSE_ADULT" not in os.environ:
            print(f"{page.name}: left as it is; name the table's folder in TCLOSE_ADULT")
            continue
        with tempfile.TemporaryDirectory() as folder:
            for name, drawn in run_page(page, Path(folder)).items():
                (page.parent / name).write_text(drawn, encoding="utf-8")
                print(f"{page.name}: {name}, {len(drawn):,} characters")


if __name__ == "__main__":
    main(sys.argv[1:])
