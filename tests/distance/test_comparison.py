"""Which distance for what: the papers' pairs by other computations, in command and page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy, wasserstein_distance
from typer.testing import CliRunner

import tclose
from tclose.cli import app
from tclose.distance.comparison import WISHES, DistanceProperties
from tclose.distance.registry import DISTANCES
from tclose.report.summaries import summarize_distances

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "distances.md"
FOUND: dict[str, DistanceProperties] = {
    each.distance: each for each in tclose.compare_distances().distances
}
LOW, SPREAD, ALL = [3, 4, 5], [6, 8, 11], list(range(3, 12))


def share(values: list[int]) -> list[float]:
    return [values.count(value) / len(values) for value in ALL]


def test_every_distance_is_compared() -> None:
    assert list(FOUND) == list(DISTANCES) and all(each.suits for each in FOUND.values())


def test_the_papers_numbers_come_out() -> None:
    """Li 2007, sections 5 and 8; the hierarchical ones with the distribution of its Table 3."""
    for name in ("equal", "ordered", "numeric", "hierarchical", "matrix"):
        assert (FOUND[name].rare, FOUND[name].common) == (0.1, 0.1)
    assert (FOUND["ordered"].alike, FOUND["ordered"].spread) == (3 / 8, 1 / 6)
    assert (FOUND["hierarchical"].alike, FOUND["hierarchical"].spread) == (4 / 9, 7 / 27)


def test_other_libraries_say_the_same() -> None:
    for low, name in ((LOW, "alike"), (SPREAD, "spread")):
        far = wasserstein_distance(low, ALL) / 8
        assert getattr(FOUND["numeric"], name) == pytest.approx(far)
        assert getattr(FOUND["kl"], name) == pytest.approx(entropy(share(low), share(ALL), 2))
        js = jensenshannon(share(low), share(ALL), 2) ** 2
        assert getattr(FOUND["js"], name) == pytest.approx(js)
    assert FOUND["kl"].rare == pytest.approx(entropy([0.11, 0.89], [0.01, 0.99], 2))
    assert FOUND["js"].common == pytest.approx(jensenshannon([0.5, 0.5], [0.4, 0.6], 2) ** 2)


def test_which_wishes_are_not_met_is_what_the_papers_say() -> None:
    lacking = {name: set(WISHES) - set(each.meets) for name, each in FOUND.items()}
    scaling, meaning, zero = "probability scaling", "semantic awareness", "zero probabilities"
    assert lacking == {
        "equal": {scaling, meaning},
        **{name: {scaling} for name in ("ordered", "numeric", "hierarchical", "matrix")},
        "kl": {zero, meaning},
        "js": {meaning},
        "smoothed-js": set(),
    }


def test_the_page_shows_the_tables_of_the_command() -> None:
    page = PAGE.read_text(encoding="utf-8")
    tables = [
        part for part in summarize_distances(tclose.compare_distances()) if hasattr(part, "rows")
    ]
    assert len(tables) == 3
    for table in tables:
        for row in (table.headings, *table.rows):
            assert f"| {' | '.join(row)} |" in page


def test_the_command_prints_and_tells_them() -> None:
    shown = CliRunner().invoke(app, ["distances"])
    assert shown.exit_code == 0 and all(name in shown.stdout for name in DISTANCES)
    told = json.loads(CliRunner().invoke(app, ["distances", "--json"]).stdout)
    assert [each["distance"] for each in told["distances"]] == list(DISTANCES)
    kl = next(each for each in told["distances"] if each["distance"] == "kl")
    assert kl["lacking"] is None and told["wishes"] == WISHES


def test_a_frame_and_a_card_show_the_same() -> None:
    frame = tclose.compare_distances().to_frame("arrow")
    assert frame.num_rows == len(DISTANCES) and set(WISHES) <= set(frame.column_names)
    assert re.search("smoothed-js", tclose.compare_distances()._repr_html_())
