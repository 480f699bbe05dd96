"""What each command prints, writes and answers with its exit code."""

from __future__ import annotations

import itertools
import json
import shlex
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import typer

from tclose.cli import app

# Table 3 of Li, Li and Venkatasubramanian (2007): distances 3/8 and 1/6 of the salaries.
TABLE = """zip,age,salary,disease
476**,2*,3,gastric ulcer
476**,2*,4,gastritis
476**,2*,5,stomach cancer
4790*,40,6,gastritis
4790*,40,11,flu
4790*,40,8,bronchitis
476**,3*,7,bronchitis
476**,3*,9,pneumonia
476**,3*,10,stomach cancer
"""
POLICY = """
k = 3
[columns]
zip = "quasi"
age = "quasi"
disease = "insensitive"
[columns.salary]
role = "sensitive"
distance = "ordered"
t = "3/8"
"""


def command_paths(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command and every group of commands there is."""
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from command_paths(below, (*path, name))


COMMANDS = list(command_paths(typer.main.get_command(app)))


@pytest.fixture(autouse=True)
def files(elsewhere: None) -> None:
    Path("t.csv").write_text(TABLE)
    Path("p.toml").write_text(POLICY)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(holds: Any, command: tuple[str, ...]) -> None:
    shown = holds(*command, "--help").stdout
    assert "Usage:" in shown
    assert "Options" in shown


def test_every_command_of_the_house_is_tried() -> None:
    known = {path[0] for path in COMMANDS if path}
    assert {"demo", "init", "audit", "verify", "explain", "generate", "hierarchy"} <= known


def test_the_version_is_printed(holds: Any) -> None:
    assert holds("--version").stdout.startswith("tclose ")


def test_audit_prints_one_json_object(holds: Any) -> None:
    found = json.loads(holds("audit", "t.csv", "-p", "p.toml", "--json").stdout)
    assert (found["rows"], found["classes"], found["holds"], found["k"]) == (9, 3, True, 3)
    size, close = found["requirements"]
    assert (size["requirement"], size["required"], size["achieved"]) == ("k-anonymity", "3", 3)
    assert size["attribute"] is None and size["distance"] is None
    assert close == close | {
        "requirement": "t-closeness",
        "attribute": "salary",
        "distance": "ordered",
        "required": "0.375",
        "achieved": 0.375,
        "achieved_exact": "3/8",
        "holds": True,
        "failing_classes": 0,
        "failing_rows": 0,
    }
    assert close["worst_class"] == 1


def test_a_hair_less_does_not_hold(run: Any) -> None:
    Path("p.toml").write_text(POLICY.replace("3/8", "0.37499999999999999999"))
    result = run("audit", "t.csv", "-p", "p.toml", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    close = found["requirements"][1]
    assert not found["holds"] and not close["holds"]
    assert (close["failing_classes"], close["failing_rows"]) == (1, 3)
    assert found["worst_classes"][0]["class"] == 1


def test_a_failing_audit_says_by_how_much(run: Any) -> None:
    Path("p.toml").write_text(POLICY.replace("k = 3", "k = 5").replace("3/8", "1/8"))
    result = run("audit", "t.csv", "-p", "p.toml")
    assert result.exit_code == 1
    assert "The promise does NOT hold." in result.stdout
    assert "k-anonymity, by 2" in result.stdout
    assert "t-closeness of salary, ordered, by 0.2500" in result.stdout


def test_audit_without_a_policy_measures_and_promises_nothing(holds: Any) -> None:
    arguments = ("audit", "t.csv", "--quasi", "zip, age", "--sensitive", "salary,disease")
    assert "Without a promise" in holds(*arguments).stdout
    found = json.loads(holds(*arguments, "--json").stdout)
    assert all(verdict["required"] is None for verdict in found["requirements"])
    attributes = {verdict["attribute"] for verdict in found["requirements"]}
    assert {"salary", "disease"} <= attributes


def test_json_audits_hold_no_cell_value(run: Any) -> None:
    text = run("audit", "t.csv", "-p", "p.toml", "--json").stdout
    text += run("verify", "t.csv", "-p", "p.toml", "--json").stdout
    assert "476" not in text and "gastric" not in text


def test_output_for_a_pipe_has_neither_colours_nor_trailing_blanks_in_notes(run: Any) -> None:
    for command in ("audit", "verify", "explain"):
        shown = run(command, "t.csv", "-p", "p.toml").stdout
        assert shown and "\x1b" not in shown
    remarks = run("audit", "t.csv", "-p", "p.toml").stdout.splitlines()[-3:]
    assert all(line == line.rstrip() for line in remarks)


@pytest.mark.parametrize("command", ["audit", "verify", "explain", "init"])
def test_nothing_but_the_result_is_on_standard_output(run: Any, command: str) -> None:
    policy = () if command == "init" else ("-p", "p.toml", "--json")
    result = run(command, "t.csv", *policy)
    assert result.stderr == ""
    (tomllib if command == "init" else json).loads(result.stdout)


def test_verify_judges_what_is_promised_and_nothing_else(run: Any) -> None:
    result = run("verify", "t.csv", "-p", "p.toml", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0 and found["holds"] and found["measured"] == []
    assert [verdict["requirement"] for verdict in found["requirements"]] == [
        "k-anonymity",
        "t-closeness",
    ]


IDENTIFIED = POLICY.replace('disease = "insensitive"', 'disease = "identifier"')


def test_an_identifier_that_is_still_there_breaks_the_promise(run: Any) -> None:
    Path("p.toml").write_text(IDENTIFIED)
    result = run("verify", "t.csv", "-p", "p.toml", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 1 and found["holds"] is False
    *others, left = found["requirements"]
    assert all(verdict["holds"] for verdict in others)
    assert left["requirement"] == "identifiers-removed"
    assert (left["attribute"], left["required"], left["achieved"]) == ("disease", "absent", 6)
    assert (left["holds"], left["failing_rows"]) == (False, 9)
    shown = run("verify", "t.csv", "-p", "p.toml")
    assert shown.exit_code == 1
    assert "identifiers-removed of disease" in shown.stdout


def test_an_audit_only_notes_the_identifier(run: Any) -> None:
    Path("p.toml").write_text(IDENTIFIED)
    result = run("audit", "t.csv", "-p", "p.toml", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert any("'disease' identifies people" in note for note in found["notes"])


@pytest.mark.parametrize("form", ["drop", "mask"])
@pytest.mark.parametrize("kept", [None, "*", ""], ids=["left out", "masked", "emptied"])
def test_an_identifier_is_absent_or_masked_as_the_policy_says(
    run: Any, kept: str | None, form: str
) -> None:
    Path("p.toml").write_text(IDENTIFIED + f'[release]\nidentifiers = "{form}"\n')
    fields = [line.split(",") for line in TABLE.splitlines()]
    for at, row in enumerate(fields):
        row[3:] = [] if kept is None else [kept if at else "disease"]
    Path("t.csv").write_text("".join(",".join(row) + "\n" for row in fields))
    result = run("verify", "t.csv", "-p", "p.toml", "--json")
    keeps = kept is None or (kept, form) == ("*", "mask")
    assert result.exit_code == (0 if keeps else 1), result.stdout


def test_names_are_no_pseudonyms(run: Any) -> None:
    Path("p.toml").write_text(IDENTIFIED + '[release]\nidentifiers = "pseudonym"\n')
    assert run("verify", "t.csv", "-p", "p.toml", "--json").exit_code == 1


EXPLAINED = list(itertools.product(["ordered", "numeric", "equal", "hierarchical"], [None, 1, 2]))


@pytest.mark.parametrize(("by", "number"), EXPLAINED)
def test_the_costs_of_an_explanation_add_up_to_the_distance(
    holds: Any, by: str, number: int | None
) -> None:
    tree = 'hierarchy = { intervals = [2, 4] }\ndistance = "hierarchical"'
    line = tree if by == "hierarchical" else f'distance = "{by}"'
    Path("p.toml").write_text(POLICY.replace('distance = "ordered"', line))
    chosen = () if number is None else ("--class-number", number)
    why = json.loads(holds("explain", "t.csv", "-p", "p.toml", *chosen, "--json").stdout)
    assert why["distance"] == by
    distance = Fraction(why["achieved_exact"])
    for steps in (why["actions"], why["moves"]):
        assert steps and sum(Fraction(step["cost"]) for step in steps) == distance
    if number is None:
        others = [
            holds("explain", "t.csv", "-p", "p.toml", "--class-number", other, "--json").stdout
            for other in (1, 2, 3)
        ]
        assert distance == max(Fraction(json.loads(text)["achieved_exact"]) for text in others)


def test_the_moves_turn_the_class_into_the_table(holds: Any) -> None:
    why = json.loads(
        holds("explain", "t.csv", "-p", "p.toml", "--class-number", 1, "--json").stdout
    )
    assert why["achieved_exact"] == "3/8"
    share = {entry["value"]: Fraction(entry["class"]) for entry in why["shares"]}
    for move in why["moves"]:
        share[move["from"]] -= Fraction(move["mass"])
        share[move["to"]] += Fraction(move["mass"])
    assert share == {entry["value"]: Fraction(entry["table"]) for entry in why["shares"]}


def test_explain_in_words(holds: Any) -> None:
    shown = holds("explain", "t.csv", "-p", "p.toml", "--class-number", 1).stdout
    assert "Class 1: 3 rows with zip = 476**, age = 2*" in shown
    assert "0.3750 = 3/8" in shown
    assert "between neighbours" in shown and "from value to value" in shown


def test_explain_draws_a_picture_that_stands_alone(holds: Any) -> None:
    result = holds("explain", "t.csv", "-p", "p.toml", "--svg", "new/flow.svg", "--force", "--json")
    json.loads(result.stdout)
    assert "new/flow.svg" in result.stderr
    text = Path("new/flow.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    assert "href" not in text and "<script" not in text and "url(" not in text
    assert text.replace('xmlns="http://www.w3.org/2000/svg"', "").count("http") == 0


@pytest.mark.parametrize("number", [0, 4, -1])
def test_a_class_that_is_not_there(refused: Any, number: int) -> None:
    says = (f"no class {number}", "from 1 to 3")
    refused("explain", "t.csv", "-p", "p.toml", "--class-number", number, says=says)


def test_an_attribute_that_is_not_sensitive(refused: Any) -> None:
    arguments = ("explain", "t.csv", "-p", "p.toml", "--attribute")
    refused(*arguments, "salery", says=("'salary'",))


def test_a_draft_suggests_every_role_and_decides_none(run: Any, holds: Any) -> None:
    Path("t.csv").write_text(
        "PatientID,name,age,zip,admitted,diagnosis,fixed\n"
        + "".join(
            f"{n},N{n},{20 + n},0{n:04},2024-01-{n + 1:02},{'flu' if n % 2 else 'ulcer'},x\n"
            for n in range(25)
        )
    )
    assert "p2.toml" in holds("init", "t.csv", "-o", "p2.toml").stderr
    drafted = tomllib.loads(Path("p2.toml").read_text(encoding="utf-8"))
    roles = {
        name: column if isinstance(column, str) else column["role"]
        for name, column in drafted["columns"].items()
    }
    assert roles == {
        "PatientID": "identifier?",
        "name": "identifier?",
        "age": "quasi?",
        "zip": "quasi?",
        "admitted": "quasi?",
        "diagnosis": "sensitive?",
        "fixed": "insensitive?",
    }
    text = Path("p2.toml").read_text(encoding="utf-8")
    assert "[columns.age]  # number, 25 distinct\n" in text
    assert "[columns.zip]  # code, 25 distinct\n" in text
    assert "[columns.admitted]  # date, 25 distinct\n" in text
    refusal = run("audit", "t.csv", "-p", "p2.toml")
    assert refusal.exit_code == 2
    (said,) = [line for line in refusal.stderr.splitlines() if "only suggested" in line]
    assert {f"columns.{name}.role" for name in roles} == set(
        said.removeprefix("- ").partition(": ")[0].split(", ")
    )
    assert run("verify", "t.csv", "-p", "p2.toml").exit_code == 2
    assert "7 suggested roles confirmed" in holds("policy", "confirm", "p2.toml").stderr
    assert run("audit", "t.csv", "-p", "p2.toml").exit_code == 1


def test_a_draft_tells_no_value(run: Any) -> None:
    drafted = run("init", "t.csv").stdout
    assert "gastric" not in drafted and "476" not in drafted


def test_a_commented_out_line_of_a_draft_may_be_used(holds: Any) -> None:
    Path("t.csv").write_text(
        "age,zip,day,illness\n"
        + "".join(f"{20 + n},{10000 + n},2024-02-{n + 1:02},flu\n" for n in range(25))
    )
    drafted = holds("init", "t.csv").stdout.replace("# hierarchy", "hierarchy")
    Path("p2.toml").write_text(drafted.replace("# t = ", "t = ").replace('?"', '"'))
    holds("policy", "check", "p2.toml", "t.csv")


def test_a_draft_overwrites_nothing_unasked(refused: Any, holds: Any) -> None:
    refused("init", "t.csv", "-o", "p.toml", says=("p.toml", "--force"))
    assert Path("p.toml").read_text() == POLICY
    holds("init", "t.csv", "-o", "p.toml", "--force")
    assert Path("p.toml").read_text() != POLICY


def test_a_file_name_with_brackets_is_shown_as_it_is(holds: Any) -> None:
    assert "p[red]2.toml" in holds("init", "t.csv", "-o", "p[red]2.toml").stderr


def test_the_schema_is_json_and_knows_every_role(holds: Any) -> None:
    text = holds("policy", "schema").stdout
    assert "$schema" in json.loads(text) or "properties" in json.loads(text)
    assert all(role in text for role in ("identifier", "quasi", "sensitive", "insensitive"))


def test_a_good_policy_has_no_problem(holds: Any) -> None:
    assert "no problem" in holds("policy", "check", "p.toml").stdout
    assert "no problem" in holds("policy", "check", "p.toml", "t.csv").stdout
    found = json.loads(holds("policy", "check", "p.toml", "t.csv", "--json").stdout)
    assert found["problems"] == []


@pytest.fixture
def builders(elsewhere: None) -> dict[str, tuple[str, ...]]:
    Path("b.csv").write_text("n,code,day\n21,47677,2024-01-05\n34,47602,2023-02-07\n")
    Path("tree.csv").write_text("cat;animal;*\ndog;animal;*\noak;plant;*\n")
    Path("b.toml").write_text(
        '[columns]\ncode = "quasi"\nday = "insensitive"\n'
        '[columns.n]\nrole = "quasi"\nhierarchy = { intervals = [10, 50] }\n'
    )
    return {
        "file": ("tree.csv",),
        "policy": ("b.csv", "-p", "b.toml", "-c", "n"),
        "intervals": ("b.csv", "-c", "n", "--intervals", "5,10,50"),
        "cuts": ("b.csv", "-c", "n", "--cuts", "18,30,65/30"),
        "prefix": ("b.csv", "-c", "code", "--prefix", "3,0"),
        "dates": ("b.csv", "-c", "day", "--dates", "month,year"),
    }


BUILDERS = ["file", "policy", "intervals", "cuts", "prefix", "dates"]


@pytest.mark.parametrize("kind", BUILDERS)
def test_a_hierarchy_is_drawn_exported_and_read_again(holds: Any, builders: Any, kind: str) -> None:
    drawn = holds("hierarchy", "preview", *builders[kind]).stdout
    assert "leaves" in drawn and "└─" in drawn
    result = holds("hierarchy", "export", *builders[kind], "-o", "new/out.csv", "--force")
    assert "leaves" in result.stderr and result.stdout == ""
    again = holds("hierarchy", "preview", "new/out.csv").stdout
    assert again.splitlines()[1:] == drawn.splitlines()[1:]


def test_a_hierarchy_is_built_from_a_table_read_as_told(holds: Any) -> None:
    Path("t.csv").write_text("age;disease\n21;flu\n?;flu\n44;flu\n")
    asked = ("t.csv", "--column", "age", "--intervals", "10", "--delimiter", ";", "--null", "?")
    drawn = holds("hierarchy", "preview", *asked).stdout
    assert "21" in drawn and "44" in drawn and "?" not in drawn


@pytest.mark.parametrize(
    "option", [("--encoding", "latin-1"), ("--null", "?"), ("--memory", "1GB")]
)
def test_a_hierarchy_file_is_read_one_way(refused: Any, option: tuple[str, str]) -> None:
    Path("tree.csv").write_text("x;*\ny;*\n")
    refused("hierarchy", "preview", "tree.csv", *option, says=("tree.csv", "delimiter", "--column"))


def test_an_edition_needs_a_report_for_folders_too(refused: Any) -> None:
    Path("release").mkdir()
    refused("verify", "release", "--edition", "internal", says=("no report is written", "--report"))


def test_a_certificate_names_no_folder_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tclose.cli.console import command_line

    words = ["anonymize", f"{tmp_path}/raw.csv", "-o", "out/r.csv", f"--report={tmp_path}/r.html"]
    address = "postgresql://host/data#people"
    monkeypatch.setattr(sys, "argv", ["tclose", *words, address, "/"])
    told = command_line()
    assert str(tmp_path) not in told and tmp_path.name not in told
    expected = [
        "tclose",
        "anonymize",
        "raw.csv",
        "-o",
        "out/r.csv",
        "--report=r.html",
        address,
        "/",
    ]
    assert shlex.split(told) == expected


@pytest.mark.parametrize("command", ["audit", "anonymize", "frontier", "split", "lattice"])
def test_shared_options_are_in_the_help_of_each_command(holds: Any, command: str) -> None:
    told = holds(command, "--help").stdout
    assert all(option in told for option in ("--delimiter", "--encoding", "--null", "--memory"))
    assert command == "audit" or "--effort" in told


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("t.csv",), "--column"),
        (("nowhere.csv",), "nowhere.csv"),
        (("t.csv", "-c", "salery"), "'salary'"),
        (("t.csv", "-c", "salary"), "--intervals"),
        (("t.csv", "-p", "p.toml"), "--column"),
        (("t.csv", "-p", "p.toml", "-c", "salary"), "no hierarchy"),
        (("t.csv", "-c", "disease", "--intervals", "5"), "cannot be read as a finite number"),
        (("t.csv", "-c", "salary", "--intervals", "5,7"), "nest"),
        (("t.csv", "-c", "salary", "--intervals", "wide"), "not a number"),
        (("t.csv", "-c", "salary", "--dates", "week"), "month"),
        (("t.csv", "-c", "salary", "--prefix", "1", "--intervals", "5"), "exactly one"),
    ],
)
def test_a_hierarchy_that_cannot_be_made(
    refused: Any, arguments: tuple[str, ...], says: str
) -> None:
    refused("hierarchy", "preview", *arguments, says=(says,))
    refused("hierarchy", "export", *arguments, "-o", "never.csv", says=(says,))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_equal_seeds_generate_equal_files(holds: Any, suffix: str) -> None:
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        holds("generate", "--rows", 300, "--seed", seed, "-o", f"{name}.{suffix}")
    a, b, c = (Path(f"{name}.{suffix}").read_bytes() for name in "abc")
    assert a == b != c


def test_both_kinds_of_file_hold_the_same_patients(holds: Any, run: Any) -> None:
    found = []
    for suffix in ("csv", "parquet"):
        holds("generate", "--rows", 300, "-o", f"g.{suffix}")
        arguments = ("--quasi", "sex,ethnicity", "--sensitive", "diagnosis,length_of_stay")
        result = json.loads(run("audit", f"g.{suffix}", *arguments, "--json").stdout)
        found.append({**result, "source": ""})
    assert pq.read_metadata("g.parquet").num_rows == 300
    assert found[0] == found[1]


def test_generate_refuses_a_kind_of_file_that_it_cannot_write(refused: Any) -> None:
    refused("generate", "-o", "g.xls", says=("g.xls", ".csv", ".parquet"))


@pytest.mark.slow
def test_the_demo_writes_what_it_says_and_can_be_followed(holds: Any, run: Any) -> None:
    shown = holds("demo", "--output", "demo", "--rows", 400, "--effort", 1).stdout
    written = {path.name for path in Path("demo").iterdir()}
    assert written >= {
        "hospital.csv",
        "policy.toml",
        "diagnosis.csv",
        "audit.json",
        "report.html",
        "report.txt",
        "worst-class.svg",
    }
    assert not [name for name in written if name.startswith(".") or ".part" in name]
    assert "\x1b" not in shown
    assert "demo/report.html" in shown and "demo/worst-class.svg" in shown
    assert json.loads(Path("demo/audit.json").read_text())["rows"] == 400
    page, text = Path("demo/report.html").read_text(), Path("demo/report.txt").read_text()
    for told in ("The promise does not hold in the table as it was read", "Counted on the release"):
        assert told in page and told in text
    ElementTree.parse("demo/worst-class.svg")
    files = ("demo/hospital.csv", "-p", "demo/policy.toml")
    assert run("audit", *files).exit_code == 1
    verdicts = json.loads(run("verify", *files, "--json").stdout)["requirements"]
    left = [one["attribute"] for one in verdicts if one["requirement"] == "identifiers-removed"]
    assert {"name", "national_id"} <= set(left)


def test_a_plan_and_a_certificate_away_from_their_policy_say_what_they_miss(
    holds: Any, refused: Any
) -> None:
    for folder in ("rules", "kept"):
        Path(folder).mkdir()
    ages = range(20, 60)
    Path("rules/ages.csv").write_text("".join(f"{age};{age // 10 * 10}s;*\n" for age in ages))
    Path("t.csv").write_text("age,ill\n" + "".join(f"{age},{'ab'[age % 2]}\n" for age in ages))
    Path("rules/p.toml").write_text(
        'k = 3\n[columns]\nage = { role = "quasi", hierarchy = "ages.csv" }\n'
        'ill = { role = "sensitive", t = 0.3 }\n'
    )
    named = ("--policy", "rules/p.toml")
    kept = ("--plan", "kept/plan.json", "--certificate", "kept/c.json")
    holds("anonymize", "t.csv", *named, "-o", "r.csv", *kept, "--method", "mondrian")
    again = ("apply", "kept/plan.json", "t.csv", "-o", "again.csv")
    checked = ("verify", "r.csv", "--certificate", "kept/c.json")
    for command, keeper in ((again, "plan"), (checked, "certificate")):
        missed = (f"kept/ages.csv: the {keeper}'s own policy", "not there", "--policy POLICY")
        refused(*command, says=missed)
        holds(*command, *named)
    Path("rules/ages.csv").rename("kept/ages.csv")
    holds(*again, "--force")
    holds(*checked)


def test_help_breaks_lines_where_the_terminal_does(holds: Any) -> None:
    """Not where the source does: a sentence in the middle of help is not cut short."""
    shown = holds("explain", "--help").stdout.splitlines()
    at = next(i for i, line in enumerate(shown) if "The distance is the least work" in line)
    told = " ".join(" ".join(shown[at : at + 4]).split())
    assert told.endswith("so it is for the data steward only.")
