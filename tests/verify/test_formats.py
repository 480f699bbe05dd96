"""Certificates and plans are what their schemas say, and those of other formats are told apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from typer.testing import Result

import tclose
from tclose.data.io.paths import Reading
from tclose.data.io.records import VersionedRecord
from tclose.errors import UsageError
from tclose.recode.plan import Plan
from tclose.verify.certificate import Certificate
from tclose.verify.recheck import recheck

OLD = Path(__file__).parent / "format_1"
SCHEMAS = Path(__file__).parents[2] / "docs" / "reference" / "schema"
KINDS: list[type[VersionedRecord]] = [Certificate, Plan]
TABLE = pa.table(
    {
        "age": [21, 22, 23, 44, 45, 46, 47, 90],
        "zip": list("abcabcab"),
        "ill": ["a", "b"] * 4,
        "sign": list("uvvuuvvu"),
    }
)
GROUPED = {"role": "quasi", "hierarchy": {"groups": {"x": ["a", "b"], "y": ["c"]}}}
COLUMNS: dict[str, Any] = {"age": "quasi", "zip": GROUPED, "sign": "insensitive"}
RULES = {"k": 2, "columns": {**COLUMNS, "ill": {"role": "sensitive", "t": 0.5}}}
LEVELS = {"role": "quasi", "hierarchy": {"intervals": [10, 50]}}
FULL = {"k": 2, "columns": {**RULES["columns"], "age": LEVELS}}


def release_made(how: str) -> Any:
    if how == "apply":
        return tclose.apply(release_made("cuts").plan, TABLE)
    if how == "levels":
        return tclose.anonymize(TABLE, FULL, method="optimal", suppression=0.2)
    if how == "leftover":
        rules = {**FULL, "release": {"leftover": "root"}}
        return tclose.anonymize(TABLE, rules, method="mondrian", suppression=0.4)
    if how == "parts":
        return tclose.anonymize(TABLE, RULES, reading=Reading(max_cells=5))
    if how in ("anatomy", "slicing"):
        rules = {"k": 2, "columns": {**COLUMNS, "ill": {"role": "sensitive", "l": 2}}}
        return tclose.split(TABLE, rules, form=how)
    if how == "projections":
        rules = {
            "k": 2,
            "columns": {**RULES["columns"], "sign": {"role": "sensitive", "accept": "made up"}},
        }
        return tclose.split(TABLE, rules, form=how, sets=[["ill"], ["sign"]])
    return tclose.anonymize(TABLE, RULES, method="mondrian")


@pytest.mark.parametrize(
    "how",
    [
        "cuts",
        "apply",
        "levels",
        "leftover",
        "parts",
        "anatomy",
        "slicing",
        pytest.param("projections", marks=pytest.mark.slow),
    ],
)
def test_whatever_is_written_fits_its_schema_and_reads_back(how: str) -> None:
    release = release_made(how)
    for record in (release.certificate, getattr(release, "plan", None)):
        if record is not None:
            written = json.loads(json.dumps(record.to_json(), allow_nan=False))
            jsonschema.validate(written, record.json_schema())
            assert type(record).from_json(written) == record
            assert type(record).from_json(written).to_json() == written


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_itself_sound_and_published(kind: type[VersionedRecord]) -> None:
    schema = kind.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert json.loads((SCHEMAS / f"{kind.kind}.json").read_text()) == schema


@pytest.mark.parametrize(
    "path",
    ["", "hashes", "sizes", "loss", "left_out", "leftover", "requirements.0", "tried.0"],
)
def test_no_part_of_a_certificate_takes_a_key_that_it_does_not_know(path: str) -> None:
    refuses_more(Certificate, json.loads((OLD / "leftover.json").read_text()), path)


@pytest.mark.parametrize("path", ["", "columns.0", "cuts.0", "cuts.1"])
def test_no_part_of_a_plan_takes_a_key_that_it_does_not_know(path: str) -> None:
    refuses_more(Plan, json.loads((OLD / "plan.json").read_text()), path)


def refuses_more(kind: type[VersionedRecord], raw: dict[str, Any], path: str) -> None:
    raw[f"tclose_{kind.kind}"] = kind.format
    jsonschema.validate(raw, kind.json_schema())
    kind.from_json(raw)
    place: Any = raw
    for step in path.split(".") if path else ():
        place = place[int(step) if step.isdigit() else step]
    place["more"] = 1
    with pytest.raises(UsageError, match=f"not a {kind.kind} of tclose: .*more"):
        kind.from_json(raw)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(raw, kind.json_schema())


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(OLD.glob("*.json")) if path.stem != "plan"],
    ids=lambda p: p.stem,
)
def test_certificates_of_the_first_format_are_read(path: Path) -> None:
    old = json.loads(path.read_text())
    assert old["tclose_certificate"] == 1
    read = Certificate.load(path)
    told = read.to_json()
    assert told.pop("tclose_certificate") == 2
    stated = {key: value for key, value in old.items() if value is not None}
    assert told == {key: stated[key] for key in told}
    assert set(stated) - set(told) == {"tclose_certificate"}


def test_a_release_of_the_first_format_is_confirmed_and_its_plan_applied() -> None:
    old = Certificate.load(OLD / "search.json")
    audit = tclose.verify(OLD / "release.csv", old.policy)
    checks = {check.line: check.confirmed for check in recheck(old, audit, old.hashes.output)}
    assert False not in checks.values() and list(checks.values()).count(True) > 10
    plan = Plan.load(OLD / "plan.json")
    again = tclose.apply(plan, TABLE.drop_columns("sign")).data
    lines = (OLD / "release.csv").read_text().splitlines()[1:]
    assert sorted(again.column("age").to_pylist()) == sorted(line.split('"')[1] for line in lines)


@pytest.mark.parametrize("kind", KINDS)
def test_a_later_format_is_refused_with_what_to_do(
    kind: type[VersionedRecord], tmp_path: Path
) -> None:
    place = tmp_path / "later.json"
    place.write_text(json.dumps({f"tclose_{kind.kind}": kind.format + 1, "anything": True}))
    with pytest.raises(UsageError, match=rf"format {kind.format + 1}.*\n  Hint: update tclose"):
        kind.load(place)


@pytest.mark.parametrize("kind", ["certificate", "plan", "policy"])
def test_the_command_prints_each_schema(run: Callable[..., Result], kind: str) -> None:
    printed = json.loads(run("schema", kind).stdout)
    jsonschema.Draft202012Validator.check_schema(printed)
    assert printed["title"].lower() == kind
    if kind == "policy":
        assert printed == json.loads(run("policy", "schema").stdout)


def test_there_is_no_schema_of_anything_else(run: Callable[..., Result]) -> None:
    assert run("schema", "release").exit_code == 2
