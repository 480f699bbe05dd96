"""Other engines judge as the definitions do, at the threshold itself and a hair beyond."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from typing import Any

import pytest

# Ibis warns of what it uses itself.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
PLACE = Path(__file__).parents[2] / "tools/oracle/judge.py"


@pytest.fixture(scope="module")
def oracle() -> Any:
    spec = importlib.util.spec_from_file_location("oracle", PLACE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["oracle"] = module
    spec.loader.exec_module(module)
    return module


def judge(oracle: Any, make: Any, tables: int) -> None:
    for seed in range(1, tables + 1):
        case = oracle.make_case(random.Random(f"engines {seed}"))
        assert oracle.compare_verdicts(case, make) == [], seed


def test_ibis_accepts_and_refuses_no_table_wrongly(oracle: Any) -> None:
    pytest.importorskip("ibis", reason="ibis is not installed")
    judge(oracle, oracle.open_engine("ibis"), 20)


def test_spark_accepts_and_refuses_no_table_wrongly(oracle: Any, spark: Any) -> None:
    judge(oracle, lambda rows: spark.createDataFrame(oracle.as_table(rows)), 4)
