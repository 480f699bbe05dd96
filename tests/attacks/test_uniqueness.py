"""Estimates of population uniques, on populations of known truth; special uniques, counted."""

from __future__ import annotations

import random
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.verify.special_uniques import find_special_uniques
from tclose.verify.uniqueness import estimate_uniques, estimate_zayatz


def grow_pitman(alpha: float, theta: float, people: int, seed: int) -> np.ndarray:
    """A population by Pitman's own rule: each person founds a class or joins one."""
    draw = random.Random(seed)
    label, sizes = [0], [1]
    for m in range(1, people):
        if draw.random() < (theta + len(sizes) * alpha) / (theta + m):
            label.append(len(sizes))
            sizes.append(1)
            continue
        while True:  # somebody by chance, whose class is taken with (size - α)/size
            joined = label[draw.randrange(m)]
            if draw.random() < (sizes[joined] - alpha) / sizes[joined]:
                break
        label.append(joined)
        sizes[joined] += 1
    return np.array(label)


def make_slide_negative_binomial(classes: int, alpha: float, beta: float) -> np.ndarray:
    sizes = 1 + np.random.default_rng(5).negative_binomial(alpha, 1 - beta, classes)
    return np.repeat(np.arange(classes), sizes)


def make_zipf(people: int) -> np.ndarray:
    chance = 1 / np.arange(1, people // 2)
    return np.random.default_rng(7).choice(len(chance), people, p=chance / chance.sum())


def draw_sizes(population: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    count = round(len(population) * fraction)
    drawn = np.random.default_rng(seed).choice(population, count, replace=False)
    sizes = np.bincount(drawn)
    return sizes[sizes > 0]


def count_unique(population: np.ndarray) -> int:
    return int(np.count_nonzero(np.bincount(population) == 1))


@pytest.mark.parametrize(("alpha", "theta"), [(0.6, 200), (0.2, 3000)])
@pytest.mark.parametrize("fraction", [0.05, 0.1])
def test_small_samples_of_pitmans_populations(alpha: float, theta: float, fraction: float) -> None:
    population = grow_pitman(alpha, theta, 20_000, seed=3)
    found = estimate_uniques(draw_sizes(population, fraction, 1), len(population))
    assert found.model == "pitman"
    assert found.estimate == pytest.approx(count_unique(population), rel=0.15)


@pytest.mark.parametrize(("classes", "alpha", "beta"), [(8000, 0.5, 0.8), (3000, 2, 0.7)])
@pytest.mark.parametrize("fraction", [0.5, 0.8])
def test_large_samples_of_slide_negative_binomial_populations(
    classes: int, alpha: float, beta: float, fraction: float
) -> None:
    population = make_slide_negative_binomial(classes, alpha, beta)
    found = estimate_uniques(draw_sizes(population, fraction, 1), len(population))
    assert found.model == "slide_negative_binomial"
    assert found.estimate == pytest.approx(count_unique(population), rel=0.15)


def test_large_samples_of_any_population_by_zayatz() -> None:
    population = make_zipf(20_000)
    found = estimate_uniques(draw_sizes(population, 0.8, 1), len(population))
    assert found.zayatz == pytest.approx(count_unique(population), rel=0.1)
    rough = estimate_uniques(draw_sizes(population, 0.05, 1), len(population))
    assert rough.estimate < 2.5 * count_unique(population)  # no model fits: only a magnitude


def test_zayatz_is_bayes_rule_in_whole_numbers() -> None:
    spectrum, people = {1: 4, 2: 3, 7: 1}, 60
    rows = 17
    h = {j: j * comb(people - j, rows - 1) / comb(people, rows) for j in spectrum}
    share = 4 * h[1] / sum(times * h[j] for j, times in spectrum.items())
    assert estimate_zayatz(spectrum, people) == pytest.approx(4 * share * people / rows)


@pytest.mark.parametrize("fraction", [0.1, 0.5])
def test_the_choice_is_that_of_dankar(fraction: float) -> None:
    population = grow_pitman(0.4, 50, 5_000, seed=2)
    found = estimate_uniques(draw_sizes(population, fraction, 4), len(population))
    by_name = {
        "pitman": found.pitman,
        "zayatz": found.zayatz,
        "slide_negative_binomial": found.slide_negative_binomial,
    }
    if fraction <= 0.1:
        assert found.model == "pitman"
    else:
        others = [v for n, v in by_name.items() if n != "pitman" and v is not None]
        assert found.estimate == min(others)


def test_a_whole_population_is_counted_and_not_estimated() -> None:
    found = estimate_uniques(np.array([1, 1, 3]), 5)
    assert (found.zayatz, found.pitman, found.slide_negative_binomial) == (2, 2, 2)
    assert estimate_uniques(np.array([2, 3]), 50).estimate == 0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(0, 3000))
def test_every_sample_has_an_estimate(sizes: list[int], more: int) -> None:
    found = estimate_uniques(np.array(sizes), sum(sizes) + more)
    assert 0 <= found.estimate <= found.population_size * (1 + 1e-9)
    assert 0 <= found.rows_at_risk <= found.sample_uniques


def find_minimal_sets(rows: list[tuple[int, ...]], at: int, most: int) -> list[tuple[int, ...]]:
    """The definition: sets of columns that make a row unique, no part of which does."""
    columns = range(len(rows[0]))

    def is_unique(some: tuple[int, ...]) -> bool:
        mine = [rows[at][c] for c in some]
        return sum([row[c] for c in some] == mine for row in rows) == 1

    sets = [some for size in range(1, most + 1) for some in combinations(columns, size)]
    unique = [some for some in sets if is_unique(some)]
    return [some for some in unique if not any(set(part) < set(some) for part in unique)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=1, max_size=14), st.integers(1, 3))
