"""The page about reports names every section."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "report.md"


def test_the_page_names_every_section_of_a_report(pages: dict[str, Path]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for kind in ("release", "audit", "verify"):
        page = pages[f"{kind}-external"].read_text(encoding="utf-8")
        for title in re.findall(r"<h2[^>]*>([^<]*)</h2>", page):
            assert f"| {title} |" in text
