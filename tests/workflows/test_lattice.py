"""The lattice at a glance: what is said of it is what the searches find, and it can be drawn."""

import json
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from rich.console import Console
from typer.testing import CliRunner

import tclose
from tclose.cli import app
from tclose.report.lattice import draw_lattice, summarize_lattice
from tclose.report.render.terminal import render_parts
from tclose.search import Budget, Progress, method_named, problem_of
from tclose.search.full_domain.incognito import minimal_nodes
from tclose.search.full_domain.optimal import optimal
from tclose.search.full_domain.rollup import Domain
from tclose.search.outcome import Clock

SVG = "{http://www.w3.org/2000/svg}"
GROUPS = {"low": ["a", "b"], "high": ["c", "d"]}


def table_of(columns: int, rows: int = 200) -> pa.Table:
    random = np.random.default_rng(3)
    values: dict[str, Any] = {f"q{at}": random.choice(list("abcd"), rows) for at in range(columns)}
    return pa.table(values | {"ill": random.choice(["x", "y", "z"], rows)})


def rules_of(columns: int, t: str = "0.15") -> dict[str, Any]:
    quasi = {f"q{at}": {"role": "quasi", "hierarchy": {"groups": GROUPS}} for at in range(columns)}
    return {"k": 3, "columns": quasi | {"ill": {"role": "sensitive", "t": t, "distance": "equal"}}}


def test_columns_that_can_only_be_kept_or_hidden_are_named() -> None:
    """A whole-column method without hierarchies hid everything and did not say why."""
    table, rules = table_of(2), rules_of(2)
    rules["columns"]["q1"] = "quasi"
    release = tclose.anonymize(table, rules, method="optimal")
    (note,) = release.notes
    assert note.startswith("q1: without a hierarchy")
    assert tclose.anonymize(table, rules, method="mondrian").notes == ()
    words = str(summarize_lattice(tclose.lattice(table, rules)))
    assert "q1: exact or hidden only" in words
    assert tclose.anonymize(table, rules_of(2), method="optimal").notes == ()
    assert "exact or hidden only" not in str(summarize_lattice(tclose.lattice(table, rules_of(2))))


@pytest.mark.parametrize("suppression", ["0", "1/10"])
def test_the_survey_agrees_with_the_searches(suppression: str) -> None:
    table, rules = table_of(3), rules_of(3)
    found = tclose.lattice(table, rules, suppression=suppression)
    problem = problem_of(tclose.check(table, rules))
    best = method_named("optimal").run(problem, Budget(suppression=Fraction(suppression)))
    assert len(found.points) == found.lattice.size == sum(found.heights) == 27
    assert found.proved and found.loss == pytest.approx(best.loss)
    if suppression == "0":
        least = minimal_nodes(problem, Budget()).nodes
        assert tuple(sorted(point.levels for point in found.minimal)) == least


def test_a_lattice_that_takes_too_long_is_searched_with_what_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    efforts: list[float] = []

    def optimal_within(problem: Any, budget: Budget) -> Any:
        efforts.append(budget.work)
        return optimal(problem, budget)

    monkeypatch.setattr("tclose.search.full_domain.survey.optimal", optimal_within)
    told: list[Progress] = []
    found = tclose.lattice(table_of(7), rules_of(7), effort=0.02, progress=told.append)
    assert not found.points and found.best is not None
    assert {one.seconds_total for one in told} == {0.02}
    assert efforts == [0.01], "the optimum is searched for in the second half"
    assert 0.01 < told[-1].seconds_used <= 0.02
    console = Console(record=True, width=200, file=StringIO())
    console.print(render_parts(summarize_lattice(found)))
    assert "too many to judge one by one in the time given" in console.export_text()


@pytest.mark.parametrize(("times", "enumerated"), [(1.5, False), (2.5, True)])
def test_no_more_than_half_of_the_work_goes_into_every_node(times: float, enumerated: bool) -> None:
    problem = problem_of(tclose.check(table_of(3), rules_of(3)))
    domain = Domain(problem, Clock(Budget()))
    for node in domain.lattice.nodes():
        domain.look(node)
    found = tclose.lattice(table_of(3), rules_of(3), effort=times * domain.clock.spent)
    assert bool(found.points) == enumerated and found.best is not None


def test_the_picture_shows_every_node_as_it_stands() -> None:
    found = tclose.lattice(table_of(3), rules_of(3))
    drawn = draw_lattice(found)
    assert drawn is not None
    root = ElementTree.fromstring(drawn)
    told = [node.text or "" for node in root.iter(f"{SVG}title")]
    assert sum("breaks the promise" in text for text in told) == 27 - len(found.holding)
    assert sum(": least loss" in text for text in told) == 1
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")


def test_no_node_may_keep_the_promise() -> None:
    rules = rules_of(2) | {"search": {"levels": {"q0": [0, 0], "q1": [0, 0]}}, "k": 100}
    found = tclose.lattice(table_of(2), rules)
    assert found.best is None and found.loss is None and not found.holding


def test_a_large_lattice_is_summarised(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(table_of(10), tmp_path / "table.csv")
    (tmp_path / "policy.json").write_text(json.dumps(rules_of(10)))
    run = CliRunner().invoke(
        app,
        [
            "lattice", str(tmp_path / "table.csv"), "-p", str(tmp_path / "policy.json"), "--json",
            "--svg", str(tmp_path / "picture.svg"), "--seconds", "2",
        ],
    )  # fmt: skip
    assert run.exit_code == 0, run.output
    told = json.loads(run.stdout)
    assert told["nodes"] == 3**10 and not told["enumerated"] and told["best"] is not None
    assert told["bound"] <= told["loss"]
    assert not (tmp_path / "picture.svg").exists()


def test_the_command_draws_a_small_one(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(table_of(2), tmp_path / "table.csv")
    (tmp_path / "policy.json").write_text(json.dumps(rules_of(2)))
    picture = tmp_path / "picture.svg"
    run = CliRunner().invoke(
        app,
        [
            "lattice", str(tmp_path / "table.csv"), "-p", str(tmp_path / "policy.json"),
            "--svg", str(picture),
        ],
    )  # fmt: skip
    assert run.exit_code == 0, run.output
    assert "Minimal generalizations" in run.stdout
    ElementTree.fromstring(picture.read_text())
