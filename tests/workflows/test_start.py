"""A search that starts from a plan never loses more than the plan's classes, where they keep the
present promise; where they do not, it says so."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import tclose
from tclose.cli import app
from tclose.errors import UsageError
from tclose.recode.assignment import recall_classes
from tclose.search import METHODS, infeasible, problem_of
from tclose.workflows.inputs import check

SOON = {"auto", "hybrid", "mondrian", "optimal", "fragments", "mdav"}
"""The methods that are judged also where there is little time."""
some = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def draw_table(seed: int, rows: int = 240) -> pa.Table:
    random = np.random.default_rng(seed)
    ill = np.repeat(["ache", "burn", "cold"], [rows // 2, rows // 4, rows // 4])
    return pa.table({
        "age": random.integers(20, 80, rows),
        "home": random.choice(["east", "west", "north"], rows),
        "ill": random.permutation(ill),
    })  # fmt: skip


def promise(t: str, **search: Any) -> dict[str, Any]:
    ill = {"role": "sensitive", "distance": "equal", "t": t}
    columns = {"age": "quasi", "home": "quasi", "ill": ill}
    return {"k": 3, "columns": columns, "search": {"effort": 0.05, **search}}


@pytest.mark.parametrize(
    "name",
    [
        name if name in SOON else pytest.param(name, marks=pytest.mark.slow)
        for name in sorted(METHODS)
    ],
)
@some
@given(data=st.data())
def test_a_milder_promise_never_loses_more_than_the_plan_of_a_stricter_one(
    name: str, data: st.DataObject, judged: Any
) -> None:
    table = draw_table(data.draw(st.integers(0, 5)))
    strict, mild = data.draw(
        st.sampled_from([("0", "0.05"), ("0.1", "0.1"), ("0.1", "0.3"), ("0.2", "0.21")])
    )
    if not judged(not METHODS[name].cannot(problem_of(check(table, promise(strict)))), least=0):
        return
    made = tclose.anonymize(table, promise(strict, effort=0.02), method=name)
    seed = data.draw(st.integers(1, 3))
    for method in ("auto", "hybrid"):
        found = tclose.anonymize(
            table, promise(mild, effort=0.02), method=method, seed=seed, start_from=made.plan
        )
        assert found.holds and found.loss.overall <= made.loss.overall + 1e-12
        assert any("which keep the promise" in note for note in found.notes)


def test_the_start_is_exactly_what_was_released() -> None:
    table = draw_table(1)
    for name in ("hybrid", "mondrian", "optimal", "mdav"):
        made = tclose.anonymize(table, promise("0.2"), method=name)
        bound = check(table, promise("0.2"))
        label = recall_classes(bound, made.plan)
        problem = problem_of(bound)
        assert not infeasible(problem) and not problem.find_failing(label).any()
        assert problem.loss(label).overall <= made.loss.overall + 1e-12
        assert int(label.max()) + 1 == made.classes


def test_a_search_goes_on_where_an_earlier_one_stopped() -> None:
    table, rules = draw_table(2), promise("0.15")
    losses, plan = [], None
    for seed in range(1, 5):
        made = tclose.anonymize(table, rules, method="hybrid", seed=seed, start_from=plan)
        plan = made.plan
        losses.append(made.loss.overall)
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]
    again = tclose.anonymize(table, rules, method="hybrid", seed=4, start_from=plan)
    twice = tclose.anonymize(table, rules, method="hybrid", seed=4, start_from=plan)
    assert again.data.equals(twice.data)


def test_with_too_little_effort_for_hybrid_the_plan_itself_is_released_again() -> None:
    table = draw_table(3)
    made = tclose.anonymize(table, promise("0.1"), method="hybrid", effort=0.1)
    found = tclose.anonymize(table, promise("0.1"), effort=0.01, start_from=made.plan)
    assert found.loss.overall == made.loss.overall and found.data.equals(made.data)
    assert found.certificate.method == "plan"
    assert "the plan that the search started from" in (found.certificate.why or "")


def test_classes_that_break_the_promise_are_counted_and_merged() -> None:
    table = draw_table(4)
    made = tclose.anonymize(table, promise("0.4"), method="hybrid")
    bound = check(table, promise("0.1"))
    broken = int(problem_of(bound).find_failing(recall_classes(bound, made.plan)).sum())
    found = tclose.anonymize(table, promise("0.1"), start_from=made.plan)
    (note,) = [each for each in found.notes if "plan" in each]
    assert broken and note.startswith(f"{broken} of the plan's {made.classes} classes break")
    assert found.holds and "which keep the promise" not in note


def test_rows_left_out_stay_within_the_present_budget() -> None:
    age = draw_table(9).column("age").to_pylist()
    age[::60] = [5_000, 6_000, 7_000, 8_000]
    table = draw_table(9).set_column(0, "age", pa.array(age))
    made = tclose.anonymize(table, promise("0.05"), method="hybrid", suppression=0.1)
    assert made.left_out
    found = tclose.anonymize(table, promise("0.05"), suppression=0.1, start_from=made.plan)
    assert found.loss.overall <= made.loss.overall + 1e-12
    assert found.left_out <= Fraction(1, 10) * table.num_rows
    with pytest.raises(UsageError, match=r"leaves out \d+ rows?, and 0 may be"):
        tclose.anonymize(table, promise("0.05"), start_from=made.plan)


def test_what_a_search_cannot_start_from_is_refused_with_the_reason() -> None:
    table, rules = draw_table(6), promise("0.2")
    plan = tclose.anonymize(table, rules, method="hybrid").plan
    cuts = tclose.anonymize(table, rules, method="mondrian").plan
    assert plan.own_rows is not None and cuts.own_rows is None
    other, older = draw_table(7), table.set_column(0, "age", pa.array(range(300, 540)))
    with_n = promise("0.2")
    with_n["columns"]["ill"]["n"] = 30
    refusals: list[tuple[str, pa.Table, dict[str, Any], dict[str, Any]]] = [
        ("made from other rows", other, rules, {"start_from": plan}),
        ("no class of the plan covers", older, rules, {"start_from": cuts}),
        ("starts from nothing", table, rules, {"start_from": plan, "method": "mondrian"}),
        ("supersets that a search names", table, with_n, {"start_from": plan}),
        ("whole columns", table, promise("0.2", loss="discernibility"), {"start_from": plan}),
        ("earlier releases", table, rules, {"start_from": plan, "given": table}),
        ("starts from a plan", table, rules, {"start_from": "plan.json"}),
    ]
    for words, data, policy, more in refusals:
        with pytest.raises(UsageError, match=words):
            tclose.anonymize(data, policy, **more)


def test_cuts_lead_the_rows_of_another_table_to_classes_too() -> None:
    table = draw_table(8, 400)
    plan = tclose.anonymize(table, promise("0.3"), method="mondrian").plan
    half = table.slice(0, 200)
    found = tclose.anonymize(half, promise("0.3"), start_from=plan)
    assert found.holds


def test_the_command_takes_a_plan_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = draw_table(9)
    with Path("t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.column_names)
        writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    text = (
        'k = 3\n[columns]\nage = "quasi"\nhome = "quasi"\n'
        'ill = {{ role = "sensitive", distance = "equal", t = {} }}\n'
    )
    Path("strict.toml").write_text(text.format("0.1"))
    Path("mild.toml").write_text(text.format("0.3"))
    first = "anonymize t.csv --policy strict.toml -o a.csv --plan plan.json --method hybrid"
    assert CliRunner().invoke(app, [*first.split(), "--effort", "0.1"]).exit_code == 0
    then = "anonymize t.csv --policy mild.toml -o b.csv --start-from plan.json --method hybrid"
    shown = CliRunner().invoke(app, [*then.split(), "--effort", "0.1"])
    assert shown.exit_code == 0, shown.output
    assert "the search starts from the plan's" in " ".join(shown.output.split())
    onto = CliRunner().invoke(app, [*then.replace("b.csv", "plan.json").split(), "--force"])
    assert onto.exit_code == 2
