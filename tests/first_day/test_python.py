"""The functions take what a steward has at hand, refuse what could be swapped, and use one word."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import tclose
from tclose import Column, Policy
from tclose.cli import app
from tclose.errors import PolicyError, UsageError

ROWS = 60
TABLE = pd.DataFrame(
    {
        "age": [20 + (7 * row) % 40 for row in range(ROWS)],
        "town": ["ABC"[row % 3] for row in range(ROWS)],
        "ill": [["flu", "cough", "ulcer"][(row // 2) % 3] for row in range(ROWS)],
    }
)
POLICY = Policy.build(
    {"age": Column.quasi(), "town": Column.quasi(), "ill": Column.sensitive(t="2/5")}, k=4
)


@pytest.fixture(scope="module")
def release() -> tclose.Release:
    return tclose.anonymize(TABLE, POLICY, method="mondrian")


@pytest.fixture
def run() -> Callable[..., Result]:
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_a_release_is_taken_where_released_data_are(release: tclose.Release) -> None:
    by_frame = tclose.verify(release.data, POLICY)
    assert tclose.verify(release).to_json() == by_frame.to_json()
    assert tclose.audit(release).k == tclose.audit(release.data, POLICY).k
    assert tclose.explain(release).exact == tclose.explain(release.data, POLICY).exact
    found = tclose.attack(release, original=TABLE)
    assert found == tclose.attack(release.data, POLICY, original=TABLE)
    mine = tclose.measure(original=TABLE, release=release, queries=20)
    assert mine == tclose.measure(original=TABLE, release=release.data, policy=POLICY, queries=20)
    assert mine["loss"].overall == pytest.approx(release.loss.overall)


def test_a_release_that_is_a_file_is_read_again(tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    release = tclose.anonymize(TABLE, POLICY, method="mondrian", output=output)
    assert release.data is None and tclose.verify(release).holds
    head, _, *rest = output.read_text().splitlines()
    output.write_text("\n".join([head, "99,A,flu", *rest]) + "\n")
    assert not tclose.verify(release).holds


def test_another_policy_may_be_asked_about(release: tclose.Release) -> None:
    stricter = Policy.build(dict(POLICY.columns), k=ROWS + 1)
    assert not tclose.verify(release, stricter).holds


def test_a_release_brings_its_population(tmp_path: Path) -> None:
    people = pd.concat([TABLE[["age", "town"]]] * 3)
    policy = Policy.build(dict(POLICY.columns), k=2, k_map=6)
    release = tclose.anonymize(TABLE, policy, method="mondrian", population=people)
    assert tclose.verify(release).holds
    # Without the population, that promise could not even be judged.
    with pytest.raises(UsageError, match="population"):
        tclose.verify(release.data, policy)


@pytest.mark.parametrize("verb", [tclose.verify, tclose.attack])
def test_without_a_release_a_policy_must_be_named(verb: Any) -> None:
    with pytest.raises(UsageError, match="no policy is given"):
        verb(TABLE)


def test_the_two_tables_of_a_comparison_cannot_be_swapped(release: tclose.Release) -> None:
    with pytest.raises(UsageError, match=r"original=table, release=release"):
        tclose.measure(TABLE, release, POLICY)  # type: ignore[misc]
    with pytest.raises(UsageError, match="this is a release, not the table"):
        tclose.measure(original=release, release=TABLE, policy=POLICY)
    with pytest.raises(UsageError, match="this is a release, not the table"):
        tclose.attack(TABLE, POLICY, original=release)
    with pytest.raises(UsageError, match="the first argument is a plan"):
        tclose.apply(TABLE, release.plan)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="not its file"):
        tclose.verify(TABLE, POLICY, certificate="release.json")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("where", "arguments"),
    [
        ("effort", {"effort": "lots"}),
        ("seconds", {"seconds": [1]}),
        ("seed", {"seed": "x"}),
        ("seed", {"seed": -1}),
        ("seed", {"seed": 1.5}),
    ],
)
def test_arguments_of_a_wrong_kind_are_named(where: str, arguments: dict[str, Any]) -> None:
    for verb in (tclose.anonymize, tclose.frontier, tclose.lattice):
        if verb is not tclose.lattice or where != "seed":
            with pytest.raises(UsageError, match=where):
                verb(TABLE, POLICY, **arguments)


def test_a_class_is_asked_for_by_its_number_and_releases_are_composed_with_some() -> None:
    for number in ("3", 1.5):
        with pytest.raises(UsageError, match="classes are numbered from 1"):
            tclose.explain(TABLE, POLICY, class_number=number)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no earlier release"):
        tclose.compose(TABLE, [], POLICY)


def test_functions_and_commands_have_the_same_names(
    run: Callable[..., Result], release: tclose.Release, tmp_path: Path
) -> None:
    table, made, policy = (tmp_path / name for name in ("in.csv", "out.csv", "policy.toml"))
    TABLE.to_csv(table, index=False)
    release.data.to_csv(made, index=False)
    policy.write_text(POLICY.to_toml())
    words = (made, "--original", table, "-p", policy, "--queries", 20, "--json")
    named = run("measure", *words)
    assert named.exit_code == 0
    expected = tclose.measure(original=table, release=made, policy=policy, queries=20)
    assert json.loads(named.stdout) == json.loads(json.dumps(expected.to_json()))
    former = run("utility", *words)
    assert former.stdout == named.stdout and "deprecated" in former.stderr
    assert not re.search(r"^\W*utility ", run("--help").stdout, re.MULTILINE)
    why = run("explain", table, "-p", policy, "--class-number", 2, "--json")
    assert json.loads(why.stdout)["class"] == 2
    assert run("explain", table, "-p", policy, "--class", 2, "--json").stdout == why.stdout
    assert tclose.explain(TABLE, POLICY, class_number=2).number == 2
    with pytest.warns(DeprecationWarning, match="class_number"):
        assert tclose.explain(TABLE, POLICY, number=2).number == 2


def test_a_drafted_policy_is_that_of_init(run: Callable[..., Result], tmp_path: Path) -> None:
    table = TABLE.rename(columns={"ill": "disease"})
    table.to_csv(tmp_path / "in.csv", index=False)
    draft = tclose.draft_policy(tmp_path / "in.csv")
    assert run("init", tmp_path / "in.csv").stdout == draft.text == str(draft)
    assert "3 suggested roles" in repr(draft) and 'role = "sensitive?"' in draft.text
    draft.save(tmp_path / "policy.toml")
    assert (tmp_path / "policy.toml").read_text() == draft.text
    with pytest.raises(UsageError, match="the file exists already"):
        draft.save(tmp_path / "policy.toml")
    with pytest.raises(PolicyError, match="only suggested"):
        Policy.load(tmp_path / "policy.toml")
    policy = tclose.draft_policy(table).confirm(t=0.3)
    assert policy.sensitive == ("disease",) and str(policy.columns["disease"].t) == "3/10"
    assert run("policy", "confirm", tmp_path / "policy.toml", "--t", "0.3").exit_code == 0
    assert Policy.load(tmp_path / "policy.toml").to_json() == policy.to_json()


def test_a_policy_built_in_python_is_the_one_that_a_file_would_be(tmp_path: Path) -> None:
    policy = Policy.build(
        {
            "name": Column.identifier(),
            "zip code": Column.quasi(hierarchy={"prefix": [3, 1]}, missing="forbid"),
            "born": Column.quasi(hierarchy={"dates": ["month", "year"]}),
            'a "quoted"\tname': "insensitive",
            "remark": Column.insensitive(accept="written\nby nobody \\ \x7f"),
            "ill": Column.sensitive(t=0.2, l={"distinct": 3}, order=["a", "b"], distance="ordered"),
        },
        k=5,
        joint=[],
        search={"effort": 3, "weights": {"born": 2}},
        release={"rows": "shuffle"},
    )
    (tmp_path / "policy.toml").write_text(policy.to_toml(), encoding="utf-8")
    again = Policy.load(tmp_path / "policy.toml")
    assert again.to_json() == policy.to_json() and again.columns == policy.columns
    assert again.to_toml() == policy.to_toml()
    assert policy.columns["ill"].t is not None and str(policy.columns["ill"].t) == "1/5"


def test_every_problem_of_a_built_policy_is_told_at_once() -> None:
    with pytest.raises(PolicyError) as refused:
        Policy.build({"age": "kwasi", "zip": "quasi", "ill": {"role": "sensitive", "tt": 1}}, kk=3)
    for words in ("did you mean 'quasi'", "did you mean 'k'", "columns.ill.tt"):
        assert words in str(refused.value)
    with pytest.raises(PolicyError, match=r"t must lie in \[0, 1\]"):
        Column.sensitive(t=3)
    with pytest.raises(PolicyError, match="unknown key"):
        Column.quasi(hierarchies={})
