"""What cannot be counted is refused: how many rows are wrong is told, and none of their values."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import tclose
from tclose.cli import app
from tclose.errors import PolicyError, UsageError
from tclose.policy.load import parse_policy

COLUMNS = {"q": "quasi", "s": "sensitive"}


def rules(**more: Any) -> dict[str, Any]:
    return {"k": 2, "columns": {**COLUMNS, **more}}


def table(values: Any, kind: Any = None) -> pa.Table:
    return pa.table({"q": ["a"] * len(values), "s": ["x", "y"] * (len(values) // 2),
                     "c": pa.array(values, kind)})  # fmt: skip


WRONG = {
    "count": [
        ["1", "0", "2", "3"], ["1", "-4", "2", "3"], ["1", "1.5", "2", "3"], ["1", None, "2", "3"],
        ["1", "secret", "2", "3"], [1.0, float("nan"), 2.0, 3.0], [1.0, float("inf"), 2.0, 3.0],
        [True, True, False, True], ["1", " 2", "3", "4"], ["1", "1/2", "3", "4"],
    ],
    "weight": [
        ["1", "0", "2", "3"], ["1", "-0.5", "2", "3"], ["1", None, "2", "3"],
        ["1", "heavy", "2", "3"], [1.0, float("nan"), 2.0, 3.0], [1.0, float("inf"), 2.0, 3.0],
        [1.0, -float("inf"), 2.0, 3.0], ["1", "0.000", "2", "3"], ["1", "1,5", "2", "3"],
    ],
}  # fmt: skip


@pytest.mark.parametrize(("role", "values"), [(r, v) for r, many in WRONG.items() for v in many])
def test_a_number_that_is_none_is_refused_without_its_value(role: str, values: Any) -> None:
    wrong = 4 if isinstance(values[0], bool) else 1
    with pytest.raises(PolicyError, match=rf"{wrong} rows? ha(s|ve) no") as error:
        tclose.audit(table(values), rules(c=role))
    assert "columns.c" in str(error.value)
    assert not any(str(one) in str(error.value) for one in ("secret", "heavy", "-4", "1.5", "1,5"))


@pytest.mark.parametrize("values", [["p", None, "q", "r"], [1.0, float("nan"), 2.0, 3.0]])
def test_a_row_of_nobody_is_refused(values: Any) -> None:
    with pytest.raises(PolicyError, match="1 row has no person"):
        tclose.audit(table(values), rules(c="subject"))


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(PolicyError) as error:
        tclose.audit(table(["1", "x", "2", None]), {**rules(c="count", z="quasi")})
    assert "2 rows have no whole number" in str(error.value)
    assert "columns.z: the table has no such column" in str(error.value)


def test_a_column_of_lists_counts_nothing() -> None:
    for role in ("count", "weight", "subject"):
        with pytest.raises(PolicyError, match="must hold plain values"):
            tclose.audit(table([["1"]] * 4), rules(c=role))


def test_more_rows_than_can_be_counted_are_refused() -> None:
    with pytest.raises(PolicyError, match="more rows than can be counted"):
        tclose.audit(table([str(2**61)] * 4), rules(c="count"))


@pytest.mark.parametrize(
    "roles",
    [
        {"c": "count", "d": "count"},
        {"c": "frequency", "d": "sampling weight"},
        {"c": "patient", "d": "survey_weight"},
        {"c": "person", "d": "respondent"},
    ],
)
def test_only_one_column_says_what_a_row_counts(roles: dict[str, str]) -> None:
    policy, problems = parse_policy(rules(**roles))
    assert policy is None
    (problem,) = problems
    assert "only one column may say what a row counts" in problem.what
    assert "'c'" in problem.what and "'d'" in problem.what and "insensitive" in problem.hint


def test_a_missing_value_is_no_value_of_a_person() -> None:
    _, problems = parse_policy(rules(s={"role": "sensitive", "missing": "any"}, c="subject"))
    (problem,) = problems
    assert "may not be any value where rows are counted by person" in problem.what


def test_only_a_sensitive_column_takes_a_promise() -> None:
    _, problems = parse_policy(rules(c={"role": "weight", "t": 0.1}))
    assert "only a sensitive column can have these keys" in str(problems[0])


@pytest.mark.parametrize("role", ["count", "weight", "subject"])
@pytest.mark.parametrize("form", ["anatomy", "slicing", "projections"])
def test_several_tables_are_refused_before_anything_is_written(
    form: str, role: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="every row counts as one"):
        promised = rules(c=role, s={"role": "sensitive", "t": 1})
        tclose.split(table(["1", "2", "3", "4"]), promised, form=form, output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_transformer_that_would_name_persons_is_refused() -> None:
    pytest.importorskip("sklearn")
    from tclose.learn import Anonymizer

    with pytest.raises(ValueError, match=r"columns\.c: a transformer keeps no key"):
        Anonymizer(rules(c="subject")).fit(table(["p", "q", "r", "s"]).to_pandas())


def test_numbers_of_every_kind_are_read_as_they_are_written() -> None:
    short = tclose.audit(table([0.1, 0.2, 0.3, 0.4], pa.float32()), rules(c="weight"))
    text = tclose.audit(table(["0.1", "0.2", "0.3", "0.4"]), rules(c="weight"))
    whole = tclose.audit(table(["1", "2", "3", "4"]), rules(c="weight"))
    exact = [[one.achieved_exact for one in audit.measured] for audit in (short, text, whole)]
    assert exact[0] == exact[1] == exact[2]
    kinds = (pa.int8(), pa.float64(), pa.decimal128(25, 3), pa.string())
    counted = []
    for kind in kinds:
        values = (
            pa.array([3, 1, 2, 5]).cast(kind) if kind != pa.string() else ["3", "1.0", "2e0", "+5"]
        )
        counted.append(tclose.audit(table(values, kind), rules(c="count")).rows)
    assert counted == [11] * len(kinds)


@pytest.mark.slow
def test_a_released_file_is_counted_by_person_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"age": 20 + (who * 7 + visit) % 50, "town": f"t{who % 4}",
         "ill": "abcd"[(who + visit) % 4], "patient": f"Ms {who}"}
        for who in range(60)
        for visit in range(1 + who % 5)
    ]  # fmt: skip
    with Path("visits.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    columns = '[columns]\nage = "quasi"\ntown = "quasi"\n'
    columns += 'ill = {{ role = "sensitive", t = 0.25, distance = "equal" }}\npatient = "{}"\n'
    Path("persons.toml").write_text("k = 6\n" + columns.format("patient"))
    Path("rows.toml").write_text("k = 6\n" + columns.format("insensitive"))
    run = CliRunner()

    def call(*given: str) -> Any:
        return run.invoke(app, list(given))

    made = call("anonymize", "visits.csv", "--policy", "persons.toml", "-o", "out.csv",
                "--certificate", "out.json", "--effort", "0.5")  # fmt: skip
    assert made.exit_code == 0, made.output
    classes = defaultdict(set)
    with Path("out.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            classes[row["age"], row["town"]].add(row["patient"])
            assert not row["patient"].startswith("Ms ")
    assert min(len(people) for people in classes.values()) >= 6
    assert len(set().union(*classes.values())) == 60
    assert call("verify", "out.csv", "--certificate", "out.json").exit_code == 0
    assert call("verify", "out.csv", "--policy", "persons.toml").exit_code == 0
    told = json.loads(call("audit", "out.csv", "--policy", "persons.toml", "--json").stdout)
    assert told["k"] == min(len(people) for people in classes.values())
    assert told["rows"] == len(rows) and any(
        "rows of one person are linked" in note for note in told["notes"]
    )
    # A class of one person's rows is large by rows and small by persons.
    lines = Path("out.csv").read_text().splitlines()
    who = lines[1].rsplit(",", 1)[1]
    Path("bad.csv").write_text("\n".join([*lines, *[f"99,t9,{v},{who}" for v in "abcdab"], ""]))
    assert call("verify", "bad.csv", "--policy", "persons.toml").exit_code == 1
    told = json.loads(call("audit", "bad.csv", "--policy", "persons.toml", "--json").stdout)
    assert told["k"] == 1
    assert json.loads(call("audit", "bad.csv", "--policy", "rows.toml", "--json").stdout)["k"] == 6
