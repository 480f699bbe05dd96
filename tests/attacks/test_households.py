"""The risk of households, against products that are multiplied by hand."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pytest
from typer.testing import CliRunner

import tclose
from tclose.cli import app
from tclose.errors import PolicyError

POLICY: dict[str, Any] = {
    "k": 3,
    "household": "home",
    "columns": {
        "home": "identifier",
        "age": "quasi",
        "sex": "quasi",
        "ill": {"role": "sensitive", "t": 0.5},
    },
}
Row = dict[str, Any]


def make_rows(seed: int, homes: int = 40) -> list[Row]:
    chance = random.Random(seed)
    return [
        {
            "home": f"h{home}",
            "age": chance.choice([20, 30, 40, 50]),
            "sex": chance.choice("fm"),
            "ill": chance.choice("ab"),
        }
        for home in range(homes)
        for _ in range(chance.choice([1, 1, 2, 3]))
    ]


def multiply(rows: list[Row], homes: list[Any]) -> dict[Any, Fraction]:
    """By household the chance that one of its members is found; `homes` is that of each row."""
    sizes = Counter((row["age"], row["sex"]) for row in rows)
    hidden: dict[Any, Fraction] = {}
    for row, home in zip(rows, homes, strict=True):
        size = sizes[row["age"], row["sex"]]
        hidden[home] = hidden.get(home, Fraction(1)) * (1 - Fraction(1, size))
    return {home: 1 - chance for home, chance in hidden.items()}


@pytest.mark.parametrize("seed", range(4))
def test_the_risk_of_a_household_is_that_of_any_of_its_members(seed: int) -> None:
    rows = make_rows(seed)
    risk = multiply(rows, [row["home"] for row in rows])
    (found,) = tclose.attack(pa.Table.from_pylist(rows), POLICY).of("household")
    assert found.numbers["households"] == len(risk) == 40
    assert found.numbers["highest risk"] == pytest.approx(float(max(risk.values())))
    assert found.numbers["expected households"] == pytest.approx(float(sum(risk.values())))
    high = {home for home, chance in risk.items() if chance > Fraction(1, 3)}
    assert found.affected == sum(row["home"] in high for row in rows)


@pytest.mark.parametrize("seed", range(4))
def test_households_alike_have_members_in_the_same_classes(seed: int) -> None:
    rows = make_rows(seed)
    members: dict[str, Counter[Any]] = {}
    for row in rows:
        members.setdefault(row["home"], Counter())[row["age"], row["sex"]] += 1
    alike = Counter(frozenset(each.items()) for each in members.values())
    few = {home for home, each in members.items() if alike[frozenset(each.items())] < 3}
    (found,) = tclose.attack(pa.Table.from_pylist(rows), POLICY).of("household structure")
    assert found.affected == sum(row["home"] in few for row in rows)
    single = sum(times == 1 for times in alike.values())
    assert found.numbers["unique households"] == single
    assert found.numbers["fewest alike"] == min(alike.values())


def test_a_release_without_the_column_is_judged_beside_its_original() -> None:
    rows = make_rows(9)
    table = pa.Table.from_pylist(rows)
    release = tclose.anonymize(table, POLICY, method="mondrian")
    alone = tclose.attack(release)
    assert not alone.of("household") and any("household" in each for each in alone.not_tried)
    report = tclose.attack(release, original=table)
    assert not report.of("household structure")
    (found,) = report.of("household")
    kept = tclose.anonymize(
        table, POLICY | {"release": {"identifiers": "pseudonym"}}, method="mondrian"
    )
    told = kept.data.to_pylist()
    risk = multiply(told, [row["home"] for row in told])
    assert found.numbers["expected households"] == pytest.approx(float(sum(risk.values())))
    (same,) = tclose.attack(kept).of("household")
    assert same.numbers == pytest.approx(found.numbers)
    masked = POLICY | {"release": {"identifiers": "mask"}}
    assert not tclose.attack(tclose.anonymize(table, masked, method="mondrian")).of("household")


def test_a_person_is_one_member_and_who_has_no_household_lives_alone() -> None:
    table = pa.table({
        "home": ["x", "x", "x", None, None],
        "who": ["p", "p", "q", "r", "s"],
        "zip": ["a", "b", "a", "a", "b"],
    })  # fmt: skip
    columns = {"home": "identifier", "who": "subject", "zip": "quasi"}
    (found,) = tclose.attack(table, {"household": "home", "columns": columns}).of("household")
    # p is in a class of 3 persons and in one of 2; q and r in that of 3; s in that of 2.
    expected = 1 - (1 - Fraction(1, 2)) * (1 - Fraction(1, 3)) + Fraction(1, 3) + Fraction(1, 2)
    assert found.numbers["households"] == 3
    assert found.numbers["expected households"] == pytest.approx(float(expected))


def test_the_command_and_the_report_tell_it(tmp_path: Path) -> None:
    source, policy = tmp_path / "table.csv", tmp_path / "policy.toml"
    csv.write_csv(pa.Table.from_pylist(make_rows(2)), source)
    policy.write_text(tclose.Policy.build(**POLICY).to_toml(), encoding="utf-8")
    told = CliRunner().invoke(app, ["attack", str(source), "--policy", str(policy)])
    assert told.exit_code in (0, 1) and "household" in told.stdout
    assert not any(f"h{home}," in told.output for home in range(40))


def test_a_household_is_named_by_an_identifier() -> None:
    with pytest.raises(PolicyError, match="is not an identifier"):
        tclose.audit(pa.Table.from_pylist(make_rows(1)), POLICY | {"household": "age"})
