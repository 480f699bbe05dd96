"""The experiments against every node of the lattice, enumerated and counted by other code."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tclose.reproduce.census import open_census
from tclose.reproduce.experiments import Experiments, PaperRun, Schedule, run_experiments

SMALL = Schedule(sizes=(2, 4, 7), fixed=3, parameters=(2, 3), repeats=1)


@pytest.fixture(scope="module")
def found(census: Any) -> Experiments:
    return run_experiments(open_census(census.folder), SMALL)


def in_order(run: PaperRun, names: tuple[str, ...]) -> dict[tuple[int, ...], tuple[int, ...]]:
    tables = {}
    for table in run.tables:
        level = dict(zip(run.columns, table.levels, strict=True))
        node = tuple(level[name] for name in names[: run.size])
        tables[node] = (table.classes, table.squares, table.exposed, table.exposable)
    return tables


@pytest.mark.slow
def test_every_run_finds_the_minimal_tables_that_brute_force_finds(
    found: Experiments, census: Any, by_force: Any
) -> None:
    names = ("age", "workclass", "education", "native-country", "marital-status", "race", "sex")
    sizes = []
    for run in found.runs:
        expected = census.minimal(by_force(run.measure.kind, run.parameter), run.size)
        told = {node: dataclasses.astuple(one) for node, one in expected.items()}
        assert in_order(run, names) == told, run.measure.title
        rows = len(census.rows)
        assert run.vulnerable == sum(one.exposed > 0 for one in expected.values())
        assert run.worst == max((one.exposed for one in expected.values()), default=0)
        if expected:
            assert run.discernibility == min(one.squares for one in expected.values())
            least = min(rows / one.classes for one in expected.values())
            assert run.group_size == pytest.approx(least, abs=1e-12)
        sizes.append(len(expected))
    assert max(sizes) > 5, "the made-up table is worth searching"


def test_the_attack_finds_something_and_not_everything(found: Experiments) -> None:
    entropy, recursive = found.attacks
    assert (entropy.measure.title, recursive.measure.title) == (
        "entropy 2-diversity",
        "recursive (4, 4)-diversity",
    )
    assert 0 < entropy.vulnerable < len(entropy.tables)
    assert all(table.exposed <= run.rows for run in found.runs for table in run.tables)


def test_every_size_and_parameter_that_was_asked_for_is_run(found: Experiments) -> None:
    assert [(run.size, run.parameter) for run in found.by_size[::5]] == [(2, 3), (4, 3), (7, 3)]
    assert [(run.size, run.parameter) for run in found.by_parameter[::5]] == [(7, 2), (7, 3)]
    assert len({run.measure.kind for run in found.by_size[:5]}) == 5
    assert all(run.seconds > 0 and run.judged > 0 for run in found.runs)


def test_the_columns_are_described_as_they_are(found: Experiments) -> None:
    here = {one.stated.column: (one.values, one.height) for one in found.columns}
    assert here["age"] == (6, 3) and here["sex"] == (2, 2) and here["occupation"] == (6, 3)
    assert sorted(values for values, _ in found.groups) == [1, 2, 3]
    assert sum(people for _, people in found.groups) == found.rows == 300


@pytest.mark.slow
def test_on_the_adult_table_closeness_costs_and_the_order_is_the_paper_s(adult_dir: Path) -> None:
    plan = Schedule(sizes=(7,), fixed=5, parameters=(5,), repeats=1)
    found = run_experiments(open_census(adult_dir), plan)
    plain, entropy, _, close, closer = found.by_parameter
    assert found.rows == 30_162
    assert plain.discernibility < close.discernibility < closer.discernibility
    assert plain.group_size < close.group_size < closer.group_size
    assert entropy.discernibility >= plain.discernibility
    assert closer.vulnerable == close.vulnerable == 0
    assert found.attacks[0].vulnerable > 0
