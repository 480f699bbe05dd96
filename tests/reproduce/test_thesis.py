"""What the thesis draws: figures, bounds, fragments, against enumeration."""

from __future__ import annotations

import csv
import itertools
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow.csv import write_csv
from typer.testing import CliRunner

import tclose
from tclose.cli import app
from tclose.errors import UsageError
from tclose.report.document import Picture
from tclose.reproduce.thesis import (
    find_deviation,
    list_figures,
    make_thesis_document,
    run_thesis,
)
from tclose.search.by_construction.matrix import Fragment, bound_fragments

F = Fraction


def measure(held: list[int], other: list[Fraction], total: int) -> Fraction:
    """Σ |running differences| of a run's rows and as many others, in steps."""
    gap, work = F(0), F(0)
    for mine, theirs in zip(held, other, strict=True):
        gap += F(mine, total) - theirs
        work += abs(gap)
    return work


def find_farthest(held: list[int], total: int, allowed: list[int]) -> Fraction:
    """By trying all of the rows at each of the places."""
    mass = F(sum(held), total)
    return max(
        measure(held, [mass if at == place else F(0) for at in range(len(held))], total)
        for place in allowed
    )


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_bounds_are_what_the_farthest_rows_of_each_fragment_would_do(data: Any) -> None:
    m, n = data.draw(st.integers(2, 5)), data.draw(st.integers(2, 5))
    counts = np.array(
        data.draw(st.lists(st.lists(st.integers(0, 4), min_size=n, max_size=n), min_size=m,
                           max_size=m).filter(lambda rows: any(map(any, rows))))
    )  # fmt: skip
    cut = data.draw(st.integers(1, m - 1))
    runs = [((0, cut - 1), (0, n - 1)), ((cut, m - 1), (0, n - 1))]
    total = int(counts.sum())
    fragments = [
        Fragment(across, along, int(counts[across[0] : across[1] + 1].sum()))
        for across, along in runs
    ]
    lines = tuple([F(at) for at in range(number)] for number in (m, n))
    found = bound_fragments(counts, fragments, (lines[0], lines[1]))
    for axis, number in enumerate((m, n)):
        own = common = F(0)
        for each in fragments:
            block = counts[each.across[0] : each.across[1] + 1]
            held = block.sum(axis=1 - axis).tolist()
            if len(held) > 1:
                own += find_farthest(held, total, list(range(len(held)))) / (len(held) - 1)
            seen = [at for at, rows in enumerate(held) if rows]
            if seen:
                common += find_farthest(held, total, seen) / (number - 1)
        assert found.published[axis] == own and found.corrected[axis] == common


def test_the_figures_say_what_the_thesis_says() -> None:
    lines = [line for line in list_figures() if line.stated != "not in it"]
    assert len(lines) == 8 and all(line.stated == line.here for line in lines)


def test_every_figure_is_drawn() -> None:
    """Figure 15 with its fragments before and after, the others as blocks as wide as their rows."""
    parts = make_thesis_document(run_thesis(None)).sections[0].parts
    drawn = {part.title: ET.fromstring(part.svg) for part in parts if isinstance(part, Picture)}
    assert [title.split(":")[0] for title in drawn] == ["Figure 15"] * 2 + [
        "Figure 18",
        "Figure 19",
    ]
    for (title, root), outlined in zip(drawn.items(), (1, 2, 0, 0), strict=True):
        words = [each.text or "" for each in root.iter() if each.tag == "text"]
        assert len(root.findall(".//rect[@stroke-width]")) == outlined and title not in words
    before, after, first, _ = ("".join(root.itertext()) for root in drawn.values())
    assert "X̂ = 0.5 and Ŷ = 0.7" in before and "X̂ = 0.6 and Ŷ = 0" in after
    assert "tenths of the rows: 2 and 3; 1 and 4" in before and "q = 50, r = 20" in first


def test_no_other_matrix_has_the_sums_and_bounds_of_figure_15() -> None:
    """In hundredths, with the first row having more of the first column."""
    halves = [Fragment((0, 1), (at, at), 1) for at in (0, 1)]
    line = [F(0), F(1)]
    fitting = []
    for corner in range(31):
        counts = np.array([[corner, 50 - corner], [30 - corner, 20 + corner]])
        if bound_fragments(counts, halves, (line, line)).published == (F(3, 5), F(0)):
            fitting.append(corner)
    assert fitting == [10, 20]  # each the other with its rows exchanged


