"""Associations kept: Cramér's V of raw and rebuilt tables, against scipy and loops over rows."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats.contingency import association

import tclose
from tclose.utility.associations import measure_cramers_v

QUASI = ("age", "town", "hue")
RULES = {"columns": {"age": "quasi", "ill": "sensitive", "won": "insensitive"}}


@given(st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=2, max_size=5))
def test_cramers_v_is_that_of_scipy(table: list[list[int]]) -> None:
    expected = association(np.array(table), method="cramer")
    assert measure_cramers_v(np.array(table, dtype=float)) == pytest.approx(expected, abs=1e-9)


def by_hand(pairs: dict[tuple[Any, Any], float], sides: int) -> float:
    """V of a table that is given by its entries."""
    total = sum(pairs.values())
    first, second = defaultdict(float), defaultdict(float)
    for (a, b), count in pairs.items():
        first[a] += count / total
        second[b] += count / total
    square = sum(
        (pairs.get((a, b), 0.0) / total - first[a] * second[b]) ** 2 / (first[a] * second[b])
        for a, b in itertools.product(first, second)
    )
    return math.sqrt(square / (sides - 1)) if sides > 1 else 0.0


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.booleans())
def test_rows_are_spread_evenly_over_what_their_class_covers(
    tiny: Any, measured: Any, seed: int, left_out: bool
) -> None:
    case = tiny(seed, left_out=left_out)
    changes, whole = 0.0, 0.0
    names = (*QUASI, "ill")
    for a, b in itertools.combinations(names, 2):
        raw, rebuilt = defaultdict(float), defaultdict(float)
        for at, row in enumerate(case.rows):
            raw[row[a], row[b]] += 1
            if case.label[at] is None:
                continue
            spread = [case.covered(at, name) if name != "ill" else [row[name]] for name in (a, b)]
            for values in itertools.product(*spread):
                rebuilt[values] += 1 / len(spread[0]) / len(spread[1])
        sides = min(len({row[a] for row in case.rows}), len({row[b] for row in case.rows}))
        v = by_hand(raw, sides)
        changes += abs(v - by_hand(rebuilt, sides))
        whole += v
    found = measured(case)["associations"]
    assert found.numbers["pairs"] == 6
    assert found.overall == pytest.approx(changes / whole if whole else 0.0, abs=1e-9)


def people(rows: int = 400) -> pa.Table:
    """Who is older than 50 wins; ages have 60 values, which count in runs."""
    random = np.random.default_rng(2)
    age = random.integers(20, 80, rows)
    ill = np.where(random.random(rows) < 0.5, "flu", "ulcer")
    return pa.table({"age": age, "ill": ill, "won": np.where(age > 50, "yes", "no")})


def test_a_target_is_one_of_the_columns_and_the_raw_table_keeps_everything() -> None:
    pytest.importorskip("sklearn")
    table = people()
    same = tclose.measure(original=table, release=table, policy=RULES, queries=0, target="won")
    assert same["associations"].overall == 0.0
    assert same["associations"].numbers["pairs"] == 2
    stars = table.set_column(0, "age", [["*"] * len(table)])
    none = tclose.measure(original=table, release=stars, policy=RULES, queries=0, target="won")
    assert none["associations"].overall == pytest.approx(1.0)
    assert none["associations"].numbers["with the target"] == pytest.approx(1.0)
    assert none["associations"].numbers["release, mean"] == pytest.approx(0.0, abs=1e-6)


def test_many_values_count_in_runs_of_neighbours() -> None:
    table = people()
    wide = [f"[{age // 7 * 7}, {age // 7 * 7 + 6}]" for age in table["age"].to_pylist()]
    release = table.set_column(0, "age", [wide])
    rules = {"columns": {"age": "quasi", "ill": "insensitive", "won": "sensitive"}}
    found = tclose.measure(original=table, release=release, policy=rules, queries=0)
    assert 0.0 < found["associations"].overall < 0.5


def test_missing_values_are_a_group_of_their_own() -> None:
    table = pa.table({"age": [20, 20, None, None] * 5, "ill": ["a", "a", None, None] * 5})
    rules = {"columns": {"age": "quasi", "ill": "sensitive"}}
    found = tclose.measure(original=table, release=table, policy=rules, queries=0)
    assert found["associations"].overall == 0.0
    assert found["associations"].numbers["raw, mean"] == pytest.approx(1.0)


def test_one_column_alone_has_no_associations() -> None:
    table = pa.table({"age": [20, 30]})
    found = tclose.measure(
        original=table, release=table, policy={"columns": {"age": "quasi"}}, queries=0
    )
    assert found["associations"].overall is None
