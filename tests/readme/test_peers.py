"""The page on other tools shows the numbers that were measured, and no others."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def load_script() -> Any:
    path = ROOT / "benchmarks" / "peers" / "compare.py"
    spec = importlib.util.spec_from_file_location("peers_compare", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_made_from_the_results() -> None:
    script = load_script()
    page = script.PAGE.read_text(encoding="utf-8")
    assert script.fill(page, script.read_results()) == page, "run: compare.py --only-page"
    assert "0.2-closeness, equal | 0.686" in page


def test_every_measured_release_holds_and_has_all_rows() -> None:
    found = json.loads(load_script().RESULTS.read_text(encoding="utf-8"))
    assert {"0.2-closeness, equal", "0.5-closeness, equal"} <= set(found)
    searched = [each for each in found.values() if "holds" in each]
    assert all(each["holds"] and each["rows"] == 30_162 for each in searched)
    assert "0.2-closeness, equal, and k = 5" in found


def test_classes_of_others_are_judged_by_the_definition(adult_dir: Path) -> None:
    script = load_script()
    one = script.judge_classes(adult_dir, [0] * 30_162)
    assert (one["classes"], one["k"], one["t"], one["granularity"]) == (1, 30_162, 0, 0)
    halves = script.judge_classes(adult_dir, [row % 2 for row in range(30_162)])
    assert halves["k"] == 15_081 and 0 < halves["t"] < 0.05
    without = script.judge_classes(adult_dir, [-1] + [0] * 30_161)
    assert without["rows"] == 30_161 and without["granularity"] == 0


def test_published_numbers_have_their_source() -> None:
    published = json.loads(load_script().PUBLISHED.read_text(encoding="utf-8"))
    assert "result_adult_full.csv" in published["source"]
    assert all("k" not in each for each in published["configurations"] if "t" in each)
