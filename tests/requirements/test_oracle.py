"""Random tables judged by the definitions alone, with thresholds exactly where they lie."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from scripts import load_script

PLACE = Path(__file__).parents[2] / "tools/oracle/judge.py"


@pytest.fixture(scope="module")
def oracle() -> Any:
    return load_script("tools/oracle/judge.py")


def test_it_shares_no_code_with_the_package(oracle: Any) -> None:
    used = [line for line in PLACE.read_text().splitlines() if "import tclose" in line]
    assert all(line.startswith("    ") for line in used), "only where verdicts are asked for"
    assert "from tclose" not in PLACE.read_text()


def test_it_sees_a_wrong_verdict(oracle: Any) -> None:
    case = oracle.make_case(random.Random(5))
    assert oracle.compare_verdicts(case) == []
    key = next(iter(case.expected))
    case.expected[key] = not case.expected[key]
    assert any(key[0] in line for line in oracle.compare_verdicts(case))


def test_thresholds_lie_on_both_sides(oracle: Any) -> None:
    cases = [oracle.make_case(random.Random(seed)) for seed in range(60)]
    for name in ("k-anonymity", "alpha-k-anonymity", "entropy-l-diversity", "delta-disclosure"):
        seen = {case.expected.get((name, of)) for case in cases for of in (None, "s")}
        assert {True, False} <= seen, name


@pytest.mark.slow
def test_no_table_is_accepted_or_refused_wrongly(oracle: Any) -> None:
    for seed in range(1, 2001):
        assert oracle.compare_verdicts(oracle.make_case(random.Random(seed))) == [], seed


@pytest.mark.slow
def test_no_release_breaks_its_promise(oracle: Any) -> None:
    found = [oracle.judge_release(random.Random(f"release {seed}")) for seed in range(1, 61)]
    assert [wrong for wrong in found if wrong] == []
    assert sum(wrong is not None for wrong in found) > 30
