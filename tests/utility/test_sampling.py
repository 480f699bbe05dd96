"""Measures that take long try some rows where the effort is not enough for all, and say so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import tclose
from tclose.cli import app
from tclose.errors import UsageError
from tclose.utility import learning
from tclose.utility.measures import COVERED
from tclose.utility.queries import COMPARED, FEWEST

RULES: dict[str, Any] = {
    "columns": {
        "age": "quasi",
        "town": "quasi",
        "ill": {"role": "sensitive", "accept": "made up"},
        "visits": "insensitive",
    }
}


def make_pair(rows: int = 600) -> tuple[pa.Table, pa.Table]:
    """People, and their release: ages in tens, towns in halves."""
    random = np.random.default_rng(1)
    age, town = random.integers(20, 80, rows), random.integers(0, 20, rows)
    kept = {
        "ill": random.choice(["flu", "cough", "ulcer"], rows).tolist(),
        "visits": random.integers(0, 3, rows).tolist(),
    }
    raw = pa.table({"age": age, "town": [f"t{at:02d}" for at in town], **kept})
    halves = ["{" + ", ".join(f"t{at:02d}" for at in range(low, low + 10)) + "}" for low in (0, 10)]
    tens = [f"[{ten}, {ten + 9}]" for ten in (age // 10 * 10).tolist()]
    return raw, pa.table({"age": tens, "town": [halves[at // 10] for at in town], **kept})


def measure(**asked: Any) -> Any:
    raw, release = make_pair()
    return tclose.measure(original=raw, release=release, policy=RULES, **asked)


def test_enough_effort_tries_all_rows_and_all_queries() -> None:
    found = measure(queries=300)
    assert found["reconstruction"].note == found["query-error"].note == ""
    assert found["query-error"].numbers["queries"] == 300


def test_little_effort_draws_rows_by_the_seed_and_says_how_many() -> None:
    whole = measure(queries=0)["reconstruction"].overall
    few = [measure(queries=0, effort=400 * COVERED, seed=seed) for seed in (1, 1, 2, 3, 4, 5, 6)]
    drawn = [each["reconstruction"] for each in few]
    assert drawn[0] == drawn[1] and drawn[0].overall != drawn[2].overall
    for seed, each in zip((1, 1, 2, 3, 4, 5, 6), drawn, strict=True):
        words = each.note.split()
        assert each.note.endswith(f"of 600 rows, drawn by chance (seed {seed}).")
        assert 20 < int(words[2]) < 500
    assert abs(np.mean([each.overall for each in drawn[1:]]) - whole) < 0.1 * whole
    # what reads every row anyway is not drawn
    assert few[0]["loss"] == measure(queries=0)["loss"]


def test_little_effort_asks_fewer_queries_but_not_too_few() -> None:
    error = measure(queries=500, effort=600 * COMPARED * 2 * 300)["query-error"]
    assert FEWEST < error.numbers["queries"] < 500
    assert error.note == f"{int(error.numbers['queries'])} of 500 queries used"
    assert measure(queries=500, effort=0.0)["query-error"].numbers["queries"] == FEWEST
    assert measure(queries=7, effort=0.0)["query-error"].note == ""


def test_models_say_from_how_many_rows_they_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    assert "Tried on" not in measure(queries=0, target="visits")["learning"].note
    monkeypatch.setattr(learning, "MOST_ROWS", 200)
    assert "Tried on 200 of 600 rows" in measure(queries=0, target="visits")["learning"].note


def test_measures_can_be_left_out_and_progress_counts_the_others() -> None:
    steps: list[str] = []
    found = measure(without=["reconstruction", "query-error"], progress=steps.append)
    names = [each.name for each in found.measures]
    assert "loss" in names and not {"reconstruction", "query-error"} & set(names)
    told = [step for step in steps if step.startswith("measuring")]
    assert told[0].endswith(f"1 of {len(names)}") and len(told) == len(names)
    with pytest.raises(UsageError, match="unknown measure: 'los'"):
        measure(without=["los"])


def test_the_command_samples_and_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    raw, release = make_pair()
    raw.to_pandas().to_csv("raw.csv", index=False)
    release.to_pandas().to_csv("release.csv", index=False)
    Path("policy.json").write_text(json.dumps(RULES), encoding="utf-8")
    command = "measure release.csv --original raw.csv -p policy.json --without entropy"
    said = CliRunner().invoke(app, [*command.split(), "--effort", "0.000001"])
    assert said.exit_code == 0, said.output
    assert "drawn by chance (seed 1)" in " ".join(said.output.split())
    assert "entropy" not in said.output
