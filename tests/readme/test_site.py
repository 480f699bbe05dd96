"""The site is built without a warning, and holds what the program says of itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import tclose
from tclose.cli import app

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it: a warning, such as a link to nowhere, is an error."""
    folder = tmp_path_factory.mktemp("site")
    (line,) = re.findall(
        r"-m (sphinx .* build/docs)\n", (ROOT / "Makefile").read_text(encoding="utf-8")
    )
    options = line.replace("build/doctrees", str(folder / "trees")).split()[:-2]
    done = subprocess.run(
        [sys.executable, "-m", *options, "docs", str(folder / "html")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "html"


def list_commands(command: Any, path: str = "") -> list[str]:
    """The names of all commands that are not hidden."""
    if not hasattr(command, "commands"):
        return [path.strip()]
    parts = command.commands.items()
    return [
        n for name, part in parts if not part.hidden for n in list_commands(part, f"{path} {name}")
    ]


def test_every_command_and_every_python_name_has_its_place(site: Path) -> None:
    commands = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    for name in list_commands(get_command(app)):
        assert f'id="{name.replace(" ", "-")}"' in commands, name
    assert "--fail-under" in commands and "k=5,t=0.2" in commands
    names = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert [n for n in tclose.__all__ if n[0] != "_" and f'id="tclose.{n}"' not in names] == []


def test_it_is_searched_offline_and_fetches_nothing(site: Path) -> None:
    assert (site / "searchindex.js").stat().st_size > 10_000
    loaded = r"<(?:script|img|iframe)[^>]+src=\"(?:https?:)?//|<link[^>]+href=\"(?:https?:)?//"
    for page in site.rglob("*.html"):
        assert not re.search(loaded, page.read_text(encoding="utf-8")), page.name


def test_machines_find_every_page_in_plain_text(site: Path) -> None:
    listed = re.findall(r"\]\((_sources/[^)]+)\)", (site / "llms.txt").read_text(encoding="utf-8"))
    pages = [p for p in (ROOT / "docs").glob("*/*.md") if p.name != "README.md"]
    assert len(listed) == len(pages)
    assert all((site / name).is_file() for name in listed)
    texts = {name: (site / name).read_text(encoding="utf-8") for name in listed}
    assert "## policy confirm" in texts["_sources/reference/command-line.md.txt"]
    assert "## tclose.anonymize" in texts["_sources/reference/python.md.txt"]


def test_the_gallery_shows_its_pictures(site: Path) -> None:
    page = (site / "gallery" / "hospital.html").read_text(encoding="utf-8")
    assert 'src="../_images/hospital.svg"' in page
    assert (site / "_images" / "hospital.svg").is_file()
