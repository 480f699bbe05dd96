"""Identifiers of a release are what its policy says, and its certificate is about that policy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import Result

import tclose
from tclose.plain import json_hash
from tclose.recode.rewrite import Pseudonyms

Run = Callable[..., Result]
TABLE = pa.table(
    {
        "name": [f"Person {at}" for at in range(12)],
        "doctor": [f"Person {at % 3}" for at in range(12)],
        "age": [20 + at // 4 for at in range(12)],
        "ill": ["flu", "ulcer", "cough"] * 4,
    }
)


def rules(identifiers: str, **roles: Any) -> dict[str, Any]:
    ill = {"role": "sensitive", "t": "1/2"}
    columns = {"name": "identifier", "doctor": "identifier", "age": "quasi", "ill": ill}
    return {"k": 2, "columns": columns | roles, "release": {"identifiers": identifiers}}


def test_a_certificate_of_another_policy_is_refuted(run: Run, clinic: Mapping[str, Path]) -> None:
    table, policy, release = clinic["table"], clinic["policy"], clinic["release"]
    certificate = clinic["certificate"]
    made = run(
        "anonymize", table, "--policy", policy, "-o", release, "--certificate", certificate,
        "--effort", "0",
    )  # fmt: skip
    assert made.exit_code == 0, made.stderr
    asked = ("verify", release, "--policy", policy, "--certificate", certificate)
    assert run(*asked).exit_code == 0
    content = json.loads(certificate.read_text())
    content["policy"]["k"] = 500
    content["hashes"]["policy"] = json_hash(content["policy"])
    certificate.write_text(json.dumps(content))
    found = run(*asked, "--json")
    lines = {check["line"]: check for check in json.loads(found.stdout)["certificate"]}
    assert found.exit_code == 1
    assert lines["policy"]["confirmed"] is False and lines["policy"]["counted"] == "differs in k"


def test_a_split_release_is_held_against_the_policy_that_is_given(tmp_path: Path) -> None:
    policy = {"k": 2, "columns": {"age": "quasi", "ill": {"role": "sensitive", "l": 2}}}
    made = tclose.split(TABLE.select(["age", "ill"]), policy, form="anatomy", output=tmp_path / "r")
    assert tclose.verify_split(made.path, policy).holds
    other = tclose.verify_split(made.path, {**policy, "k": 1})
    assert not other.holds
    assert "policy" in [check.line for check in other.checks if check.confirmed is False]


@pytest.mark.parametrize("form", ["drop", "mask", "pseudonym"])
def test_raw_names_fail_whatever_the_policy_makes_of_identifiers(form: str) -> None:
    audit = tclose.verify(TABLE, rules(form))
    broken = [verdict for verdict in audit.requirements if not verdict.holds]
    assert audit.holds is False
    assert [(verdict.attribute, verdict.achieved) for verdict in broken] == [
        ("name", 12),
        ("doctor", 3),
    ]


@pytest.mark.parametrize("form", ["drop", "mask", "pseudonym"])
def test_what_is_released_verifies(form: str) -> None:
    assert tclose.verify(tclose.anonymize(TABLE, rules(form), effort=0)).holds


@pytest.mark.parametrize("kind", [pa.string_view(), pa.dictionary(pa.int8(), pa.string())])
def test_pseudonyms_verify_however_they_are_stored_and_many_as_they_are(kind: pa.DataType) -> None:
    data = tclose.anonymize(TABLE, rules("pseudonym"), effort=0).data
    at = data.column_names.index("name")
    stored = data.set_column(at, "name", data["name"].cast(kind))
    assert tclose.verify(stored, rules("pseudonym"), reading=tclose.Reading(max_cells=5)).holds


def test_a_single_name_in_every_row_is_no_mask_and_not_absent() -> None:
    alike = TABLE.set_column(0, "name", pa.array(["Person 1"] * 12)).drop_columns(["doctor"])
    columns = {"name": "identifier", "age": "quasi", "ill": {"role": "sensitive", "t": "1/2"}}
    for form in ("drop", "mask", "pseudonym"):
        policy = {"k": 2, "columns": columns, "release": {"identifiers": form}}
        assert tclose.verify(alike, policy).holds is False, form
    masked = alike.set_column(0, "name", pa.array(["*"] * 12))
    policy = {"k": 2, "columns": columns, "release": {"identifiers": "mask"}}
    assert tclose.verify(masked, policy).holds


def test_object_numbers_of_a_database_are_no_pseudonyms() -> None:
    numbers = pa.array([f"{at:024x}" for at in range(12)])
    table = TABLE.set_column(0, "name", numbers).drop_columns(["doctor"])
    columns = {"name": "identifier", "age": "quasi", "ill": {"role": "sensitive", "t": "1/2"}}
    policy = {"k": 2, "columns": columns, "release": {"identifiers": "pseudonym"}}
    assert tclose.verify(table, policy).holds is False


def test_whose_rows_they_are_must_be_a_pseudonym_too() -> None:
    policy = rules("drop", name="subject")
    table = TABLE.drop_columns(["doctor"])
    assert tclose.verify(table, policy).holds is False
    release = tclose.anonymize(TABLE, policy, effort=0)
    assert tclose.verify(release).holds


def test_equal_values_of_two_columns_have_different_pseudonyms() -> None:
    names = Pseudonyms(b"a key of the house")
    assert names.of("name", "Person 1") != names.of("doctor", "Person 1")
    key = b"a key of the house"
    release = tclose.anonymize(TABLE, rules("pseudonym"), effort=0, key=key).data
    mine, theirs = (set(release.column(name).to_pylist()) for name in ("name", "doctor"))
    assert len(mine) == 12 and len(theirs) == 3 and not mine & theirs