def test_special_uniques_are_those_of_the_definition(rows: list[Any], most: int) -> None:
    distinct = sorted(set(rows))
    counts = np.array([rows.count(row) for row in distinct])
    found = find_special_uniques(np.array(distinct), counts, most)
    for place, row in enumerate(distinct):
        sets = find_minimal_sets(rows, rows.index(row), most)
        assert found.fewest[place] == min(map(len, sets), default=0)
        score = sum(prod(4 - i for i in range(len(some), most + 1)) for some in sets)
        assert found.score[place] == score


RULES: dict[str, Any] = {
    "k": 2,
    "population_size": 1000,
    "columns": {"age": "quasi", "town": "quasi", "job": "quasi", "ill": "sensitive"},
}


def people(count: int) -> pa.Table:
    draw = np.random.default_rng(1)
    return pa.table(
        {
            "age": draw.integers(20, 60, count),
            "town": draw.integers(0, 8, count),
            "job": draw.integers(0, 5, count),
            "ill": draw.choice(["flu", "ulcer"], count),
        }
    )


def test_audit_attack_and_report_tell_the_estimate() -> None:
    table = people(100)
    audit = tclose.audit(table, RULES)
    sizes = table.group_by(["age", "town", "job"]).aggregate([([], "count_all")])["count_all"]
    expected = estimate_uniques(sizes.to_numpy(), 1000)
    assert audit.population_uniques == expected
    assert any(f"{expected.estimate:,.0f} are estimated" in note for note in audit.notes)
    assert audit.to_json()["population_uniques"]["model"] == "pitman"
    (found,) = tclose.attack(table, RULES).of("population uniqueness")
    assert found.affected == round(expected.rows_at_risk)
    assert found.numbers["by Zayatz"] == expected.zayatz
    assert "are estimated to be unique" in str(tclose.audit_report(audit).to_json())
    without = {key: value for key, value in RULES.items() if key != "population_size"}
    assert tclose.audit(table, without).population_uniques is None


def test_a_population_smaller_than_the_table_is_refused() -> None:
    with pytest.raises(tclose.PolicyError, match="population_size"):
        tclose.audit(people(100), {**RULES, "population_size": 99})


def test_a_planted_special_unique_is_the_worst() -> None:
    table = people(200)
    odd = pa.table({"age": [99], "town": [9], "job": [9], "ill": ["flu"]}, schema=table.schema)
    report = tclose.attack(pa.concat_tables([table, odd]), RULES)
    (found,) = report.of("special uniques")
    classes = tclose.audit(pa.concat_tables([table, odd]), RULES).classes
    assert found.classes[0] == classes  # the largest age comes last
    assert found.numbers["rows unique by 1 column"] >= 1


def test_an_audit_counts_special_uniques_beside_its_estimates() -> None:
    table = people(100)
    audit = tclose.audit(table, RULES)
    rows = list(zip(*(table[name].to_pylist() for name in ("age", "town", "job")), strict=True))
    sets = [find_minimal_sets(rows, at, 2) for at in range(100)]
    fewest = [min(map(len, some), default=0) for some in sets]
    expected = (fewest.count(1), fewest.count(2))
    highest = max(sum(prod(3 - i for i in range(len(one), 3)) for one in some) for some in sets)
    assert audit.special_uniques is not None and sum(expected) > 0
    assert audit.special_uniques.rows == expected
    assert audit.special_uniques.highest_score == highest
    assert f"{sum(expected)} rows are unique in 2 columns or fewer" in " ".join(audit.notes)
    assert audit.to_json()["special_uniques"] == {"rows": expected, "highest_score": highest}
    without = {key: value for key, value in RULES.items() if key != "population_size"}
    assert tclose.audit(table, without).special_uniques is None
