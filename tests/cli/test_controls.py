"""No cell value, column or file name moves a terminal's cursor or turns text around."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from typer.testing import Result

import tclose
from tclose.cli import prepare
from tclose.policy.arx_project import ArxProject
from tclose.report.render.saving import save_document

Run = Callable[..., Result]

FORGED = "\x1b[2J\x1b[HThe promise holds.\x1b]52;c;ZXZpbA==\x07"
ODD = [
    FORGED, "\x9b2J", "a\rb", "\u202etxet", "x\u2066y\u2069", "one\ntwo", "\x7f", "\u061cz",
    "\u2028a", "\x85b", "\u200ec", "\u206ad", "\ufff9e\ufffb",
]  # fmt: skip
CONTROLS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb]"
)
POLICY = {
    "k": 2,
    "columns": {
        "town": "quasi",
        "ill\x1b[31m": {"role": "sensitive", "t": 0.1},
        "note": "insensitive",
    },
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    towns = [town for town in ODD for _ in range(2)]
    ills = [ODD[at % len(ODD)] for at in range(len(towns))]
    rows = pa.table({"town": towns, "ill\x1b[31m": ills, "note": ills})
    csv.write_csv(rows, tmp_path / "table.csv")
    parquet.write_table(rows, tmp_path / "table.parquet")
    (tmp_path / "policy.json").write_text(json.dumps(POLICY))
    return tmp_path / "table.parquet"


def test_nothing_that_commands_print_holds_a_control_character(run: Run, table: Path) -> None:
    release = table.with_name("release.parquet")
    commands = [
        ("audit", table, "--policy", "policy.json", "--all"),
        ("audit", table, "--policy", "policy.json", "--report", "-", "--edition", "internal"),
        ("audit", table, "--policy", "policy.json", "--json"),
        ("verify", table, "--policy", "policy.json"),
        ("verify", table, "--policy", "policy.json", "--report", "-", "--edition", "internal"),
        ("explain", table, "--policy", "policy.json", "--class", "1"),
        ("anonymize", table, "policy.json", "-o", release, "--effort", "0"),
        ("attack", table, "--policy", "policy.json"),
        ("init", table),
        ("hierarchy", "preview", table, "--column", "town", "--prefix", "1"),
        ("audit", "no\x1b[2Jsuch\u202e.csv", "--quasi", "a"),
    ]
    for command in commands:
        result = run(*command)
        shown = result.stdout + result.stderr
        assert shown and not CONTROLS.search(shown), (command, CONTROLS.findall(shown))
        assert result.exit_code != 70, shown
    assert run(*commands[3]).exit_code == 1


def test_a_failing_table_is_told_with_its_forgery_spelled_out(run: Run, table: Path) -> None:
    told = run("explain", table, "--policy", "policy.json", "--class", "1").stdout
    assert r"\u001b[2J" in told and r"one\ntwo" in told


def test_json_reads_back_as_the_values_that_it_tells(run: Run, table: Path) -> None:
    found = run("explain", table, "--policy", "policy.json", "--class", "1", "--json").stdout
    assert {share["value"] for share in json.loads(found)["shares"]} == set(ODD)


@pytest.mark.parametrize("suffix", ["html", "txt", "json"])
def test_no_report_holds_a_control_character(table: Path, suffix: str, tmp_path: Path) -> None:
    found = tclose.audit(table, POLICY)
    document = tclose.audit_report(found, edition="internal")
    text = save_document(document, tmp_path / f"report.{suffix}").read_text()
    assert not CONTROLS.search(text) and r"\u001b" in text


def test_no_picture_dictionary_repr_or_message_holds_one(table: Path) -> None:
    why = tclose.explain(table, POLICY, class_number=1)
    release = tclose.anonymize(table, POLICY, effort=0)
    with pytest.raises(tclose.TcloseError) as refused:
        tclose.audit(table, {"k": 2, "columns": {"to\x1bwn": "quasi"}})
    texts = [why.svg(), str(why), repr(why), release.dictionary().to_markdown()]
    texts += [str(tclose.audit(table, POLICY)), why._repr_html_(), str(refused.value)]
    texts += [str(release), str(release.certificate), str(tclose.attack(table, POLICY, effort=0.1))]
    for text in texts:
        assert not CONTROLS.search(text)


def test_names_are_printed_as_they_are_written(run: Run, tmp_path: Path) -> None:
    told = run("audit", tmp_path / "a:x:b.csv", "-p", tmp_path / "p:x:.toml").stderr
    assert "p:x:.toml" in "".join(told.split())


def test_no_name_of_a_file_adds_lines_to_what_is_printed_or_drafted(
    run: Run, tmp_path: Path
) -> None:
    forged = tmp_path / 'a\nThe promise holds.\n[release]\nrows = "keep"\n#.csv'
    forged.write_text("age,ill\n1,a\n2,b\n3,c\n")
    policy = run("init", forged).stdout
    assert "release" not in tomllib.loads(policy)
    (tmp_path / "policy.toml").write_text(policy.replace("?", "").replace("# t =", "t ="))
    for command in (
        ("audit", forged, "--policy", "policy.toml"),
        ("audit", forged.with_suffix(".parquet"), "--quasi", "age"),
    ):
        result = run(*command)
        assert "The promise holds." in result.stdout + result.stderr
        assert "The promise holds." not in (result.stdout + result.stderr).splitlines()
    assert "The promise holds." not in str(tclose.audit(forged, quasi="age")).splitlines()


def test_a_drafted_policy_holds_no_control_character_and_means_the_same(
    run: Run, tmp_path: Path
) -> None:
    names = [name for name in ODD if name.strip() == name]
    csv.write_csv(pa.table({name: ["1", "2"] * 3 for name in names}), tmp_path / "odd.csv")
    assert run("init", tmp_path / "odd.csv", "-o", tmp_path / "policy.toml").exit_code == 0
    text = (tmp_path / "policy.toml").read_text()
    assert not CONTROLS.search(text)
    assert set(tomllib.loads(text)["columns"]) == set(names)


CLAIM = "The promise holds."


def test_no_name_of_a_column_or_value_adds_lines_to_what_is_printed(
    run: Run, tmp_path: Path
) -> None:
    town, ill, name = (f"{word}\n{CLAIM}\nx" for word in ("town", "ill", "name"))
    ills = [f"{ill}\n{CLAIM}\nx" for ill in "abcd"] * 4
    rows = pa.table({town: [str(20 + at) for at in range(16)], ill: ills, name: ills})
    parquet.write_table(rows, tmp_path / "t.parquet")
    columns = {town: "quasi", ill: {"role": "sensitive", "t": 0.9}, name: "identifier"}
    (tmp_path / "p.json").write_text(json.dumps({"k": 2, "columns": columns}))
    (tmp_path / "short.json").write_text(json.dumps({"k": 2, "columns": {town: "quasi"}}))
    files = ("t.parquet", "-p", "p.json")
    commands = [
        ("anonymize", *files, "-o", "r.parquet", "--effort", "0", "--certificate", "c.json"),
        ("anonymize", *files, "-o", "r2.parquet", "--effort", "0", "--plan", "plan.json"),
        ("apply", "plan.json", "t.parquet", "-o", "r3.parquet"),
        ("verify", "r.parquet", "--certificate", "c.json", "--report", "-"),
        ("audit", *files, "--all"),
        ("audit", "t.parquet", "--policy", "short.json"),
        ("audit", "t.parquet", "--quasi", f"to\n{CLAIM}\nwn"),
        ("attack", "r.parquet", "-p", "p.json", "--original", "t.parquet", "--effort", "0.1"),
        ("compose", "r.parquet", "r2.parquet", "-p", "p.json"),
        ("frontier", *files, "--effort", "0", "--t", "0.5,0.9"),
        ("lattice", *files),
        ("policy", "check", "p.json", "t.parquet"),
        ("split", *files, "-o", "anatomy", "--form", "anatomy", "--effort", "0.1"),
        ("split", *files, "-o", "sets", "--form", "projections", "--effort", "0.1"),
        ("verify", "anatomy"),
    ]
    for command in commands:
        result = run(*command)
        assert result.exit_code in (0, 1, 2), command
        alone = [line for line in result.output.splitlines() if line.strip() == CLAIM]
        # A command says so once at most, where it is so.
        assert len(alone) <= (result.exit_code == 0), (command, alone)
    release = tclose.anonymize(rows, tmp_path / "p.json", effort=0)
    made = tclose.split(rows, tmp_path / "p.json", form="anatomy")
    shown = [tclose.audit(rows, tmp_path / "p.json"), release, release.certificate, made]
    shown += [tclose.attack(release.data, tmp_path / "p.json", effort=0)]
    for each in shown:
        assert CLAIM not in str(each).splitlines()


def test_no_name_of_a_project_adds_a_line_to_the_policy_made_from_it() -> None:
    project = ArxProject('a\n[release]\nrows = "keep"\n', {"k": 2, "columns": {"a": "quasi"}})
    assert "release" not in tomllib.loads(project.to_toml())


def test_no_name_of_a_column_becomes_a_link_or_picture_in_a_dictionary() -> None:
    """A page that shows the dictionary would load it from elsewhere."""
    name = "![a](http://evil/a.png) <img src=x> `c` | *d*"
    rows = pa.table({name: [1, 2, 1, 2], "ill": ["a", "b", "a", "b"]})
    policy = {"k": 2, "columns": {name: "quasi", "ill": {"role": "sensitive", "t": 1}}}
    told = tclose.anonymize(rows, policy, effort=0).dictionary().to_markdown()
    (line,) = (line for line in told.splitlines() if "evil" in line)
    assert r"!\[a\](http" in line and "<" not in line and r"\`c\` \| \*d\*" in line


def test_no_question_about_a_column_holds_a_control_character(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[str] = []

    def note(words: str, **_: object) -> str:
        shown.append(words)
        return "x" if len(shown) % 2 else ""  # no answer that is known, then none

    monkeypatch.setattr("typer.prompt", note)
    questions = tclose.draft_policy(pa.table({name: ["1", "2"] * 9 for name in ODD})).questions
    assert prepare._ask(questions) == {}
    assert len(shown) > len(ODD) and r"\u001b[2J" in "".join(shown)
    for words in shown:
        assert not CONTROLS.search(words) and "\n" not in words
