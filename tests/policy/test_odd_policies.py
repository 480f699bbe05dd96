"""Policies that nobody means: each is refused with a message, at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tclose

TABLE = pa.table({"q": ["a", "a"], "s": ["x", "y"], "u": ["x", "y"]})
DIGITS = "9" * 5000
REST = "[columns]\nq = 'quasi'\ns = 'insensitive'\nu = 'insensitive'\n"
FILES = {
    "whole number": ("p.toml", f"k = {DIGITS}\n{REST}", "thousands of digits"),
    "whole number in JSON": ("p.json", f'{{"k": {DIGITS}}}', "thousands of digits"),
    "fraction": (
        "p.toml",
        f"[columns]\nq = 'quasi'\ns = {{ role = 'sensitive', t = 0.{DIGITS} }}\nu = 'insensitive'",
        "columns.s.t",
    ),
    "prefix": (
        "p.toml",
        f"[columns]\nq = {{ role = 'quasi', hierarchy = {{ prefix = [1{'0' * 21}] }} }}\n",
        "prefix",
    ),
    "deep table": ("p.toml", f"{REST}[{'.'.join('a' * 3000)}]\nb = 1\n", "nested too deeply"),
    "deep key": ("p.toml", f"{'.'.join('a' * 3000)} = 1\n{REST}", "nested too deeply"),
    "key twice": ("p.json", '{"k": 2, "columns": {}, "k": 100}', "a key occurs twice"),
    "column twice": ("p.json", '{"columns": {"q": "quasi", "q": "sensitive"}}', "occurs twice"),
    "no number": ("p.json", '{"k": NaN}', "not valid JSON"),
    "deep list": ("p.json", f'{{"k": {"[" * 3000}{"]" * 3000}}}', "nested too deeply"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_nobody_means_are_refused(name: str, tmp_path: Path) -> None:
    file, text, said = FILES[name]
    (tmp_path / file).write_text(text)
    with pytest.raises(tclose.PolicyError) as refused:
        tclose.audit(TABLE, tmp_path / file)
    assert said in str(refused.value) and len(str(refused.value)) < 2000


@pytest.mark.parametrize("again", [["s", "u"], ["u", "s"]])
def test_two_promises_about_the_same_columns_are_refused(again: list[str]) -> None:
    joint: list[dict[str, Any]] = [
        {"columns": ["s", "u"], "t": "1/2"},
        {"columns": again, "t": "1/4"},
    ]
    columns = {"q": "quasi", "s": "sensitive", "u": "sensitive"}
    with pytest.raises(tclose.PolicyError, match="two requirements are about"):
        tclose.audit(TABLE, {"joint": joint, "columns": columns})
    joint[1]["distance"] = "max"
    assert tclose.audit(TABLE, {"joint": joint, "columns": columns}).holds is not None


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tclose.Policy(k=3), "columns: is required"),
        (lambda: tclose.Policy(columns={"q": "kwasi"}), "columns.q.role: unknown role"),
        (lambda: tclose.Policy(columns={"q": "quasi"}, kk=3), "did you mean 'k'"),
        (lambda: tclose.Policy(columns={"s": "sensitive"}), "no column is a quasi-identifier"),
        (lambda: tclose.Column(role="quasi", ordr=["Smith"]), "did you mean 'order'"),
        (lambda: tclose.Column(role="sensitive", t="Smith"), "t: "),
    ],
)
def test_parts_made_in_python_are_refused_as_files_are(make: Any, said: str) -> None:
    with pytest.raises(tclose.PolicyError) as refused:
        make()
    assert said in str(refused.value)
    assert "Smith" not in str(refused.value) and "pydantic" not in str(refused.value)
    assert refused.value.__suppress_context__


def test_what_pydantic_itself_refuses_is_not_repeated() -> None:
    wrong = {"columns": {"q": "quasi", "s": {"role": "sensitive", "order": {"Smith": 1}}}}
    with pytest.raises(ValueError, match="order") as refused:
        tclose.Policy.model_validate(wrong)
    assert "Smith" not in str(refused.value)


def test_a_part_made_in_python_is_the_same_as_one_from_a_file() -> None:
    columns = {"q": "quasi", "s": tclose.Column(role="sensitive", t="1/5")}
    assert tclose.Policy(k=3, columns=columns) == tclose.Policy.build(columns, k=3)
