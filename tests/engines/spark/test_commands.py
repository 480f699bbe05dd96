"""`--engine spark`: every command reads and writes as with DuckDB, and says as little."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tclose
from tclose.cli import app
from tclose.sample import write_hospital


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ward")
    write_hospital(folder, rows=300)
    return folder


@pytest.fixture(autouse=True)
def inside(ward: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(ward)
    yield


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


SEARCH = ("--method", "mondrian")
COMMANDS = {
    "audit": ("audit", "hospital.csv", "-p", "policy.toml", "--json"),
    "named": ("audit", "hospital.csv", "--quasi", "sex", "--sensitive", "diagnosis", "--json"),
    "explain": ("explain", "hospital.csv", "-p", "policy.toml", "--class-number", "3", "--json"),
    "lattice": (
        "lattice",
        "hospital.csv",
        "-p",
        "policy.toml",
        "--effort",
        "0.2",
        "--json",
        "--force",
    ),
    "check": ("policy", "check", "policy.toml", "hospital.csv"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_say_the_same(spark: Any, name: str) -> None:
    ours, theirs = run(*COMMANDS[name], "--engine", "spark"), run(*COMMANDS[name])
    assert ours.exit_code == theirs.exit_code and ours.exit_code in (0, 1), ours.output
    assert ours.output.replace(" --engine spark", "") == theirs.output


def test_a_policy_is_drafted_alike(spark: Any, ward: Path) -> None:
    texts = []
    for engine in ("spark", "duckdb"):
        drafted = run("init", "hospital.csv", "--output", f"{engine}.toml", "--engine", engine)
        assert drafted.exit_code == 0, drafted.output
        texts.append((ward / f"{engine}.toml").read_text())
    assert texts[0] == texts[1]


def test_a_release_is_made_verified_measured_attacked_and_applied(spark: Any, ward: Path) -> None:
    with_spark = ("-p", "policy.toml", "--engine", "spark")
    made = run(
        "anonymize", "hospital.csv", *with_spark, *SEARCH, "-o", "out.parquet",
        "--certificate", "paper.json", "--plan", "plan.json", "--report", "report.html",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    assert (ward / "out.parquet" / "_SUCCESS").exists() and (ward / "report.html").exists()
    for engine in ("spark", "duckdb"):
        again = run("verify", "out.parquet", "--certificate", "paper.json", "--engine", engine)
        assert again.exit_code == 0 and "refuted" not in again.output, again.output
    applied = run("apply", "plan.json", "hospital.csv", *with_spark, "-o", "again.csv")
    assert applied.exit_code == 0, applied.output
    assert run("verify", "again.csv", *with_spark).exit_code == 0
    measured = run(
        "measure", "out.parquet", "--original", "hospital.csv", *with_spark, "--queries", "10",
        "--json",
    )  # fmt: skip
    assert measured.exit_code == 0 and json.loads(measured.output), measured.output
    assert run("attack", "out.parquet", *with_spark).exit_code in (0, 1)
    taken = run("anonymize", "hospital.csv", *with_spark, *SEARCH, "-o", "out.parquet")
    assert taken.exit_code == 2 and "Error" in taken.output
    assert not [one.name for one in ward.iterdir() if one.name.startswith(".")]


def test_an_unknown_engine_is_refused() -> None:
    refused = run("audit", "hospital.csv", "-p", "policy.toml", "--engine", "sparc")
    assert refused.exit_code == 2 and "did you mean 'spark'" in refused.output


def test_a_session_of_our_own_is_quiet(has_spark: None, ward: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(tclose.__file__).parents[1])}
    environment.pop("PYSPARK_PYTHON", None)
    made = subprocess.run(
        [sys.executable, "-m", "tclose", "anonymize", "hospital.csv", "-p", "policy.toml",
         *SEARCH, "-o", "quiet.parquet", "--engine", "spark", "--memory", "1GB"],
        cwd=ward, env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert not made.stderr.strip() and "WARN" not in made.stdout
    assert (ward / "quiet.parquet").is_dir()
