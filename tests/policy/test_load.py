"""Reading a policy: every problem at once, each with a way out, numbers as they were written."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tclose
from tclose import Policy, PolicyError
from tclose.policy.columns import SYNONYMS
from tclose.policy.load import load_policy, parse_policy

MINIMAL = {"zip": "quasi"}


def problems(columns: dict[str, Any], **more: Any) -> list[str]:
    """Every complaint about a policy, as people read it."""
    return [str(problem) for problem in parse_policy({"columns": columns, **more})[1]]


def sensitive(**promise: Any) -> dict[str, Any]:
    return {**MINIMAL, "s": {"role": "sensitive", **promise}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.toml", '[columns]\nzip = "quasi"\n[columns.s]\nrole = "sensitive"\nt = 0.2\n'),
        ("p.toml", '[columns]\nzip = "quasi"\ns = { role = "sensitive", t = "1/5" }\n'),
        ("p.json", '{"columns": {"zip": "quasi", "s": {"role": "sensitive", "t": 0.2}}}'),
        ("p.json", '\ufeff{"columns": {"zip": "quasi", "s": {"role": "sensitive", "t": "0.20"}}}'),
    ],
    ids=["TOML number", "TOML fraction", "JSON number", "JSON text with a mark"],
)
def test_a_fifth_is_exactly_a_fifth_in_every_file(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    policy = load_policy(path)
    assert policy.columns["s"].t == Fraction(1, 5)
    assert policy.base == tmp_path


@given(st.integers(0, 10**6))
def test_a_threshold_is_the_decimal_that_was_written(digits: int) -> None:
    limit = Fraction(digits, 10**6)
    written = f"{digits // 10**6}.{digits % 10**6:06d}"
    for given_as in (written, float(written), f"{digits}/1000000"):
        assert Policy.model_validate({"columns": sensitive(t=given_as)}).columns["s"].t == limit


def test_eighths_may_be_written_as_fractions() -> None:
    promised = sensitive(t="1/8", alpha="3/8", l={"entropy": "5/2"})
    column = Policy.model_validate({"columns": promised}).columns["s"]
    assert column.t == Fraction(1, 8)
    assert column.alpha is not None
    assert column.alpha.max == Fraction(3, 8)
    assert column.l is not None
    assert column.l.entropy == Fraction(5, 2)


def test_every_problem_is_reported_at_once() -> None:
    found = problems(
        {
            "zip": "quasi",
            "age": "kwasi",
            "sex": "quasi?",
            "s": {"role": "sensitive", "t": 2},
            "w": {"role": "sensitive", "distance": "hierarchic"},
            "x": {"role": "sensitive", "tt": 0.1},
        },
        kk=3,
        k=0,
    )
    places = sorted(line.partition(":")[0] for line in found)
    assert places == [
        "columns.age.role", "columns.s", "columns.sex.role", "columns.w.distance", "columns.x.tt",
        "k", "kk",
    ]  # fmt: skip


def test_a_problem_of_a_column_is_not_told_twice() -> None:
    """Neither the lack of quasi-identifiers nor of a joint column is news when it was mistyped."""
    assert len(problems({"zip": "kwasi", "s": "sensitive"})) == 1
    joint = [{"columns": ["s", "w"], "t": "1/2"}]
    assert len(problems({**sensitive(t=7), "w": "sensitive"}, joint=joint)) == 1
    # But it is where no column has a problem of its own.
    assert "no column is a quasi-identifier" in problems({"s": "sensitive"})[0]
    wrong = [{"columns": ["s", "zip"], "t": "1/2"}]
    assert "'zip' is not a sensitive column" in problems(sensitive(), joint=wrong)[0]


def test_problems_of_text_and_table_come_together() -> None:
    table = pa.table({"zip": ["1"], "disease": ["x"], "extra": [1]})
    rules = {"columns": {"zip": "quasi", "diseese": {"role": "sensitive"}}, "kk": 2}
    with pytest.raises(PolicyError) as refused:
        tclose.audit(table, rules)
    text = str(refused.value)
    assert "did you mean 'k'?" in text
    assert "did you mean 'disease'?" in text
    assert "columns.extra: this column of the table has no role" in text
    assert text.startswith(f"the policy has {len(refused.value.problems)} problems:")
    assert text.count("Hint: ") >= 3


@pytest.mark.parametrize(
    ("columns", "more", "expected"),
    [
        pytest.param(sensitive(tt=1), {}, "did you mean 't'?", id="key of a column"),
        pytest.param(sensitive(l={"distnct": 2}), {}, "did you mean 'distinct'?", id="key of l"),
        pytest.param(MINIMAL, {"presense": {}}, "did you mean 'presence'?", id="key of the policy"),
        pytest.param(MINIMAL, {"search": {"sead": 1}}, "did you mean 'seed'?", id="key of search"),
        pytest.param(
            sensitive(distance="ordred"), {}, "did you mean 'ordered'?", id="name of a distance"
        ),
        pytest.param({"zip": "quasi", "s": "sensitve"}, {}, "did you mean 'sensitive'?", id="role"),
        pytest.param({"zip": "quasi?"}, {}, "removing the question mark", id="unconfirmed"),
        pytest.param({"zip": {"role": 3}}, {}, "a role is a word", id="role that is no word"),
        pytest.param(sensitive(distance="hierarchical"), {}, "needs a hierarchy", id="no tree"),
        pytest.param(sensitive(distance="matrix"), {}, "matrix = ", id="matrix without file"),
        pytest.param(
            sensitive(distance={"name": "kl", "over": "equal"}), {}, "smoothed-js only", id="over"
        ),
        pytest.param(
            sensitive(distance={"smoothed-js": {"bandwidth": 0}}), {}, "positive", id="bandwidth"
        ),
        pytest.param(sensitive(t=-0.1), {}, "t must lie in [0, 1]", id="negative t"),
        pytest.param(sensitive(t="9/8"), {}, "t must lie in [0, 1]", id="t above one"),
        pytest.param(sensitive(t="much"), {}, "not a number or a fraction", id="t in words"),
        pytest.param(sensitive(t=float("nan")), {}, "not a number", id="t not a number"),
        pytest.param(sensitive(t=True), {}, "truth value", id="t true"),
        pytest.param(sensitive(t="1/0"), {}, "not a number", id="t over zero"),
        pytest.param(sensitive(n=5), {}, "n needs t", id="n without t"),
        pytest.param(sensitive(alpha=0), {}, "(0, 1]", id="alpha zero"),
        pytest.param(sensitive(beta=0), {}, "β must be positive", id="beta zero"),
        pytest.param(sensitive(delta=0), {}, "δ must be positive", id="delta zero"),
        pytest.param(sensitive(l={"entropy": 0.5}), {}, "at least 1", id="l below one"),
        pytest.param(sensitive(l=0), {}, "greater than or equal to 1", id="no value"),
        pytest.param(
            sensitive(l={"recursive": {"c": 0, "l": 2}}), {}, "c must be positive", id="c zero"
        ),
        pytest.param(sensitive(order=["a", "b", "a"]), {}, "in the order twice", id="order"),
        pytest.param(sensitive(domain="declared"), {}, "declared domain needs", id="domain"),
        pytest.param({"zip": {"role": "quasi", "t": 0.1}}, {}, "only a sensitive", id="t of quasi"),
        pytest.param(
            {"zip": {"role": "quasi", "hierarchy": {"prefix": [1], "file": "a.csv"}}},
            {}, "exactly one of", id="two hierarchies",
        ),
        pytest.param(MINIMAL, {"search": {"effort": -1}}, "0 or more", id="effort below zero"),
        pytest.param(MINIMAL, {"search": {"seconds": -1}}, "0 or more", id="seconds below zero"),
        pytest.param(
            MINIMAL, {"search": {"seed": -1}}, "greater than or equal to 0", id="seed below zero"
        ),
        pytest.param(MINIMAL, {"readings": []}, "at least 1", id="no reading"),
        pytest.param(MINIMAL, {"joint": [{"columns": ["a"], "t": 0.1}]}, "at least 2", id="joint"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_remedy(
    columns: dict[str, Any], more: dict[str, Any], expected: str
) -> None:
    found = problems(columns, **more)
    assert len(found) == 1
    assert expected in found[0]


def test_kl_has_no_upper_bound() -> None:
    assert problems(sensitive(distance="kl", t=3)) == []


@pytest.mark.parametrize("word", sorted(SYNONYMS))
def test_the_field_s_other_words_for_a_role_are_understood(word: str) -> None:
    for written in (word, word.upper(), f" {word} ", word.replace(" ", "_")):
        columns = {"a": written, "q": {"role": "quasi"}}
        assert Policy.model_validate({"columns": columns}).columns["a"].role == SYNONYMS[word]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("p.toml", "k = = 3", "not valid TOML"),
        ("p.json", '{"k": }', "not valid JSON"),
        ("p.json", "[1]", "a table of keys"),
        ("p.json", "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_is_no_policy_is_refused_in_words(
    tmp_path: Path, name: str, text: str, expected: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(PolicyError, match=expected):
        load_policy(tmp_path / name)


def test_a_policy_that_is_not_there_is_looked_for_nearby(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("")
    with pytest.raises(PolicyError, match=r"did you mean 'policy\.toml'"):
        load_policy(tmp_path / "polcy.toml")
    with pytest.raises(PolicyError, match="folder"):
        load_policy(tmp_path)
    (tmp_path / "latin.toml").write_bytes("k = 3 # f\xfcr".encode("latin-1"))
    with pytest.raises(PolicyError, match="UTF-8"):
        load_policy(tmp_path / "latin.toml")


@pytest.mark.parametrize("raw", [{}, {"columns": ["a"]}, {"columns": None}, {"columns": {}}])
def test_a_policy_without_columns_is_refused(raw: dict[str, Any]) -> None:
    policy, found = parse_policy(raw)
    assert policy is None
    assert [problem.where for problem in found] == ["columns"]


FULL = sensitive(
    t="1/7", n=3, distance={"smoothed-js": {"over": "equal", "bandwidth": "1/3"}},
    l={"distinct": 2, "recursive": {"c": "5/2", "l": 2}}, alpha={"max": "1/2", "values": ["x"]},
    beta={"enhanced": 2}, delta={"max": 1, "base": "2"}, p=2,
)  # fmt: skip


def test_a_policy_survives_being_written_and_read_again() -> None:
    policy = Policy.model_validate({"k": 3, "columns": FULL, "presence": {"max": "1/2"}})
    assert Policy.model_validate(policy.model_dump()) == policy
    assert Policy.model_validate_json(policy.model_dump_json()) == policy
    assert parse_policy(json.loads(policy.model_dump_json())) == (policy, [])


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ({"context": {"controls": "a contract"}}, "a list is needed"),
        ({"context": {"purpose": 5}}, "a text is needed"),
        ({"context": {"review_date": "soon"}}, "a day is needed"),
        ({"columns": ["age"]}, "a table of keys and values is needed"),
        ({"k": "many"}, "a whole number is needed"),
        ({"columns": {"x": {"role": "quasi", "clean": {"trim": "maybe"}}}}, "true or false"),
    ],
)
def test_kinds_of_values_are_told_in_plain_words(raw: dict[str, Any], told: str) -> None:
    _, problems = parse_policy({"columns": {"age": "quasi"}, **raw})
    said = " ".join(problem.what for problem in problems)
    assert told in said and "Input should" not in said
