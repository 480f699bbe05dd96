"""The page about the transformer keeps its word."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from tclose.learn import Anonymizer

ROOT = Path(__file__).resolve().parents[2]

PAGE = (ROOT / "docs" / "reference" / "learn.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_its_code_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    exec(compile(code, "docs/reference/learn.md", "exec"), {"__name__": "docs"})
    shown = capsys.readouterr().out
    (named,) = re.findall(r"intervals such as (\[.*?\])", code)
    assert named in shown and "k-anonymity: 5 required" in shown


def test_every_parameter_is_told_on_the_page_and_in_the_docstring() -> None:
    told = inspect.getdoc(Anonymizer) or ""
    for name in inspect.signature(Anonymizer).parameters:
        assert re.search(rf"^(\w+, )*{name}\b.* : ", told, flags=re.MULTILINE), name
        if name not in ("method", "effort"):
            assert re.search(rf"`[^`]*\b{name}\b[^`]*`|\b{name}\b", PAGE), name
