"""`tclose reproduce closeness`: t against (n, t), with what is learned counted by hand."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ET
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tclose.cli import app
from tclose.reproduce import closeness
from tclose.reproduce.census import open_census
from tclose.reproduce.closeness import (
    ClosenessRun,
    compare_closeness,
    count_learned,
    make_closeness_document,
    tabulate_closeness,
)
from tclose.reproduce.paper import PaperMeasure
from tclose.search import Budget, method_named

pytestmark = pytest.mark.slow


def test_what_is_learned_is_what_the_classes_tell(census: Any) -> None:
    opened = open_census(census.folder)
    asked = {"t": "0.4", "n": 20, "distance": "equal"}
    problem = opened.problem(PaperMeasure("", "", "", 2, asked))
    outcome = method_named("hybrid").run(problem, Budget(effort=0.3))
    found = count_learned(problem, outcome, "0.4", 20)
    classes: dict[int, Counter[int]] = {}
    for label, code, rows in zip(
        outcome.label.tolist(), problem.sensitive[:, 0].tolist(), problem.rows.tolist(), strict=True
    ):
        classes.setdefault(label, Counter())[code] += rows
    whole = sum(classes.values(), Counter())
    people = whole.total()
    right = sum(max(counts.values()) for counts in classes.values())
    assert found.guessed == pytest.approx(right / people)
    assert found.guessed_without == pytest.approx(max(whole.values()) / people)
    far = max(
        sum(abs(Fraction(counts[v], counts.total()) - Fraction(whole[v], people)) for v in whole)
        for counts in classes.values()
    )
    assert found.farthest == pytest.approx(float(far / 2)) and found.classes == len(classes)


def test_one_run_for_each_part_and_the_last_is_the_table(census: Any) -> None:
    opened = open_census(census.folder)
    runs = compare_closeness(opened, ("0.3",), (20, 60, 10**6), effort=0.6)
    assert [run.n for run in runs] == [20, 60, opened.rows]
    assert runs[0].loss <= 1.05 * runs[-1].loss and runs[-1].farthest <= 0.3
    table = tabulate_closeness(runs)
    assert [row[1] for row in table.rows] == ["20", "60", "whole table"]
    assert set(re.findall("“(.*?)”", closeness.LEARNED.lower())) <= set(table.headings)
    pictures = [
        part for section in make_closeness_document(runs).sections for part in section.parts
    ]
    drawn = [part.svg for part in pictures if hasattr(part, "svg")]
    assert len(drawn) == 2 and all(ET.fromstring(each) is not None for each in drawn)


def test_a_smaller_n_never_loses_more(census: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where every search for a smaller n finds less than the one before."""
    opened, honest = open_census(census.folder), method_named("hybrid")
    efforts = iter([0.6, 0.6, 0.02, 0.02])

    class Worse:
        def run(self, problem: Any, budget: Budget) -> Any:
            return honest.run(problem, Budget(effort=next(efforts)))

    monkeypatch.setattr(closeness, "method_named", lambda name: Worse())
    runs = compare_closeness(opened, ("0.15",), (20, 40, 60), effort=0.6)
    losses = [run.loss for run in runs]
    assert [run.n for run in runs] == [20, 40, 60, opened.rows] and losses == sorted(losses)
    assert losses[0] == losses[2] and runs[0].classes == runs[2].classes


def test_parts_ten_times_as_large_are_equally_far_along() -> None:
    """Sizes are drawn by their factors: evenly, small ones would be written over each other."""
    runs = [ClosenessRun("0.1", 10**at, 0.5, 9, 0.2, 0.1, 0.3, 0.1) for at in (1, 2, 3)]
    for section in make_closeness_document(runs).sections:
        drawn = ET.fromstring(section.parts[-1].svg)
        line = drawn.find(".//polyline").get("points", "")
        first, second, third = (float(point.split(",")[0]) for point in line.split())
        assert second - first == pytest.approx(third - second, abs=0.11) and first < second


def test_the_command_writes_a_page_and_its_numbers(census: Any, tmp_path: Path) -> None:
    words = ["--adult", census.folder, "-o", tmp_path / "out", "--effort", 0.2, "--force"]
    result = CliRunner().invoke(app, ["reproduce", "closeness", *map(str, words)])
    assert result.exit_code == 0, result.stderr
    assert "whole table" in result.stdout
    with (tmp_path / "out" / "closeness.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert {line["t"] for line in lines} == {"0.1", "0.2"}
    assert "<svg" in (tmp_path / "out" / "closeness.html").read_text(encoding="utf-8")
