"""`audit --fail-under`: thresholds without a policy, decided exactly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tclose

# A fifth of all are ill; in town A two fifths are: distance exactly 1/5.
ROWS = ["A,ill"] * 2 + ["A,well"] * 3 + ["B,well"] * 5
AUDIT = ("audit", "table.csv", "--quasi", "town", "--sensitive", "state")


@pytest.fixture(autouse=True)
def _table(elsewhere: None) -> None:
    Path("table.csv").write_text("town,state\n" + "\n".join(ROWS) + "\n")


@pytest.mark.parametrize(
    ("thresholds", "code"),
    [
        ("k=5,t=0.2", 0),
        ("k=6", 1),
        ("t=0.19999999999999999999", 1),
        ("t=1/5", 0),
        (" k = 5 , t = 0.2 ", 0),
        ("l=2", 1),
        ("alpha=1", 0),
    ],
)
def test_the_exit_code_is_that_of_a_policy(
    run: Callable[..., Any], thresholds: str, code: int
) -> None:
    result = run(*AUDIT, "--fail-under", thresholds)
    assert result.exit_code == code, result.output


def test_the_answer_is_that_of_the_policy_with_these_thresholds() -> None:
    table = pa.table({"town": ["A"] * 5 + ["B"] * 5, "state": [r[2:] for r in ROWS]})
    policy = {"k": 5, "columns": {"town": "quasi", "state": {"role": "sensitive", "t": "1/5"}}}
    named = {"quasi": "town", "sensitive": "state"}
    expected = tclose.audit(table, policy).requirements
    for thresholds in ("k=5,t=1/5", {"k": 5, "t": "1/5"}):
        assert tclose.audit(table, **named, fail_under=thresholds).requirements == expected
    assert tclose.audit(table, **named).holds is None


@pytest.mark.parametrize(
    ("thresholds", "words"),
    [
        ("k", "k=5,t=0.2"),
        ("k=", "k=5,t=0.2"),
        ("k=5,k=6", "at most once"),
        ("tt=0.2", "did you mean 't'"),
        ("t=2", "[0, 1]"),
        ("k=many", "a whole number is needed"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(
    run: Callable[..., Any], thresholds: str, words: str
) -> None:
    result = run(*AUDIT, "--fail-under", thresholds)
    assert result.exit_code == 2
    assert words in result.stderr


def test_it_needs_a_sensitive_attribute_and_no_policy(run: Callable[..., Any]) -> None:
    result = run("audit", "table.csv", "--quasi", "town", "--fail-under", "k=5,t=0.2")
    assert result.exit_code == 2 and "none is named" in result.stderr
    assert run("audit", "table.csv", "--quasi", "town", "--fail-under", "k=5").exit_code == 0
    Path("policy.toml").write_text('k = 2\n[columns]\ntown = "quasi"\nstate = "sensitive"\n')
    result = run("audit", "table.csv", "--policy", "policy.toml", "--fail-under", "k=5")
    assert result.exit_code == 2 and "not both" in result.stderr
