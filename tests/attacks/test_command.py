"""`tclose attack` and `tclose measure` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tclose.cli import app

POLICY = """
k = 2
[columns]
age = "quasi"
row = "insensitive"
[columns.ill]
role = "sensitive"
t = 0.5
"""
ORIGINAL = [("20", "flu"), ("21", "ulcer"), ("30", "flu"), ("31", "flu"), ("32", "ulcer")]
RELEASE = [("[20, 21]", "flu"), ("[20, 21]", "ulcer"), ("[30, 31]", "flu"), ("[30, 31]", "flu")]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.toml").write_text(POLICY, encoding="utf-8")
    for name, rows in (("patients.csv", ORIGINAL), ("release.csv", RELEASE)):
        lines = [f"{at};{age};{ill}\n" for at, (age, ill) in enumerate(rows)]
        Path(name).write_text("row;age;ill\n" + "".join(lines), encoding="utf-8")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_attacks_are_told_in_words() -> None:
    result = run("attack", "release.csv", "--policy", "policy.toml")
    assert result.exit_code == 0, result.stderr
    assert "homogeneity" in result.stdout and "2 rows" in result.stdout
    assert "Not tried" in result.stdout and "given with --original" in result.stdout
    assert "flu" not in result.stdout and "[30, 31]" not in result.stdout


def test_attacks_as_json_use_every_table_that_is_given() -> None:
    words = ["--original", "patients.csv", "--population", "patients.csv", "--other", "release.csv"]
    result = run("attack", "release.csv", "-p", "policy.toml", *words, "--key", "row", "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert {one["attack"] for one in told["findings"]} >= {
        "journalist", "order", "linkage", "minimality", "deFinetti", "composition",
    }  # fmt: skip
    assert told["not_tried"] == []
    assert "flu" not in result.stdout


def test_utility_is_told_measure_by_measure() -> None:
    result = run(
        "measure", "release.csv", "--original", "patients.csv", "--policy", "policy.toml",
        "--queries", "20",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    for word in ("loss", "discernibility", "query-error", "1 left out"):
        assert word in result.stdout


def test_utility_as_json_by_a_key() -> None:
    result = run(
        "measure", "release.csv", "--original", "patients.csv", "-p", "policy.toml",
        "--queries", "0", "--key", "row", "--json",
    )  # fmt: skip
    told = json.loads(result.stdout)
    assert told["row_by_row"] is True and told["left_out"] == 1
    assert [one["name"] for one in told["measures"]][:2] == ["loss", "ncp"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["attack", "release.csv"], "--policy"),
        (["measure", "release.csv", "-p", "policy.toml"], "--original"),
        (["attack", "release.csv", "-p", "policy.toml", "--other", "patients.csv"], "key"),
    ],
)
def test_what_is_lacking_is_named(words: list[str], says: str) -> None:
    result = run(*words)
    assert result.exit_code == 2 and says in result.stderr
    assert "Traceback" not in result.stderr
