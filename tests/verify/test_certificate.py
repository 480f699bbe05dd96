"""A certificate says nothing about persons, and nothing in it is believed."""

from __future__ import annotations

import copy
import csv
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import Result

import tclose
from tclose.plain import json_hash
from tclose.policy.load import policy_from
from tclose.policy.model import Policy

TOLD = {
    "loss", "input_rows", "method", "seed", "versions", "command", "why", "stopped", "tried",
    "seconds", "effort", "suppression", "warnings", "left_out", "row_order",
}  # fmt: skip


@pytest.fixture
def made(run: Callable[..., Result], clinic: Mapping[str, Path]) -> Mapping[str, Path]:
    result = run(
        "anonymize", clinic["table"], "--policy", clinic["policy"], "-o", clinic["release"],
        "--certificate", clinic["certificate"], "--plan", clinic["plan"],
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    return clinic


@pytest.fixture
def verified(run: Callable[..., Result], made: Mapping[str, Path]) -> Callable[[], Result]:
    return lambda: run("verify", made["release"], "--certificate", made["certificate"], "--json")


def lines(result: Result) -> dict[str, dict[str, Any]]:
    return {one["line"]: one for one in json.loads(result.stdout)["certificate"]}


def test_every_line_is_confirmed_or_said_to_need_the_original(
    verified: Callable[[], Result], made: Mapping[str, Path]
) -> None:
    result = verified()
    assert result.exit_code == 0
    found = lines(result)
    assert {name for name, one in found.items() if one["confirmed"] is None} <= TOLD
    assert all(one["confirmed"] is not False for one in found.values())
    assert len(json.loads(made["certificate"].read_text())["requirements"]) == 3
    about = [name for name in found if name.startswith(("k-anon", "t-close", "distinct"))]
    assert len(about) == 3
    assert "0.25 required" in next(found[n]["stated"] for n in about if n.startswith("t-"))


def test_hashes_are_those_of_the_files(made: Mapping[str, Path]) -> None:
    content = json.loads(made["certificate"].read_text())
    kept = json.loads(made["plan"].read_text())["provenance"]
    for name, file in (("input", "table"), ("output", "release")):
        assert kept[name] == hashlib.sha256(made[file].read_bytes()).hexdigest()
    assert content["hashes"] == {"policy": json_hash(content["policy"]), "output": kept["output"]}
    assert content["input_rows"] == content["rows"] == 120


def test_a_terminal_shows_short_hashes_and_json_whole_ones(
    run: Callable[..., Result], made: Mapping[str, Path], verified: Callable[[], Result]
) -> None:
    whole = hashlib.sha256(made["release"].read_bytes()).hexdigest()
    seen = run("verify", made["release"], "--certificate", made["certificate"]).stdout
    assert whole[:16] in seen and whole[:17] not in seen
    assert lines(verified())["sha256 of the file"]["counted"] == whole


def tampered(rows: list[list[str]], how: str) -> list[list[str]]:
    if how == "a cell":
        rows[5][3] = "cough" if rows[5][3] != "cough" else "flu"
    if how == "a row more":
        rows.append(rows[3])
    if how == "a row less":
        rows.pop()
    if how == "a class split":
        mates = [row for row in rows[1:] if row[:2] == rows[1][:2]]
        mates[0][0] = mates[1][0] = "[1, 99]"
    return rows


@pytest.mark.parametrize("how", ["a cell", "a row more", "a row less", "a class split"])
def test_a_changed_release_is_refuted(
    verified: Callable[[], Result], made: Mapping[str, Path], how: str
) -> None:
    with made["release"].open(newline="") as file:
        rows = tampered([[*row] for row in csv.reader(file)], how)
    with made["release"].open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    result = verified()
    assert result.exit_code == 1
    assert lines(result)["sha256 of the file"]["confirmed"] is False


def leaves(value: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, (*path, key))
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from leaves(one, (*path, at))
    else:
        yield path, value


HOW_IT_CAME_ABOUT = {
    "tclose_certificate", "method", "stopped", "tried", "seed", "effort", "seconds", "suppression",
    "command", "versions", "loss", "input_rows", "left_out", "levels", "optimality", "leftover",
    "why", "row_order",
}  # fmt: skip


@pytest.mark.slow
def test_every_number_that_can_be_recounted_is_refuted_when_changed(
    verified: Callable[[], Result], made: Mapping[str, Path]
) -> None:
    content = json.loads(made["certificate"].read_text())
    tried = 0
    for path, value in leaves(content):
        about_the_original = path[0] == "hashes" and path[1] not in ("output", "policy")
        if path[0] in HOW_IT_CAME_ABOUT or about_the_original or path[-1] == "role":
            continue
        if path[0] == "policy" and path[-1] not in ("k", "t"):
            continue
        wrong = copy.deepcopy(content)
        place = wrong
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = changed(value)
        made["certificate"].write_text(json.dumps(wrong))
        assert verified().exit_code == 1, path
        tried += 1
    assert tried > 30


def changed(value: Any) -> Any:
    if value is None:
        return "told"
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return "1/3" if value[:1].isdigit() and len(value) < 60 else f"{value}0"


@pytest.mark.parametrize("key", ["left_out", "input_rows"])
def test_rows_left_out_must_add_up(
    verified: Callable[[], Result], made: Mapping[str, Path], key: str
) -> None:
    content = json.loads(made["certificate"].read_text())
    if key == "left_out":
        content["left_out"]["rows"] += 1
    else:
        content["input_rows"] += 1
    made["certificate"].write_text(json.dumps(content))
    assert verified().exit_code == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "[" * 9999,
        '{"tclose_certificate": true}',
        '{"tclose_certificate": 0}',
        '{"tclose_certificate": 1}',
        '{"tclose_certificate": 2}',
        "\x00",
    ],
)
def test_what_is_no_certificate_is_refused(
    verified: Callable[[], Result], made: Mapping[str, Path], text: str
) -> None:
    made["certificate"].write_text(text)
    result = verified()
    assert result.exit_code == 2
    assert "not a certificate" in result.stderr


