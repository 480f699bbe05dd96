"""The gallery keeps its word: its pages run, and draw the pictures that they show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from scripts import load_script

pytestmark = pytest.mark.slow

DOCS = Path(__file__).resolve().parents[2] / "docs"
GALLERY = DOCS / "gallery"
SVG = "{http://www.w3.org/2000/svg}"


MAKE = load_script("docs/pages.py")
PAGES = MAKE.pages("gallery")


def about(drawn: str) -> str:
    """What a picture says that it shows; raises where it is no picture."""
    root = ElementTree.fromstring(drawn)
    assert root.tag == f"{SVG}svg"
    return root.findtext(f"{SVG}title") or ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_and_draws_its_pictures(
    page: Path, tmp_path: Path, request: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.name == MAKE.CENSUS:
        monkeypatch.setenv("TCLOSE_ADULT", str(request.getfixturevalue("adult_dir")))
    made = MAKE.run_page(page, tmp_path)
    assert made
    for name, drawn in made.items():
        assert about(drawn) == about((GALLERY / name).read_text(encoding="utf-8")), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_short_and_listed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    title = re.match(r"# (.+)\n", text)
    index = (GALLERY / "README.md").read_text(encoding="utf-8")
    assert title is not None and f"]({page.name})" in index


def test_every_picture_is_shown_small_and_self_contained() -> None:
    shown = {name for page in PAGES for name in MAKE.pictures(page)}
    assert shown == {path.name for path in GALLERY.glob("*.svg")}
    for name in shown:
        drawn = (GALLERY / name).read_text(encoding="utf-8")
        assert len(drawn) < 40_000 and "http" not in drawn.replace(SVG.strip("{}"), "")


def test_a_command_that_ends_otherwise_than_it_says_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RuntimeError, match="ended with 2"):
        MAKE.run_line("tclose audit nothing.csv --quasi a --sensitive b")
    MAKE.run_line("tclose audit nothing.csv --quasi a --sensitive b   # exit code 2")
    with pytest.raises(ValueError, match="not a tclose command"):
        MAKE.run_line("rm everything")
