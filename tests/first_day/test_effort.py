"""A stated effort bounds what is done: attacks draw rows and say so, explanations use ranges."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import Result

import tclose
from first_day.conftest import make_messy
from tclose.attacks.definetti import _group_people, share_out
from tclose.data.alignment import align

COLUMNS = ["zip", "sex", "dob", "cost", "primary_dx"]
RULES: dict[str, Any] = {
    "k": 4,
    "columns": {
        "zip": {"role": "quasi", "hierarchy": {"prefix": [4, 3, 2, 0]}},
        "sex": "quasi",
        "dob": "quasi",
        "cost": {"role": "sensitive", "t": 0.3},
        "primary_dx": {"role": "sensitive", "t": 0.5},
    },
}


def make_table(rows: int = 600) -> pd.DataFrame:
    table = make_messy(rows)[COLUMNS]
    return table.assign(dob=table["dob"].str[6:].astype(int), cost=table["cost"].astype(float))


@pytest.fixture(scope="module")
def released() -> tclose.Release:
    return tclose.anonymize(make_table(), RULES, method="mondrian")


def attack(release: tclose.Release, **more: Any) -> dict[tuple[str, str | None], Any]:
    report = tclose.attack(release.data, RULES, original=make_table(), **more)
    return {(found.attack, found.attribute): found for found in report.findings}


def test_with_enough_effort_every_row_is_tried_and_nothing_is_said_of_samples(
    released: tclose.Release,
) -> None:
    found = attack(released, effort=1000)
    for name in (("minimality", None), ("deFinetti", "cost"), ("deFinetti", "primary_dx")):
        assert found[name].numbers["rows tried"] == 600
        assert "drawn by chance" not in found[name].sentence
    assert found["minimality", None].numbers["every cut was tried"] is True


def test_with_little_effort_rows_are_drawn_by_the_seed_and_it_is_said(
    released: tclose.Release,
) -> None:
    found, again = (attack(released, effort=0.003, seed=5) for _ in range(2))
    for name in (("minimality", None), ("deFinetti", "cost")):
        tried = found[name].numbers["rows tried"]
        assert 0 < tried < 600
        assert f"Tried on {tried:,} of 600 rows, drawn by chance (seed 5)." in found[name].sentence
        assert found[name] == again[name]
    whole = found["minimality", None]
    assert whole.affected and f"these are about {whole.affected:,} rows" in whole.sentence
    other = attack(released, effort=0.003, seed=6)["deFinetti", "cost"]
    assert other.sentence != found["deFinetti", "cost"].sentence


def test_beliefs_are_those_of_the_whole_table_of_kinds_and_values(
    released: tclose.Release,
) -> None:
    """The deFinetti attack on values that a class holds, against the full table of all values."""
    original = tclose.check(make_table(), RULES)
    held = align(original, tclose.check(released.data, RULES))
    assert held.linked is not None
    number = held.release.classes.cell_class[held.linked.second]
    cells = held.linked.first
    parts = [original.cells.codes[name][cells] for name in ("zip", "sex")]
    weight = held.linked.rows.astype(float)
    people = _group_people(original, "primary_dx", cells, number, parts, weight, 1, math.inf)
    found = np.zeros((len(people.number), int(people.value.max()) + 1))
    found[people.kind, people.value] = share_out(people)
    assert found == pytest.approx(share_out_in_full(people), abs=1e-9)


def share_out_in_full(people: Any) -> Any:
    """The same rounds on a dense table, one kind and one value after the other."""
    values, classes = int(people.value.max()) + 1, int(people.number.max()) + 1
    held = np.zeros((classes, values))
    held[people.number[people.kind], people.value] = people.held[people.slot]
    own = held[people.number]
    belief = own / own.sum(axis=1, keepdims=True)
    for _ in range(5):
        likely = np.zeros_like(belief)
        for part in people.bins.T:
            table = np.ones((int(part.max()) + 1, values))
            for kind, at in enumerate(part):
                table[at] += belief[kind] * people.rows[kind]
            likely += np.log(table / table.sum(axis=0))[part]
        belief = own * np.exp(likely)
        for _ in range(5):
            belief /= belief.sum(axis=1, keepdims=True)
            sums = np.zeros_like(held)
            for kind, at in enumerate(people.number):
                sums[at] += belief[kind] * people.rows[kind]
            belief *= (held / np.where(sums > 0, sums, 1))[people.number]
        belief /= belief.sum(axis=1, keepdims=True)
    return belief


def test_a_report_tells_how_many_rows_its_attacks_tried() -> None:
    small = tclose.anonymize(make_table(), RULES, method="mondrian", effort=0.01)
    shown = json.dumps(small.report().to_json())
    assert "drawn by chance" in shown


def test_a_report_can_do_without_attacks(released: tclose.Release) -> None:
    steps: list[str] = []
    shown = json.dumps(released.report(attacks=False, progress=steps.append).to_json())
    assert "left out on request" in shown and "No attack that was tried" not in shown
    assert "Homogeneity" not in shown and steps == ["composing the report"]


def test_attacks_say_how_far_they_are(released: tclose.Release) -> None:
    steps: list[str] = []
    released.report(progress=steps.append)
    assert "looking at cost in every class, 1 of 2" in steps
    assert steps[-1] == "composing the report"


def test_the_command_leaves_attacks_out(
    messy: Path, run: Callable[..., Result], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.json"
    columns = dict.fromkeys(pd.read_csv(messy, nrows=1).columns, "identifier")
    rules = {"k": 4, "columns": columns | {"sex": "quasi", "cost": RULES["columns"]["cost"]}}
    policy.write_text(json.dumps(rules))
    out, report = tmp_path / "out.csv", tmp_path / "report.json"
    asked = ["anonymize", messy, "-p", policy, "-o", out, "--method", "mondrian", "--no-attacks"]
    assert "about the report" in run(*asked).output
    assert run(*asked, "--report", report).exit_code == 0
    assert "left out on request" in report.read_text()
    shown = run("audit", messy, "-p", policy, "--report", "-", "--no-attacks")
    assert "left out on request" in shown.output


def measure_exactly(table: pd.DataFrame, inside: pd.Series) -> Fraction:
    """The earth mover's distance along a line, gap by gap, in fractions."""
    values = sorted(set(table))
    mine, all_rows = table[inside], len(table)
    total = below = Fraction(0)
    counts, whole = mine.value_counts(), table.value_counts()
    for low, high in pairwise(values):
        below += Fraction(int(counts.get(low, 0)), len(mine)) - Fraction(int(whole[low]), all_rows)
        total += abs(below) * (Fraction(str(high)) - Fraction(str(low)))
    return total / (Fraction(str(values[-1])) - Fraction(str(values[0])))


