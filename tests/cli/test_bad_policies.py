"""Policies and hierarchies that cannot be used: every problem at once, each with a way out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

TABLE = "age,zip,disease\n1,10,flu\n1,10,ulcer\n2,20,flu\n2,20,ulcer\n"
POLICY = """
k = 2
[columns]
age = "quasi"
zip = "quasi"
[columns.disease]
role = "sensitive"
hierarchy = "tree.csv"
t = 0.2
"""


@pytest.fixture(autouse=True)
def files(elsewhere: None) -> None:
    Path("t.csv").write_text(TABLE)
    Path("p.toml").write_text(POLICY)


@pytest.mark.parametrize(
    ("tree", "says"),
    [
        pytest.param("flu;ulcer;*\nulcer;flu;*\n", ("a cycle", "line 2"), id="a cycle"),
        pytest.param("flu;x;*\nulcer;x;y;*\n", ("two different", "line 2"), id="two parents"),
        pytest.param(
            "flu;x;*\nulcer;y;*\nulcer;x;*\n", ("line 3", "disagree"), id="a leaf twice, otherwise"
        ),
        pytest.param("flu;x;*\nflu;x;*\nulcer;x;*\n", ("line 2", "identical"), id="a leaf twice"),
        pytest.param("flu;x\nulcer;y\n", ("more than one root", "line 2"), id="two roots"),
        pytest.param("", ("empty",), id="an empty file"),
        pytest.param(
            "flu;x;*\n", ("columns.disease", "not in the hierarchy"), id="a value without a leaf"
        ),
    ],
)
def test_a_hierarchy_that_contradicts_itself(
    refused: Any, tree: str, says: tuple[str, ...]
) -> None:
    Path("tree.csv").write_text(tree)
    told = refused("audit", "t.csv", "-p", "p.toml", says=("columns.disease", *says))
    assert "ulcer" not in told


def test_a_hierarchy_that_is_not_there(refused: Any) -> None:
    says = ("columns.disease.hierarchy (tree.csv)", "No such file")
    refused("audit", "t.csv", "-p", "p.toml", says=says)


def test_a_hierarchy_that_is_not_text(refused: Any) -> None:
    Path("tree.csv").write_bytes(b"\xff\xfe\x00")
    refused("audit", "t.csv", "-p", "p.toml", says=("tree.csv", "UTF-8"))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        pytest.param("p.toml", b"k = = 3", ("not valid TOML", "line 1"), id="not TOML"),
        pytest.param("p.json", b'{"k": 3,', ("not valid JSON", "line 1"), id="not JSON"),
        pytest.param("p.json", b"[1]", ("table of keys",), id="a list"),
        pytest.param("p.toml", "# é\nk = 3".encode("latin-1"), ("not UTF-8",), id="Latin-1"),
        pytest.param("p.toml", "k = 3".encode("utf-16"), ("not UTF-8",), id="UTF-16"),
        pytest.param("p.toml", b"", ("columns: is required",), id="empty"),
        pytest.param("p.toml", b"k = 3", ("columns: is required",), id="no columns"),
        pytest.param("p.toml", TABLE.encode(), ("not valid TOML",), id="a table"),
    ],
)
def test_a_policy_that_cannot_be_read(
    refused: Any, name: str, content: bytes, says: tuple[str, ...]
) -> None:
    Path(name).write_bytes(content)
    refused("audit", "t.csv", "-p", name, says=says)
    refused("policy", "check", name, says=says)


def test_a_policy_that_is_a_folder(refused: Any) -> None:
    Path("folder").mkdir()
    refused("audit", "t.csv", "-p", "folder", says=("folder: this is a folder",))


def test_a_policy_that_is_not_there_is_guessed(refused: Any) -> None:
    Path("policy.toml").write_text(POLICY)
    refused("audit", "t.csv", "-p", "polici.toml", says=("no such file", "'policy.toml'"))


EVERYTHING = """
kk = 3
[columns]
age = "quasi"
wage = "sensitive"
[columns.zip]
role = "quasi"
hierarchy = "zip.csv"
[columns.disease]
role = "sensitive"
t = 3
[columns.stay]
role = "sensitive"
distance = "orderd"
"""
EXPECTED = {
    "kk": ("unknown key", "did you mean 'k'?"),
    "columns.disease": ("t must lie in [0, 1]", "t = 0.2"),
    "columns.stay.distance": ("unknown distance", "did you mean 'ordered'?"),
    "columns.wage": ("the table has no such column", "leave it out"),
    "columns.zip": ("1 distinct value is not in the hierarchy", "add them"),
}


def test_every_problem_is_reported_at_once_with_a_way_out(refused: Any, run: Any) -> None:
    Path("p.toml").write_text(EVERYTHING)
    Path("zip.csv").write_text("10;1*;*\n30;3*;*\n")
    told = refused("audit", "t.csv", "-p", "p.toml", says=("the policy has 5 problems",))
    assert told.count("Hint: ") == 5
    found = json.loads(run("audit", "t.csv", "-p", "p.toml", "--json").stdout)
    assert {problem["where"] for problem in found["problems"]} == set(EXPECTED)
    for problem in found["problems"]:
        what, hint = EXPECTED[problem["where"]]
        assert problem["what"] == what
        assert hint in problem["hint"]


def test_a_column_with_a_dot_is_not_blamed_twice(refused: Any) -> None:
    Path("t.csv").write_text("age,a.b\n1,2\n")
    Path("p.toml").write_text('[columns]\nage = "quasi"\n"a.b" = "kwasi"\n')
    told = refused("audit", "t.csv", "-p", "p.toml", says=("1 problem",))
    assert "has no role" not in told


@pytest.mark.parametrize(
    ("line", "says"),
    [
        pytest.param('disease = { role = "sa", distance = "hierarchical" }', "needs a hierarchy"),
        pytest.param('disease = { role = "sa", distance = "numeric", t = 1 }', "neither numbers"),
        pytest.param('disease = { role = "qi", t = 1 }', "only a sensitive column"),
        pytest.param('disease = { role = "sa", t = "a third" }', "not a number"),
        pytest.param('disease = { role = "sa", missing = "perhaps" }', "'forbid'"),
        pytest.param('disease = { role = "sa", n = 3 }', "n needs t"),
        pytest.param('disease = "secret"', "unknown role"),
        pytest.param("disease = 3", "disease"),
        pytest.param('disease = { role = "sa", order = ["flu"] }', "declared order"),
        pytest.param('disease = "sa"\n[joint]', "joint"),
    ],
)
def test_a_mistake_in_one_line_is_named_with_a_way_out(refused: Any, line: str, says: str) -> None:
    Path("p.toml").write_text(f'k = 2\n[columns]\nage = "quasi"\nzip = "quasi"\n{line}\n')
    told = refused("audit", "t.csv", "-p", "p.toml", says=(says,))
    assert "ulcer" not in told and "flu" not in told


def test_columns_that_are_named_wrong(refused: Any) -> None:
    told = refused(
        "audit", "t.csv", "--quasi", "agee,zip", "--sensitive", "zip,dizease",
        says=("agee", "'age'", "dizease", "'disease'", "both as quasi and as sensitive"),
    )  # fmt: skip
    assert "policy" not in told


def test_columns_that_are_not_named(refused: Any) -> None:
    refused("audit", "t.csv", says=("--policy", "tclose init", "--quasi"))
    refused("audit", "t.csv", "--sensitive", "disease", says=("--quasi",))
    refused("explain", "t.csv", "--quasi", "age", says=("no column is sensitive", "--sensitive"))


def test_a_policy_and_columns_together(refused: Any) -> None:
    refused("audit", "t.csv", "-p", "p.toml", "--quasi", "age", says=("not both",))


def test_a_promise_of_nothing_cannot_be_verified(refused: Any) -> None:
    Path("p.toml").write_text('columns = { age = "quasi", zip = "quasi", disease = "sa" }')
    refused("verify", "t.csv", "-p", "p.toml", says=("promises nothing", "state k"))
