"""The tutorial and the how-tos keep their word: they run, and print what they show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import load_script

DOCS = Path(__file__).resolve().parents[2] / "docs"


SCRIPT = load_script("docs/pages.py")
PAGES = SCRIPT.pages("tutorial", "howto")
SERVERS = ("spark.md", "postgresql.md")  # tests/engines/test_pages.py


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in SERVERS], ids=lambda p: p.stem)
def test_a_page_can_be_followed(page: Path, tmp_path: Path) -> None:
    SCRIPT.run_page(page, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_short_and_listed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    index = DOCS / "index.md" if page.parent.name == "tutorial" else page.parent / "README.md"
    assert f"{page.name})" in index.read_text(encoding="utf-8")
    assert re.match(r"# (.+)\n", text)


def test_a_line_that_is_not_printed_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint('a  b')\n```\n\n```text\na b\n```\n")
    SCRIPT.run_page(page, tmp_path)
    page.write_text("```python\nprint('a b')\n```\n\n```text\nb a\n```\n")
    with pytest.raises(ValueError, match="not printed: b a"):
        SCRIPT.run_page(page, tmp_path)


def test_a_row_that_no_file_holds_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```csv title=one.csv\na,b\n1,2\n```\n\n```csv\n1,2\n```\n")
    SCRIPT.run_page(page, tmp_path)
    page.write_text("```csv title=one.csv\na,b\n1,2\n```\n\n```csv\n1,3\n```\n")
    with pytest.raises(ValueError, match="not printed: 1,3"):
        SCRIPT.run_page(page, tmp_path)
