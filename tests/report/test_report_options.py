"""`--report` on the command line: written whole, refused early, exit codes unchanged."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner, Result

from tclose.cli import app

POLICY = """
k = 2
[columns]
age = "quasi"
ill = { role = "sensitive", t = 0.4 }
"""
NAMED = ("--quasi", "age", "--sensitive", "ill")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [f"{20 + at},{'abab'[at % 4]}" for at in range(24)]
    Path("table.csv").write_text("age,ill\n" + "\n".join(lines) + "\n")
    Path("policy.toml").write_text(POLICY)
    return tmp_path


def anonymized(*more: object) -> Result:
    return run("anonymize", "table.csv", "-p", "policy.toml", "-o", "r.csv",
               "--method", "mondrian", "--certificate", "c.json", *more)  # fmt: skip


def test_anonymize_writes_release_and_report(home: Path) -> None:
    result = anonymized("--report", "report.html")
    assert result.exit_code == 0, result.stderr
    text = Path("report.html").read_text(encoding="utf-8")
    assert "External edition" in text and "Before and after" in text


def test_a_report_may_hold_the_frontier(home: Path) -> None:
    result = anonymized("--report", "report.json", "--frontier", "--effort", "1")
    assert result.exit_code == 0, result.stderr
    told = json.loads(Path("report.json").read_text(encoding="utf-8"))
    shown = {section["key"]: section for section in told["sections"]}
    assert "mondrian" in json.dumps(shown["frontier"]), "the curve is of the method asked for"


def test_no_milder_promise_of_the_frontier_loses_more_than_the_release(home: Path) -> None:
    """Though every point has a tenth of the release's effort."""
    chance = Random(3)
    rows = [
        (chance.randint(20, 80), chance.randint(0, 50), chance.choice("aabc")) for _ in range(300)
    ]
    lines = ["age,pay,ill", *(",".join(map(str, row)) for row in rows)]
    Path("table.csv").write_text("\n".join(lines))
    Path("policy.toml").write_text(
        POLICY.replace("age =", 'pay = "quasi"\nage =').replace("0.4", "0.2")
    )
    result = run("anonymize", "table.csv", "-p", "policy.toml", "-o", "r.csv", "--method", "hybrid",
                 "--certificate", "c.json", "--report", "report.json", "--frontier",
                 "--effort", "0.2", "--no-attacks")  # fmt: skip
    assert result.exit_code == 0, result.stderr
    told = json.loads(Path("report.json").read_text(encoding="utf-8"))
    (shown,) = (each for each in told["sections"] if each["key"] == "frontier")
    (numbers,) = (part["numbers"] for part in shown["parts"] if "numbers" in part)
    lost = {float(row[1]): float(row[2]) for row in numbers["rows"]}
    release = json.loads(Path("c.json").read_text(encoding="utf-8"))["loss"]["overall"]
    assert all(loss <= release + 1e-4 for t, loss in lost.items() if t >= 0.2) and 0.2 in lost


def test_a_frontier_without_a_report_is_refused(home: Path) -> None:
    result = anonymized("--frontier")
    assert result.exit_code == 2 and "--report" in result.stderr
    assert not Path("r.csv").exists()


def test_verify_reports_the_certificate_too(home: Path) -> None:
    assert anonymized().exit_code == 0
    result = run("verify", "r.csv", "--certificate", "c.json", "--report", "v.json",
                 "--edition", "internal")  # fmt: skip
    assert result.exit_code == 0, result.stderr
    told = json.loads(Path("v.json").read_text(encoding="utf-8"))
    captions = [part.get("caption") for section in told["sections"] for part in section["parts"]]
    assert "The certificate, line by line" in captions


def test_a_failing_audit_still_writes_its_report_and_still_fails(home: Path) -> None:
    result = run("audit", "table.csv", "-p", "policy.toml", "--report", "a.txt")
    assert result.exit_code == 1
    assert "The promise: does not hold" in Path("a.txt").read_text(encoding="utf-8")


COMMANDS = {
    "audit": ("audit", "table.csv", "-p", "policy.toml"),
    "anonymize": ("anonymize", "table.csv", "-p", "policy.toml", "-o", "r.csv", "--method",
                  "mondrian"),
    "verify": ("verify", "made.csv", "-p", "policy.toml", "--certificate", "c.json"),
    "frontier": ("frontier", "table.csv", "-p", "policy.toml", "--t", "0.2,0.4", "--method",
                 "mondrian", "--effort", "1"),
}  # fmt: skip


@pytest.fixture
def made(home: Path) -> Path:
    """A home that also holds a release and its certificate."""
    assert run("anonymize", "table.csv", "-p", "policy.toml", "-o", "made.csv",
               "--method", "mondrian", "--certificate", "c.json").exit_code == 0  # fmt: skip
    return home


@pytest.mark.parametrize("command", COMMANDS)
def test_one_document_is_behind_the_file_the_json_and_the_screen(made: Path, command: str) -> None:
    printed = run(*COMMANDS[command], "--json", "--report", "a.json")
    assert "report: a.json" in printed.stderr
    told = json.loads(printed.stdout)
    written = json.loads(Path("a.json").read_text(encoding="utf-8"))
    assert told["report"] == written
    assert told.keys() - {"report"}, "the values for machines stay beside it"
    before = sorted(made.iterdir())
    again = ("--force",) if command in ("anonymize", "frontier") else ()
    shown = run(*COMMANDS[command], *again, "--report", "-")
    assert "report: " not in shown.stderr
    assert shown.exit_code == printed.exit_code
    assert sorted(made.iterdir()) == before, "nothing is written for what is shown"
    for text in (written["title"], *(section["title"] for section in written["sections"])):
        assert text in shown.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_without_a_report_json_is_for_machines_only(made: Path, command: str) -> None:
    told = json.loads(run(*COMMANDS[command], "--json").stdout)
    assert told["rows"] == 24
    assert "report" not in told


def test_the_edition_is_also_that_of_what_is_shown(home: Path) -> None:
    told = json.loads(
        run("audit", "table.csv", *NAMED, "--json", "--report", "-", "--edition", "internal").stdout
    )
    assert told["report"]["edition"] == "internal"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--report", "a.docx"), "unknown kind of report"),
        (("--report", "a.html", "--edition", "public"), "an external and a users edition"),
        (("--edition", "internal"), "no report is written"),
        (("--report", "policy.json"), "the report is an input"),
        (("--report", "c.json", "--certificate", "c.json"), "overwrite another file"),
        (("--report", "."), "unknown kind of report"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_search(
    home: Path, more: tuple[str, ...], says: str
) -> None:
    Path("policy.json").write_text(json.dumps({"k": 2, "columns": {"age": "quasi",
        "ill": {"role": "sensitive", "t": 0.4}}}))  # fmt: skip
    before = sorted(home.iterdir())
    result = run("anonymize", "table.csv", "-p", "policy.json", "-o", "r.csv", *more)
    assert result.exit_code == 2
    assert says in result.stderr and "Hint: " in result.stderr
    assert sorted(home.iterdir()) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_report_is_not_written_over_what_is_read_by_any_name(made: Path, command: str) -> None:
    Path("linked.txt").hardlink_to(COMMANDS[command][1])
    before = Path("linked.txt").read_bytes()
    result = run(*COMMANDS[command], "--report", "linked.txt")
    assert result.exit_code == 2 and "the report is an input" in result.stderr
    assert Path("linked.txt").read_bytes() == before
