"""Runs the pages of the gallery and draws their pictures anew: python docs/gallery/make.py [PAGE …]

A page is run from top to bottom in an empty folder. A block that names a file (```toml title=…) is
written there, `python` blocks share their names, and in `sh` blocks every line is a command of ours
which ends with exit code 0, or with the one that its comment says (`# exit code 1`). Each picture
that the page shows must be made by the page itself.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from typer.testing import CliRunner

from tclose.cli import app

HERE = Path(__file__).resolve().parent
BLOCK = re.compile(r"^```(\w+)(?: title=(\S+))?\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r"!\[[^\]]+\]\(([\w-]+\.svg)\)")
CENSUS = "census.md"
"""The page that needs a table which is not in the repository (see `TCLOSE_ADULT`)."""


def pages() -> list[Path]:
    """Every page, in the order of their names."""
    return sorted(page for page in HERE.glob("*.md") if page.name != "README.md")


def pictures(page: Path) -> list[str]:
    """The names of the pictures that a page shows."""
    return PICTURE.findall(page.read_text(encoding="utf-8"))


def run_page(page: Path, folder: Path) -> dict[str, str]:
    """Runs a page in a folder; the pictures that it made, by their names."""
    names: dict[str, object] = {"__name__": page.stem}
    with chdir(folder):
        for language, title, text in BLOCK.findall(page.read_text(encoding="utf-8")):
            if title:
                Path(title).write_text(os.path.expandvars(text), encoding="utf-8")
            elif language == "python":
                exec(compile(text, page.name, "exec"), names)
            elif language == "sh":
                for line in text.replace("\\\n", " ").splitlines():
                    run_line(line)
        return {name: Path(name).read_text(encoding="utf-8") for name in pictures(page)}


def run_line(line: str) -> None:
    """Runs one command of a page; raises where it ends otherwise than the page says."""
    words = shlex.split(os.path.expandvars(line), comments=True)
    if not words:
        return
    if words[0] != "tclose":
        raise ValueError(f"not a tclose command: {line}")
    told = re.search(r"# exit code (\d)", line)
    result = CliRunner().invoke(app, words[1:])
    if result.exit_code != int(told[1] if told else 0):
        raise RuntimeError(f"{line}\nended with {result.exit_code}: {result.stderr}")


def main(wanted: list[str]) -> None:
    """Draws the pictures of some pages, or of all that can be run here."""
    for page in pages():
        if wanted and page.name not in wanted:
            continue
        if page.name == CENSUS and "TCLOSE_ADULT" not in os.environ:
            print(f"{page.name}: left as it is; name the table's folder in TCLOSE_ADULT")
            continue
        with tempfile.TemporaryDirectory() as folder:
            for name, drawn in run_page(page, Path(folder)).items():
                (HERE / name).write_text(drawn, encoding="utf-8")
                print(f"{page.name}: {name}, {len(drawn):,} characters")


if __name__ == "__main__":
    main(sys.argv[1:])
