"""Readings of what Li 2007 does not print: by enumeration on a made-up folder, and on Adult."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tclose.cli import app
from tclose.errors import PolicyError
from tclose.report.document import Table
from tclose.reproduce.census import Reading2007, open_census
from tclose.reproduce.experiments import Schedule
from tclose.reproduce.readings import (
    HEADINGS,
    describe_readings,
    list_groupings,
    run_reading,
    try_groupings,
)

QUASI = ("age", "workclass", "education", "native-country", "marital-status", "race", "sex")
SMALL = Schedule(sizes=(), parameters=(2, 3), repeats=0)


def partitions(values: int) -> set[frozenset[frozenset[int]]]:
    """All ways into three groups that differ by two at most, from all labellings."""
    found = set()
    for label in itertools.product(range(3), repeat=values):
        groups = [frozenset(at for at in range(values) if label[at] == g) for g in range(3)]
        sizes = [len(group) for group in groups]
        if min(sizes) > 0 and max(sizes) - min(sizes) <= 2:
            found.add(frozenset(groups))
    return found


@pytest.mark.parametrize("values", [3, 5, 6, 7])
def test_every_grouping_of_roughly_equal_size_is_listed_once(values: int) -> None:
    listed = [
        frozenset(frozenset(at for at in range(values) if mask >> at & 1) for mask in row)
        for row in list_groupings(values).tolist()
    ]
    assert len(listed) == len(set(listed)) and set(listed) == partitions(values)


@pytest.mark.slow
def test_groupings_expose_what_enumeration_says(census: Any, by_force: Any) -> None:
    trees: dict[str, dict[str, list[str]]] = {}
    for name in QUASI:
        lines = (census.folder / f"adult_hierarchy_{name}.csv").read_text().splitlines()
        trees[name] = {line.split(";")[0]: line.split(";") for line in lines}
    works = sorted({row["occupation"] for row in census.rows})
    tables = []
    for node in census.minimal(by_force("entropy l-diversity", 2)):
        classes: dict[tuple[str, ...], Counter[str]] = {}
        for row in census.rows:
            key = tuple(
                trees[name][row[name]][level] for name, level in zip(QUASI, node, strict=True)
            )
            classes.setdefault(key, Counter())[row["occupation"]] += 1
        tables.append(list(classes.values()))
    most_tables = most_rows = 0
    for grouping in partitions(len(works)):
        sets = [{works[at] for at in group} for group in grouping]
        exposed = [
            sum(c.total() for c in classes if any(set(c) <= group for group in sets))
            for classes in tables
        ]
        most_tables = max(most_tables, sum(rows > 0 for rows in exposed))
        most_rows = max(most_rows, *exposed)
    found = try_groupings(open_census(census.folder))
    assert (found.vulnerable, found.worst) == (most_tables, most_rows)
    assert found.groupings == len(partitions(len(works)))


def test_a_reading_changes_what_it_names_and_nothing_else(census: Any) -> None:
    usual = open_census(census.folder)
    ordered = usual.read_as(Reading2007("ordered"))
    attribute = ordered.bound.attributes["occupation"]
    assert list(attribute.labels) == sorted(attribute.labels)
    assert attribute.distance()[0].name == "ordered"
    assert ordered.columns == usual.columns and ordered.group_sizes == usual.group_sizes
    with pytest.raises(PolicyError, match="not in the hierarchy"):
        usual.read_as(Reading2007(groups="5-5-4"))  # these are occupations of the census only


def test_no_table_of_readings_is_wider_than_a_page() -> None:
    tables = [part for part in describe_readings([]).parts if isinstance(part, Table)]
    assert max(len(table.headings) for table in tables) <= 9
    assert {name for table in tables for name in table.headings} == set(HEADINGS)
    assert all(table.headings[:3] == HEADINGS[:3] for table in tables)


@pytest.mark.slow
def test_the_command_puts_readings_side_by_side(census: Any, tmp_path: Path) -> None:
    words = ["reproduce", "li2007", "--adult", str(census.folder), "-o", str(tmp_path), "--force"]
    told = CliRunner().invoke(app, [*words, "--distance", "hierarchical,ordered"])
    assert told.exit_code == 0, told.stderr
    lines = (tmp_path / "readings.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == ["hierarchical", "ordered"]
    page = (tmp_path / "li2007.html").read_text(encoding="utf-8")
    assert "Readings side by side" in page and "remains unexplained" in page
    refused = CliRunner().invoke(app, [*words, "--groups", "7-7"])
    assert refused.exit_code == 2 and "4-7-3, 5-5-4" in refused.stderr


@pytest.mark.slow
def test_on_the_census_an_ordered_distance_costs_next_to_nothing(adult_dir: Path) -> None:
    census = open_census(adult_dir)
    plan = Schedule(sizes=(), parameters=(2, 5), repeats=0)
    cells = {
        reading: dict(zip(HEADINGS, run_reading(census, reading, plan).list_cells(), strict=True))
        for reading in (Reading2007(groups="5-5-4"), Reading2007("ordered", race_levels=3))
    }
    collar, ordered = cells.values()
    assert ordered["cost of t = 0.2"] == "1.00–1.12" and ordered["minimal (21)"] == "23"
    assert collar["cost of t = 0.2"] == "5.65–6.34"
    assert (collar["minimal (21)"], collar["vulnerable (13)"], collar["worst (916)"]) == (
        "16", "4", "13",
    )  # fmt: skip
    assert collar["groupings tried"] == "231,231" and int(collar["most exposed"]) < 916
