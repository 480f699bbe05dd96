"""The page about reports: its code runs, and it names every section."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "report.md"


def test_the_code_on_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, str(PAGE), "exec"), {})
    assert sorted(one.name for one in tmp_path.iterdir()) == ["audit.html", "report.html"]


def test_the_page_names_every_section_of_a_report(pages: dict[str, Path]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for kind in ("release", "audit", "verify"):
        page = pages[f"{kind}-external"].read_text(encoding="utf-8")
        for title in re.findall(r"<h2[^>]*>([^<]*)</h2>", page):
            assert f"| {title} |" in text
