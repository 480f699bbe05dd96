"""The page about forms says what the program does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "forms.md"


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    assert blocks
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), {})
    assert "projection" in capsys.readouterr().out


def test_every_form_and_its_files_are_described() -> None:
    from tclose.data.io.records import FORMS

    text = PAGE.read_text(encoding="utf-8")
    assert [form for form in FORMS if f"| `{form}` |" not in text] == []
