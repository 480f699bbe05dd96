"""The commands that make a release: what they print, and what they return."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from typer.testing import Result

Run = Callable[..., Result]


def anonymize(run: Run, clinic: Mapping[str, Path], *more: object) -> Result:
    return run(
        "anonymize", clinic["table"], "--policy", clinic["policy"], "-o", clinic["release"],
        "--plan", clinic["plan"], *more,
    )  # fmt: skip


def test_anonymize_prints_one_json_object(run: Run, clinic: Mapping[str, Path]) -> None:
    result = anonymize(run, clinic, "--json")
    assert result.exit_code == 0 and result.stderr == ""
    told = json.loads(result.stdout)
    assert told["holds"] is True and told["rows"] == 120 and told["left_out"] == 0
    assert told["method"] == "mondrian" and 0 < told["loss"] < 1
    assert set(told["columns"]) == {"age", "zip"}
    assert [one["required"] for one in told["requirements"]] == ["4", "0.25", "2"]
    assert Path(told["output"]) == clinic["release"]


def test_anonymize_tells_people_what_was_lost(run: Run, clinic: Mapping[str, Path]) -> None:
    told = anonymize(run, clinic).stdout
    assert "The promise holds. It was verified" in " ".join(told.split())
    assert "Information loss" in told and "zip" in told


def test_an_error_is_a_json_object_too(run: Run, clinic: Mapping[str, Path]) -> None:
    clinic["policy"].write_text(clinic["policy"].read_text().replace("k = 4", "k = 400"))
    result = anonymize(run, clinic, "--json")
    assert result.exit_code == 2
    assert "no release can keep this promise" in json.loads(result.stdout)["error"]
    assert not clinic["release"].exists() and not clinic["plan"].exists()


def test_apply_prints_one_json_object_and_its_release_can_be_verified(
    run: Run, clinic: Mapping[str, Path]
) -> None:
    assert anonymize(run, clinic).exit_code == 0
    lines = clinic["table"].read_text().splitlines()
    Path("more.csv").write_text("\n".join([*lines[:100], "X,99,99999,flu,n"]) + "\n")
    result = run(
        "apply", clinic["plan"], "more.csv", "-o", "n.csv", "--certificate", "n.json", "--json"
    )
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["holds"] is True and told["method"] == "apply (mondrian)"
    assert told["outside"] == 1 and told["rows"] + told["left_out"] == 100
    assert run("verify", "n.csv", "--certificate", "n.json").exit_code == 0


def test_methods_are_listed(run: Run) -> None:
    listed = json.loads(run("methods", "--json").stdout)
    assert {"mondrian", "auto"} <= {one["name"] for one in listed}
    assert all(one["summary"] and isinstance(one["supports"], list) for one in listed)
    assert "mondrian" in run("methods").stdout


def test_pseudonyms_are_keyed_by_a_file(run: Run, clinic: Mapping[str, Path]) -> None:
    rules = clinic["policy"].read_text() + '[release]\nidentifiers = "pseudonym"\n'
    clinic["policy"].write_text(rules)
    Path("key").write_text("0123456789abcdef\n")
    first, second = (
        (anonymize(run, clinic, "--key-file", "key"), clinic["release"].read_bytes())[1]
        for _ in range(2)
    )
    assert first == second and b"SECRET" not in first
    Path("key").write_text("short")
    assert anonymize(run, clinic, "--key-file", "key").exit_code == 2
    assert anonymize(run, clinic, "--key-file", "nowhere").exit_code == 2


def test_unknown_answers_to_an_interruption_are_refused(
    run: Run, clinic: Mapping[str, Path]
) -> None:
    assert anonymize(run, clinic, "--on-interrupt", "perhaps").exit_code == 2
