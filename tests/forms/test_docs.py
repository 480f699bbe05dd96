"""The page about forms says what the program does."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "forms.md"


def test_every_form_and_its_files_are_described() -> None:
    from tclose.data.io.records import FORMS

    text = PAGE.read_text(encoding="utf-8")
    assert [form for form in FORMS if f"| `{form}` |" not in text] == []
