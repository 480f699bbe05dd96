"""The page on other tools shows the numbers that were measured, and no others."""

from __future__ import annotations

import json
from pathlib import Path

from scripts import load_script

COMPARE = "benchmarks/peers/compare.py"


def test_the_tables_are_made_from_the_results() -> None:
    script = load_script(COMPARE)
    page = script.PAGE.read_text(encoding="utf-8")
    assert script.fill(page, script.read_results()) == page, "run: compare.py --only-page"
    assert "0.2-closeness, equal | 0.686" in page


def test_every_measured_release_holds_and_has_all_rows() -> None:
    found = json.loads(load_script(COMPARE).RESULTS.read_text(encoding="utf-8"))
    assert {"0.2-closeness, equal", "0.5-closeness, equal"} <= set(found)
    searched = [each for each in found.values() if "holds" in each]
    assert all(each["holds"] and each["rows"] == 30_162 for each in searched)
    assert "0.2-closeness, equal, and k = 5" in found


def test_classes_of_others_are_judged_by_the_definition(adult_dir: Path) -> None:
    script = load_script(COMPARE)
    one = script.judge_classes(adult_dir, [0] * 30_162)
    assert (one["classes"], one["k"], one["t"], one["granularity"]) == (1, 30_162, 0, 0)
    halves = script.judge_classes(adult_dir, [row % 2 for row in range(30_162)])
    assert halves["k"] == 15_081 and 0 < halves["t"] < 0.05
    without = script.judge_classes(adult_dir, [-1] + [0] * 30_161)
    assert without["rows"] == 30_161 and without["granularity"] == 0


def test_published_numbers_have_their_source() -> None:
    published = json.loads(load_script(COMPARE).PUBLISHED.read_text(encoding="utf-8"))
    assert "result_adult_full.csv" in published["source"]
    assert all("k" not in each for each in published["configurations"] if "t" in each)
