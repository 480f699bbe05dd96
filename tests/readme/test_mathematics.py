"""What the code cites is there: every page, and every section of the mathematics."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "mathematics.md"
REFERENCE = re.compile(r"`(?:docs/)?mathematics(?:\.md)?`\s*([0-9.]*[0-9])?")
INSIDE = re.compile(r"\((\d+\.\d+)\)|\b[Bb]y (\d+\.\d+)\b")


def sections() -> set[str]:
    return set(re.findall(r"^### (\d+\.\d+) \S", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


def references() -> list[tuple[str, str, str]]:
    """Where the source cites the page, how, and which section."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for match in REFERENCE.finditer(path.read_text(encoding="utf-8")):
            found.append((str(path.relative_to(ROOT)), match[0], match[1] or ""))
    return found


def test_every_reference_in_the_source_has_its_section() -> None:
    cited = references()
    assert len(cited) >= 5
    wrong = [(path, text) for path, text, section in cited if section not in sections()]
    assert wrong == []


def test_every_page_that_the_source_names_is_there_once() -> None:
    pages = [path.name for path in (ROOT / "docs").rglob("*.md")]
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    named = {name for text in sources for name in re.findall(r"\b([a-z]+\.md)\b", text)}
    assert len(named) >= 5
    assert {name for name in named if pages.count(name) != 1} == set()


def test_sections_are_numbered_in_order_and_refer_to_each_other() -> None:
    text = PAGE.read_text(encoding="utf-8")
    numbers = re.findall(r"^### (\d+)\.(\d+) ", text, re.MULTILINE)
    places = [(int(chapter), int(section)) for chapter, section in numbers]
    assert places == sorted(set(places))
    named = {first or second for first, second in INSIDE.findall(text)}
    assert named and named <= sections()