@pytest.mark.parametrize("classes", [1, 7, 50])
def test_dealt_rows_are_as_far_from_their_proportion_as_counting_says(classes: int) -> None:
    rows = (250, 100, 350, 301)
    owner = list(itertools.chain(*([at] * size for at, size in enumerate(rows))))
    worst = F(0)
    for number in range(classes):
        mine = owner[number::classes]
        gaps = [F(mine.count(at), len(mine)) - F(size, 1001) for at, size in enumerate(rows)]
        worst = max(worst, sum(map(abs, gaps), F(0)) / 2)
    assert find_deviation(rows, classes) == worst


def make_table() -> pa.Table:
    rng = np.random.default_rng(4)
    pay = rng.integers(1, 9, 300)
    return pa.table(
        {"zip": rng.integers(0, 5, 300), "pay": pay, "age": pay + rng.integers(0, 6, 300)}
    )


def make_policy(t: float = 0.2) -> dict[str, Any]:
    promised = {"role": "sensitive", "distance": "ordered", "t": t}
    return {"k": 3, "columns": {"zip": "quasi", "pay": promised, "age": promised}}


def test_fragments_tile_the_matrix_and_keep_both_t() -> None:
    table = make_table()
    found = tclose.explain_fragments(table, make_policy())
    pairs = zip(table["pay"].to_pylist(), table["age"].to_pylist(), strict=True)
    pay, age = (sorted(set(table[name].to_pylist())) for name in ("pay", "age"))
    counts = np.zeros((len(pay), len(age)), dtype=int)
    for one, other in pairs:
        counts[pay.index(one), age.index(other)] += 1
    assert (counts == found.counts).all()
    cover = np.zeros_like(counts)
    for each in found.fragments:
        across, along = (slice(run[0], run[1] + 1) for run in (each.across, each.along))
        cover[across, along] += 1
        assert each.rows == counts[across, along].sum()
    assert (cover == 1).all() and max(found.bounds.corrected) <= F(1, 5)
    assert found.q * found.r == 300 and found.assigned >= found.q
    drawn = ET.fromstring(found.svg())
    assert len(drawn.findall(".//{*}rect[@stroke-width]")) == len(found.fragments)


def test_the_command_shows_and_draws_the_matrix(tmp_path: Path) -> None:
    source, policy = tmp_path / "table.csv", tmp_path / "policy.toml"
    write_csv(make_table(), source)
    policy.write_text(tclose.Policy.build(**make_policy()).to_toml(), encoding="utf-8")
    words = ["explain", source, "--policy", policy, "--fragments", "--svg", tmp_path / "m.svg"]
    shown = CliRunner().invoke(app, list(map(str, words)))
    assert shown.exit_code == 0, shown.stderr
    assert "q = " in shown.stdout and "X̂" in shown.stdout
    assert ET.fromstring((tmp_path / "m.svg").read_text(encoding="utf-8")) is not None
    refused = CliRunner().invoke(app, [*map(str, words[:5]), "--attribute", "pay"])
    assert refused.exit_code == 2


def test_the_internal_report_has_the_matrix(tmp_path: Path) -> None:
    for edition in ("internal", "external"):
        release = tclose.anonymize(make_table(), make_policy(), method="mondrian")
        release.report(tmp_path / "report.html", edition=edition)
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert ("pay × age: fragments" in page) == (edition == "internal")


@pytest.mark.parametrize("change", ["one", "equal"])
def test_other_promises_have_no_matrix(change: str) -> None:
    policy = make_policy()
    if change == "one":
        policy["columns"]["age"] = "insensitive"
    else:
        policy["columns"]["age"] = {"role": "sensitive", "distance": "equal", "t": 0.2}
    with pytest.raises(UsageError, match="two sensitive columns"):
        tclose.explain_fragments(make_table(), policy)


def test_the_command_without_a_table_computes_the_figures(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["reproduce", "thesis", "-o", str(tmp_path / "out")])
    assert told.exit_code == 0, told.stderr
    with (tmp_path / "out" / "figures.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert {line["figure"] for line in lines} == {"15", "18", "19"}
    assert (tmp_path / "out" / "thesis.html").read_text(encoding="utf-8").count("<svg") >= 2


@pytest.mark.slow
def test_on_adult_the_corrected_bound_needs_few_fragments_and_closeness_diminishes(
    adult_dir: Path,
) -> None:
    run = run_thesis(adult_dir)
    by_t = {line.t: line for line in run.adult}
    assert (by_t["0.2"].published_fragments, by_t["0.2"].corrected_fragments) == (1486, 7)
    assert (by_t["0.05"].published_fragments, by_t["0.05"].corrected_fragments) == (1504, 30)
    assert all(line.published_classes == 1 for line in run.adult)
    for size in (10, 20, 50):
        least = [line.t for line in run.added if line.rows == size]
        assert len(least) == 4 and least == sorted(least) and least[0] < least[-1]
