"""tclose split and tclose verify FOLDER: files, exit codes, JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tclose.cli import app

pytestmark = pytest.mark.slow

POLICY = """
k = 3
[columns]
age = "quasi"
ill = { role = "sensitive", l = 2 }
pay = { role = "sensitive", t = 0.4 }
"""


@pytest.fixture()
def place(tmp_path: Path) -> Path:
    lines = ["age,ill,pay"]
    lines += [f"{20 + at % 30},{['flu', 'ulcer', 'hiv'][at % 3]},{at % 7}" for at in range(40)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def run(*words: str | Path) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.parametrize("form", ["anatomy", "slicing", "projections"])
def test_a_folder_is_written_and_verified(form: str, place: Path) -> None:
    asked = ["split", place / "people.csv", "-p", place / "policy.toml", "--form", form]
    done = run(*asked, "-o", place / "out", "--effort", "0.1", "--set", "ill")
    assert done.exit_code == 0, done.output
    assert "The promise holds" in done.output and "Note:" in done.output
    checked = run("verify", place / "out")
    assert checked.exit_code == 0, checked.output
    own = run("verify", place / "out", "--policy", place / "policy.toml", "--json")
    assert own.exit_code == 0
    assert json.loads(own.stdout)["holds"] is True


def test_json_says_what_was_written(place: Path) -> None:
    done = run("split", place / "people.csv", "-p", place / "policy.toml", "--form", "anatomy",
               "-o", place / "out", "--effort", "0.1", "--json")  # fmt: skip
    told = json.loads(done.stdout)
    assert told["holds"] is True and told["rows"] == 40
    assert set(told["files"]) == {"quasi.csv", "sensitive-ill.csv", "sensitive-pay.csv"}
    assert told["sets"] == [["ill"], ["pay"]]


def test_a_tampered_folder_fails(place: Path) -> None:
    run("split", place / "people.csv", "-p", place / "policy.toml", "--form", "anatomy",
        "-o", place / "out", "--effort", "0.1")  # fmt: skip
    file = place / "out" / "sensitive-ill.csv"
    file.write_text(file.read_text().replace("ulcer", "flu"))
    assert run("verify", place / "out").exit_code == 1


def test_mistakes_are_told_and_nothing_is_written(place: Path) -> None:
    asked = ["split", place / "people.csv", "-p", place / "policy.toml", "-o", place / "out"]
    for more in (["--form", "slice"], ["--form", "anatomy", "--set", "age"],
                 ["--form", "anatomy", "--kind", "xlsx"]):  # fmt: skip
        assert run(*asked, *more).exit_code == 2
    assert not (place / "out").exists()
    run(*asked, "--form", "slicing", "--effort", "0.1")
    for option in ("--certificate", "--population", "--delimiter"):
        assert run("verify", place / "out", option, ";").exit_code == 2, "about single files"
    (place / "empty").mkdir()
    assert run("verify", place / "empty").exit_code == 2
