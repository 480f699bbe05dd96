"""Other engines judge as the definitions do, at the threshold itself and a hair beyond."""

from __future__ import annotations

import random
from typing import Any

import pytest

from scripts import load_script

# Ibis warns of what it uses itself.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture(scope="module")
def oracle() -> Any:
    return load_script("tools/oracle/judge.py")


def judge(oracle: Any, make: Any, tables: int) -> None:
    for seed in range(1, tables + 1):
        case = oracle.make_case(random.Random(f"engines {seed}"))
        assert oracle.compare_verdicts(case, make) == [], seed


def test_ibis_accepts_and_refuses_no_table_wrongly(oracle: Any) -> None:
    pytest.importorskip("ibis", reason="ibis is not installed")
    judge(oracle, oracle.open_engine("ibis"), 20)


def test_spark_accepts_and_refuses_no_table_wrongly(oracle: Any, spark: Any) -> None:
    judge(oracle, lambda rows: spark.createDataFrame(oracle.as_table(rows)), 4)