def test_a_certificate_with_a_broken_policy_is_a_policy_error(
    verified: Callable[[], Result], made: Mapping[str, Path]
) -> None:
    content = json.loads(made["certificate"].read_text())
    content["policy"]["columns"]["age"] = "nonsense"
    made["certificate"].write_text(json.dumps(content))
    result = verified()
    assert result.exit_code == 2 and "bug in tclose" not in result.stderr


def test_neither_certificate_nor_plan_tells_a_cell(
    run: Callable[..., Result], made: Mapping[str, Path]
) -> None:
    told = made["certificate"].read_text()
    with made["table"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    for text in (told, made["plan"].read_text()):
        assert "SECRET" not in text
        assert not any(f'"{row["note"]}"' in text for row in rows)
        assert not any(ill in text for ill in {row["ill"] for row in rows})
    for row in rows:
        assert f'"{row["zip"]}"' not in told and row["zip"] not in told.replace(" ", "\n").split()


def test_a_certificate_holds_plain_values_only(made: Mapping[str, Path]) -> None:
    table = pa.table({"a": [1, 2, 3, 4], "s": ["x", "y", "x", "y"]})
    policy = {"k": 2, "columns": {"a": "quasi", "s": {"role": "sensitive", "t": 0.5}}}
    release = tclose.anonymize(table, policy, method="mondrian")
    for value in (release.certificate.to_json(), release.plan.to_json()):
        assert json.loads(json.dumps(value, allow_nan=False)) == value
        assert all(type(one) in (str, int, float, bool, type(None)) for _, one in leaves(value))


RICH: dict[str, Any] = {
    "k": 2,
    "readings": ["separate", "cross"],
    "joint": [{"columns": ["s", "u"], "t": "1/3", "distance": "mean"}],
    "presence": {"max": 0.5},
    "population": "people.csv",
    "columns": {
        "i": "id",
        "a": {"role": "QI", "hierarchy": {"intervals": [5, 10], "origin": "1/2"}},
        "e": {"role": "quasi", "missing": "forbid"},
        "b": {"role": "quasi", "hierarchy": {"groups": {"x": ["p", "q"], "y": {"z": ["r"]}}}},
        "c": {"role": "quasi", "hierarchy": "file.csv"},
        "d": {"role": "quasi", "hierarchy": {"cuts": [[1, 2], [2]]}},
        "s": {"role": "sensitive", "t": 0.1, "l": {"distinct": 2, "recursive": {"c": 2, "l": 2}}},
        "u": {"role": "sensitive", "order": [1, True, "x"], "domain": "declared", "alpha": 0.5,
              "distance": {"smoothed-js": {"over": "ordered", "bandwidth": "1/4"}}, "t": 0.3},
        "v": {"role": "sensitive", "beta": {"enhanced": 1}, "delta": {"max": 1, "base": "2"},
              "distance": {"matrix": "m.csv"}, "t": 1, "p": 2},
    },
    "search": {"seconds": 0.5, "suppression": "1/20"},
    "release": {"rows": "shuffle"},
}  # fmt: skip


def test_a_certified_policy_reads_back_as_the_same_policy() -> None:
    policy = Policy.model_validate(RICH)
    again = policy_from(json.loads(json.dumps(policy.to_json())), ".")
    assert again == policy
    assert again.to_json() == policy.to_json()


def test_a_saved_release_is_certified_by_its_own_file(
    run: Callable[..., Result], elsewhere: Path
) -> None:
    table = pa.table({"a": list(range(8)), "s": ["x", "y"] * 4})
    policy = {"k": 2, "columns": {"a": "quasi", "s": {"role": "sensitive", "t": 0.5}}}
    release = tclose.anonymize(table, policy, method="mondrian")
    for name in ("r.csv", "r.tsv", "r.parquet", "r.arrow"):
        release.save(name, certificate="c.json", plan="p.json")
        result = run("verify", name, "--certificate", "c.json", "--plan", "p.json")
        assert result.exit_code == 0, result.stdout + result.stderr


def test_a_release_is_not_saved_over_the_table_it_was_made_from(elsewhere: Path) -> None:
    raw = b"a,s\n" + b"".join(b"%d,%s\n" % (at, b"xy"[at % 2 :][:1]) for at in range(8))
    Path("raw.csv").write_bytes(raw)
    policy = {"k": 2, "columns": {"a": "quasi", "s": {"role": "sensitive", "t": 0.5}}}
    release = tclose.anonymize("raw.csv", policy, method="mondrian")
    with pytest.raises(tclose.UsageError, match="is an input"):
        release.save("raw.csv")
    assert Path("raw.csv").read_bytes() == raw
    release.save("other.csv")
    release.save("other.csv", certificate="c.json")  # a release may be written again


def test_empty_texts_are_not_saved_where_they_would_be_missing_values(elsewhere: Path) -> None:
    table = pa.table({"a": list(range(8)), "s": ["", None, "x", "y"] * 2})
    policy = {"k": 2, "columns": {"a": "quasi", "s": {"role": "sensitive", "t": 0.9}}}
    release = tclose.anonymize(table, policy, method="mondrian")
    for name in ("r.csv", "r.xlsx"):
        with pytest.raises(tclose.UsageError, match="empty texts"):
            release.save(name, certificate="c.json")
        assert not Path(name).exists() and not Path("c.json").exists()
    release.save("r.parquet", certificate="c.json")
    assert tclose.verify("r.parquet", policy).requirements == release.audit.requirements


def test_a_saved_plan_stays_that_of_the_release_it_was_made_for(elsewhere: Path) -> None:
    table = pa.table({"a": list(range(8)), "s": ["x", "y"] * 4})
    policy = {"k": 2, "columns": {"a": "quasi", "s": {"role": "sensitive", "t": 0.5}}}
    first = tclose.anonymize(table, policy, method="mondrian")
    assert first.plan is not None and first.plan.provenance is not None
    later = tclose.apply(first.plan, table.slice(0, 6))
    later.save("later.csv", plan="p.json")
    saved = tclose.Plan.load("p.json").provenance
    assert saved is not None and saved.output == first.certificate.hashes.output


@pytest.mark.parametrize("recoding", ["local", "mean"])
def test_levels_are_told_only_of_values_that_are_at_them(recoding: str) -> None:
    table = pa.table({"age": [20, 20, 30, 30], "ill": list("abab")})
    ill = {"role": "sensitive", "t": "1/2"}
    rules = {"k": 2, "columns": {"age": "quasi", "ill": ill}, "release": {"recoding": recoding}}
    content = tclose.anonymize(table, rules, method="optimal").certificate.to_json()
    assert ("levels" in content, "optimality" in content) == ((recoding == "local",) * 2)
