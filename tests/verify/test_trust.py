"""What a certificate gives away, whether every line of it is accounted for, and who signed it."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv
from typer.testing import Result

import tclose
from tclose.data.binding import hash_hierarchy
from tclose.report.render.terminal import write_plain_text

Run = Callable[..., Result]
Made = Mapping[str, Path]


@pytest.fixture
def made(run: Run, clinic: Made) -> Made:
    result = run(
        "anonymize", clinic["table"], "--policy", clinic["policy"], "-o", clinic["release"],
        "--certificate", clinic["certificate"], "--plan", clinic["plan"], "--effort", "0",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    return clinic


def verify(run: Run, made: Made, *more: object) -> tuple[int, dict[str, dict[str, Any]]]:
    result = run("verify", made["release"], "--certificate", made["certificate"], "--json", *more)
    checks = json.loads(result.stdout).get("certificate", []) if result.stdout else []
    return result.exit_code, {check["line"]: check for check in checks}


def test_a_release_by_an_earlier_plan_is_compared_with_what_the_plan_tells(
    run: Run, made: Made, tmp_path: Path
) -> None:
    out, own = tmp_path / "later.csv", tmp_path / "later.json"
    table, rules = made["table"], ("--policy", made["policy"])
    result = run("apply", made["plan"], table, *rules, "-o", out, "--certificate", own)
    assert result.exit_code == 0, result.stderr
    later = {"release": out, "certificate": own}
    code, lines = verify(run, later, "--plan", made["plan"])
    assert code == 0 and lines["method, of the plan"]["confirmed"]
    other = json.loads(made["plan"].read_text()) | {"method": "hybrid", "seed": 5}
    made["plan"].write_text(json.dumps(other))
    code, lines = verify(run, later, "--plan", made["plan"])
    assert code == 1
    assert [name for name, line in lines.items() if line["confirmed"] is False] == [
        "seed, of the plan",
        "method, of the plan",
    ]
    refused = run("verify", out, "--certificate", own, "--plan", made["plan"], "--original", table)
    assert refused.exit_code == 2 and "earlier release" in refused.stderr


# --- hashes


def test_nothing_that_is_passed_on_lets_values_be_guessed_from_a_hash() -> None:
    ages = [21, 24, 27, 33, 38, 39]
    table = pa.table({"age": ages, "ill": ["a", "b", "c"] * 2})
    age = {"role": "quasi", "hierarchy": {"intervals": [10, 20]}}
    policy = {"k": 2, "columns": {"age": age, "ill": {"role": "sensitive", "t": 1}}}
    release = tclose.anonymize(table, policy, effort=0)
    digests = re.compile("[0-9a-f]{64}")
    passed_on = json.dumps(release.certificate.to_json())
    for edition in ("external", "users"):
        passed_on += write_plain_text(release.report(edition=edition)).replace("\n", "")
    audit = tclose.audit(table, policy)
    hashes = {"table": audit.bound.source.digest()}
    passed_on += write_plain_text(tclose.audit_report(audit, edition="external", hashes=hashes))
    seen = set(digests.findall(passed_on))
    guesses = {
        hash_hierarchy(tclose.check(pa.table({"age": list(guess), "ill": ["a"] * 6}), policy)
                       .hierarchies["age"])
        for guess in combinations((*ages, 50), 6)
    }  # fmt: skip
    known = release.plan.provenance
    assert known.hierarchies["age"] in guesses
    assert seen and not seen & guesses and known.input not in seen
    assert hashes["table"] not in seen


def test_no_file_that_lists_hidden_values_is_hashed_where_others_see_it(tmp_path: Path) -> None:
    ages, ills = [21, 24, 27, 33, 38, 39], ["a", "b", "c"] * 2
    (tmp_path / "ages.csv").write_text("".join(f"{age};{age // 10}0s;*\n" for age in ages))
    (tmp_path / "ills.csv").write_text("a;x;*\nb;x;*\nc;y;*\n")
    ill = {"role": "sensitive", "t": 1, "hierarchy": {"file": "ills.csv"}}
    columns = {"age": {"role": "quasi", "hierarchy": {"file": "ages.csv"}}, "ill": ill}
    policy = tclose.Policy.build(columns, k=2).at(tmp_path)
    release = tclose.anonymize(pa.table({"age": ages, "ill": ills}), policy, effort=0)
    hidden, seen = (
        hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        for name in ("ages.csv", "ills.csv")
    )
    certified = json.dumps(release.certificate.to_json())
    assert hidden not in certified and seen in certified
    for edition in ("external", "users"):
        told = write_plain_text(release.report(edition=edition)).replace("\n", "")
        assert hidden not in told and seen not in told
    assert release.plan.provenance.files == {"ages.csv": hidden, "ills.csv": seen}


def test_the_house_can_still_tell_what_a_release_was_made_from(run: Run, made: Made) -> None:
    given = ("--plan", made["plan"], "--original", made["table"])
    code, lines = verify(run, made, *given)
    assert code == 0
    for line in ("sha256 of the input", "sha256 of the release", "rows read"):
        assert lines[line]["confirmed"] is True, line
    assert any(line.startswith("sha256 of the hierarchy") for line in lines)
    made["table"].write_text(made["table"].read_text() + made["table"].read_text().split("\n")[1])
    code, lines = verify(run, made, *given)
    assert code == 1 and lines["sha256 of the input"]["confirmed"] is False


@pytest.mark.parametrize("suffix", ["html", "json", "txt"])
def test_a_report_for_others_repeats_no_hash_of_a_plan(
    run: Run, made: Made, tmp_path: Path, suffix: str
) -> None:
    given = ("--certificate", made["certificate"], "--plan", made["plan"])
    given += ("--original", made["table"])
    plan = json.loads(made["plan"].read_text())
    kept = [plan["provenance"]["input"], *plan["provenance"]["hierarchies"].values()]
    assert len(kept) > 1
    for edition, is_told in (("external", False), ("internal", True)):
        report = tmp_path / f"{edition}.{suffix}"
        result = run("verify", made["release"], *given, "--report", report, "--edition", edition)
        assert result.exit_code == 0, result.stderr
        text = re.sub(r"\s", "", report.read_text())
        assert "sha256oftheinput" in text
        for digest in kept:
            assert (digest in text) is is_told


# --- every line


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, key))
    else:
        yield path, value


def changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return "1/3" if isinstance(value, str) and value[:1].isdigit() and len(value) < 60 else "x"


@pytest.mark.slow
def test_no_single_change_passes_unnoticed(run: Run, made: Made) -> None:
    content = json.loads(made["certificate"].read_text())
    tried = 0
    for path, value in leaves(content):
        wrong = copy.deepcopy(content)
        place = wrong
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = changed(value)
        made["certificate"].write_text(json.dumps(wrong))
        code, lines = verify(run, made, "--policy", made["policy"])
        told = lines.get(path[0], {"confirmed": False})["confirmed"] is None
        assert code in (1, 2) or told, path
        tried += 1
    assert tried > 60


@pytest.mark.parametrize("place", ["", "hashes", "sizes", "requirements.0", "policy"])
def test_invented_keys_are_refused_or_refuted(run: Run, made: Made, place: str) -> None:
    content = json.loads(made["certificate"].read_text())
    inner: Any = content
    for step in filter(None, place.split(".")):
        inner = inner[int(step) if step.isdigit() else step]
    inner["differential_privacy"] = "epsilon = 0.1"
    made["certificate"].write_text(json.dumps(content))
    assert verify(run, made, "--policy", made["policy"])[0] in (1, 2)


@pytest.mark.parametrize("holds", [[], 1, "true", None, {}])
def test_holds_is_true_or_false(run: Run, made: Made, holds: Any) -> None:
    content = json.loads(made["certificate"].read_text())
    made["certificate"].write_text(json.dumps({**content, "holds": holds}))
    result = run("verify", made["release"], "--certificate", made["certificate"])
    assert result.exit_code == 2 and "holds" in result.stderr and "bug" not in result.stderr


def test_a_key_that_stands_twice_is_refused(run: Run, made: Made) -> None:
    text = made["certificate"].read_text().rstrip().removesuffix("}")
    made["certificate"].write_text(text + ', "holds": true}')
    assert verify(run, made)[0] == 2


@pytest.mark.parametrize("number", ["9" * 4000, "9" * 101, "1e999", "NaN", "-Infinity"])
@pytest.mark.parametrize("place", ["input_rows", "rows", "sizes.discernibility", "policy.k"])
def test_numbers_beyond_measure_are_refused(run: Run, made: Made, place: str, number: str) -> None:
    content = json.loads(made["certificate"].read_text())
    *outer, last = place.split(".")
    inner = content
    for step in outer:
        inner = inner[step]
    inner[last] = "HERE"
    made["certificate"].write_text(json.dumps(content).replace('"HERE"', number))
    result = run("verify", made["release"], "--certificate", made["certificate"])
    assert result.exit_code == 2 and "not a certificate" in result.stderr


def test_columns_that_the_policy_does_not_know_are_refuted(run: Run, made: Made) -> None:
    content = json.loads(made["certificate"].read_text())
    content["loss"]["columns"]["invented"] = 0.0
    made["certificate"].write_text(json.dumps(content))
    assert verify(run, made)[1]["columns of loss"]["confirmed"] is False


def test_changed_files_of_groups_and_distances_are_refuted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("21;20s;*\n22;20s;*\n41;40s;*\n42;40s;*\n")
    (tmp_path / "far.csv").write_text(",a,b\na,0,1\nb,1,0\n")
    (tmp_path / "ages.csv").write_text((tmp_path / "tree.csv").read_text())
    policy = {"k": 2, "columns": {
        "age": {"role": "quasi", "hierarchy": "ages.csv"},
        "size": {"role": "sensitive", "t": 1, "hierarchy": "tree.csv"},
        "ill": {"role": "sensitive", "t": "1/2", "distance": {"matrix": "far.csv"}}}}  # fmt: skip
    (tmp_path / "p.json").write_text(json.dumps(policy))
    ages = [21, 22, 41, 42] * 2
    rows = pa.table({"age": ages, "size": ages, "ill": ["a", "b"] * 4})
    csv.write_csv(rows, tmp_path / "t.csv")
    out, certificate, plan = tmp_path / "out.csv", tmp_path / "c.json", tmp_path / "plan.json"
    result = run(
        "anonymize", tmp_path / "t.csv", "-p", tmp_path / "p.json", "-o", out,
        "--certificate", certificate, "--plan", plan, "--effort", "0",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    asked = ("verify", out, "-p", tmp_path / "p.json", "--certificate", certificate, "--json")
    assert run(*asked).exit_code == 0
    (tmp_path / "far.csv").write_text(",a,b\na,0,2\nb,2,0\n")
    found = run(*asked)
    lines = {check["line"]: check for check in json.loads(found.stdout)["certificate"]}
    assert found.exit_code == 1
    assert lines["sha256 of far.csv"]["confirmed"] is False
    assert lines["sha256 of tree.csv"]["confirmed"] is True
    expected = hashlib.sha256((tmp_path / "tree.csv").read_bytes()).hexdigest()
    assert lines["sha256 of tree.csv"]["stated"] == expected
    assert "sha256 of ages.csv" not in lines
    (tmp_path / "far.csv").write_text(",a,b\na,0,1\nb,1,0\n")
    assert run(*asked, "--plan", plan).exit_code == 0
    (tmp_path / "ages.csv").write_text("21;20s;*\n22;20s;*\n41;20s;*\n42;40s;*\n")
    found = run(*asked, "--plan", plan)
    lines = {check["line"]: check for check in json.loads(found.stdout)["certificate"]}
    assert found.exit_code == 1 and lines["sha256 of ages.csv"]["confirmed"] is False


# --- signatures


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    from cryptography.hazmat.primitives import serialization as form

    private = ed25519.Ed25519PrivateKey.generate()
    mine, public = tmp_path / "steward.pem", tmp_path / "steward.pub"
    pem, plain = form.Encoding.PEM, form.NoEncryption()
    mine.write_bytes(private.private_bytes(pem, form.PrivateFormat.PKCS8, plain))
    known = form.PublicFormat.SubjectPublicKeyInfo
    public.write_bytes(private.public_key().public_bytes(pem, known))
    return mine, public


def test_a_signed_certificate_is_known_by_its_key(
    run: Run, made: Made, keys: tuple[Path, Path]
) -> None:
    mine, public = keys
    assert verify(run, made, "--key", public)[0] == 1, "not signed"
    assert run("sign", made["certificate"], "--key", mine).exit_code == 0
    code, lines = verify(run, made, "--key", public)
    assert code == 0 and lines["signature"]["confirmed"] is True
    code, lines = verify(run, made)
    assert code == 0 and lines["signature"]["confirmed"] is None
    content = json.loads(made["certificate"].read_text())
    made["certificate"].write_text(json.dumps({**content, "seed": content["seed"] + 1}))
    code, lines = verify(run, made, "--key", public)
    assert code == 1 and lines["signature"]["confirmed"] is False


def test_a_signature_by_another_key_is_refuted(
    run: Run, made: Made, keys: tuple[Path, Path]
) -> None:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    assert run("sign", made["certificate"], "--key", keys[0]).exit_code == 0
    other = Ed25519PrivateKey.generate().public_key()
    known = form.PublicFormat.SubjectPublicKeyInfo
    keys[1].write_bytes(other.public_bytes(form.Encoding.PEM, known))
    code, lines = verify(run, made, "--key", keys[1])
    assert code == 1 and lines["signature"]["counted"] == "by another key"


def test_what_is_no_key_is_refused(run: Run, made: Made, keys: tuple[Path, Path]) -> None:
    for wrong in (made["table"], keys[1], Path("none.pem")):
        result = run("sign", made["certificate"], "--key", wrong)
        assert result.exit_code == 2 and "openssl genpkey" in result.stderr
    for endless in ("/dev/zero", "/dev/null"):
        result = run("sign", made["certificate"], "--key", endless)
        assert result.exit_code == 2 and "a device" in result.stderr
        given = ("--certificate", made["certificate"], "--key", endless)
        result = run("verify", made["table"], *given)
        assert result.exit_code == 2 and "a device" in result.stderr