def test_very_many_numbers_are_explained_in_ranges_and_exactly() -> None:
    table = make_table()[["sex", "cost"]]
    policy = {
        "columns": {"sex": "quasi", "cost": {"role": "sensitive", "distance": "numeric"}},
    }
    why = tclose.explain(table, policy, class_number=1, ranges=12)
    assert len(why.shares) == 12 and table["cost"].nunique() > 500
    assert "are shown in 12 ranges" in why.note
    assert "counts at each value" in why.note and max(step.mass for step in why.actions) > 1
    sex = next(iter(why.label.values()))
    inside = table["sex"] == ("" if sex == "(missing)" else sex)
    expected = measure_exactly(table["cost"], inside)
    assert why.exact == expected
    for steps in (why.moves, why.actions):
        assert sum((step.cost for step in steps), Fraction(0)) == expected
    assert sum(share.rows for share in why.shares) == why.size
    assert sum(share.in_table for share in why.shares) == 1
    names = {share.value for share in why.shares}
    assert {move.source for move in why.moves} | {move.target for move in why.moves} <= names


def test_the_least_mass_moves_between_ranges() -> None:
    """Between two ranges as much moves, net, as crosses the gap between them."""
    why = tclose.explain(
        make_table()[["sex", "cost"]], quasi="sex", sensitive="cost", class_number=2
    )
    names = [share.value for share in why.shares]
    for at in range(1, len(names)):
        below = set(names[:at])
        excess = sum(s.in_class - s.in_table for s in why.shares if s.value in below)
        out = sum(m.mass for m in why.moves if m.source in below and m.target not in below)
        back = sum(m.mass for m in why.moves if m.target in below and m.source not in below)
        assert out - back == excess and min(out, back) == 0


def test_few_numbers_are_explained_one_by_one() -> None:
    table = pd.DataFrame({"sex": ["f", "m"] * 30, "cost": list(range(60))})
    why = tclose.explain(table, quasi="sex", sensitive="cost")
    assert len(why.shares) == 60 and "ranges" not in why.note


def test_the_command_chooses_the_ranges(run: Callable[..., Result], tmp_path: Path) -> None:
    place, picture = tmp_path / "table.csv", tmp_path / "flow.svg"
    make_table()[["sex", "cost"]].to_csv(place, index=False)
    named = ["explain", place, "--quasi", "sex", "--sensitive", "cost", "--ranges", "7"]
    shown = run(*named, "--json", "--svg", picture)
    assert len(json.loads(shown.stdout)["shares"]) == 7
    assert picture.read_text().count("<path") < 60
