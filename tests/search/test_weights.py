"""What a column counts in the loss: every method follows weights, and a target that makes them."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import log, log2
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tclose
from tclose.errors import PolicyError, UsageError
from tclose.report.summaries import summarize_release
from tclose.search import Budget, SearchProblem, method_named, problem_of
from tclose.search.registry import METHODS
from tclose.utility.loss import code_quasi
from tclose.utility.target import MOST_GROUPS, weigh_by_target

TREE = {"role": "quasi", "hierarchy": {"intervals": [8, 16, 32, 64]}}


def two_columns(name: str, heavy: str) -> SearchProblem:
    """Two quasi-identifiers that are alike, of which one counts thirty times as much."""
    random, method = np.random.default_rng(5), METHODS[name]
    names = ("a", "b", "s", "u")
    highest = (64, 64, 12, 12)
    table = {each: random.integers(0, most, 240) for each, most in zip(names, highest, strict=True)}
    close: dict[str, Any] = {"role": "sensitive", "distance": "ordered", "t": "0.3"}
    two = method.close is not None and 1 not in method.close
    further = close if two else "insensitive"
    columns = {"a": TREE, "b": TREE, "s": close, "u": further}
    rules = {"k": 4, "columns": columns, "search": {"weights": {heavy: 30}}}
    return problem_of(tclose.check(pa.table(table), rules))


@pytest.mark.parametrize("name", [name for name in METHODS if name != "fragments-thesis"])
def test_every_method_keeps_the_column_that_counts_more(name: str) -> None:
    """`fragments-thesis` has one class here: its published bound is too large for such tables."""
    lost = {}
    for heavy in "ab":
        problem = two_columns(name, heavy)
        outcome = method_named(name).run(problem, Budget(effort=0.05))
        assert outcome.classes > 1
        lost[heavy] = problem.loss(outcome.label).columns
    assert lost["a"]["a"] < lost["b"]["a"] and lost["b"]["b"] < lost["a"]["b"]


def people(rows: int = 600) -> pa.Table:
    """Ages tell much about who wins, towns a little, hues nothing."""
    random = np.random.default_rng(3)
    age, town = random.integers(20, 80, rows), random.integers(0, 6, rows)
    won = (age > 50) ^ (random.random(rows) < 0.05 + 0.03 * town)
    return pa.table(
        {
            "age": age,
            "town": [f"town {each}" for each in town],
            "hue": random.choice(["red", "green", "blue"], rows),
            "ill": random.choice(["flu", "ulcer", "asthma"], rows),
            "won": np.where(won, "yes", "no"),
        }
    )


ROLES: dict[str, Any] = {
    "age": "quasi",
    "town": "quasi",
    "hue": "quasi",
    "ill": {"role": "sensitive", "t": "0.3"},
    "won": "insensitive",
}


def rules(**search: Any) -> dict[str, Any]:
    return {"k": 5, "columns": ROLES, "search": search}


def information(table: pa.Table, column: str, target: str) -> float:
    """Σ p(x, y) log₂ p(x, y) / p(x) p(y), less (values − 1)² / 2 n ln 2, by a loop over rows."""
    own, other = table[column].to_pylist(), table[target].to_pylist()
    n = len(own)
    if len(set(own)) > MOST_GROUPS:
        before = {value: sum(each < value for each in own) for value in set(own)}
        own = [MOST_GROUPS * before[value] // n for value in own]
    first, second, both = Counter(own), Counter(other), Counter(zip(own, other, strict=True))
    bits = sum(c / n * log2(c * n / first[a] / second[b]) for (a, b), c in both.items())
    return max(bits - (len(first) - 1) * (len(second) - 1) / (2 * n * log(2)), 0.0)


def entropy(values: list[Any]) -> float:
    return -sum(c / len(values) * log2(c / len(values)) for c in Counter(values).values())


@pytest.mark.parametrize("target", ["won", "ill"])
def test_a_target_weighs_columns_by_the_bits_that_they_tell(target: str) -> None:
    table = people()
    bound = tclose.check(table, rules())
    found = weigh_by_target(bound, code_quasi(bound), target)
    whole = entropy(table[target].to_pylist())
    bits = {name: information(table, name, target) / whole for name in ("age", "town", "hue")}
    assert dict(found.information) == pytest.approx(bits, abs=1e-9)
    mean = sum(bits.values()) / 3
    expected = {name: round(500 * (1 + each / mean)) for name, each in bits.items()}
    assert found.weights == {name: Fraction(each, 1000) for name, each in expected.items()}


@pytest.mark.parametrize("role", ["count", "weight"])
def test_rows_that_stand_for_several_tell_as_often(role: str) -> None:
    table = people(200)
    times = np.random.default_rng(4).integers(1, 4, 200)
    many = table.take(pa.array(np.repeat(np.arange(200), times)))
    counted = table.append_column("times", pa.array(times))
    roles = {"k": 2, "columns": {**ROLES, "times": role}}
    few, all_rows = tclose.check(counted, roles), tclose.check(many, rules())
    found, expected = (weigh_by_target(b, code_quasi(b), "won") for b in (few, all_rows))
    assert dict(found.information) == pytest.approx(dict(expected.information), abs=1e-9)


def test_the_search_follows_a_target_and_the_certificate_tells_its_weights() -> None:
    table = people()
    plain = tclose.anonymize(table, rules(), method="mondrian")
    stated = tclose.anonymize(table, rules(target="won"), method="mondrian")
    named = tclose.anonymize(table, rules(), method="mondrian", target="won")
    assert stated.loss.columns == named.loss.columns
    assert stated.loss.columns["age"] < plain.loss.columns["age"]
    told = stated.certificate.target
    assert told is not None and told.column == "won" and plain.certificate.target is None
    assert Fraction(told.weights["age"]) > 1 > Fraction(told.weights["hue"]) >= Fraction(1, 2)
    by_hand = tclose.anonymize(table, rules(weights=told.weights), method="mondrian")
    assert by_hand.loss.columns == stated.loss.columns
    words = [str(getattr(part, "text", "")) for part in summarize_release(stated)]
    assert any("Columns weighted by information on won: age" in each for each in words)


def test_weights_and_a_target_multiply() -> None:
    table = people()
    alone = problem_of(tclose.check(table, rules(target="won"))).objective.weights
    both = problem_of(tclose.check(table, rules(target="won", weights={"hue": 4}))).objective
    assert both.weights == {**alone, "hue": 4 * alone["hue"]}


def test_a_target_that_nothing_tells_of_leaves_all_columns_alike() -> None:
    table = people().append_column("same", pa.array(["x"] * 600))
    same = {"k": 5, "columns": {**ROLES, "same": "insensitive"}, "search": {"target": "same"}}
    assert set(problem_of(tclose.check(table, same)).objective.weights.values()) == {Fraction(1)}


@pytest.mark.parametrize(
    ("target", "words"),
    [("age", "does not keep the quasi column"), ("nowhere", "no column 'nowhere'")],
)
def test_a_policy_refuses_targets_that_a_release_does_not_show(target: str, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        tclose.check(people(), rules(target=target))


def test_what_cannot_follow_a_target_refuses_it() -> None:
    table = people()
    with pytest.raises(UsageError, match="does not keep this quasi column"):
        tclose.anonymize(table, rules(), target="age")
    with pytest.raises(UsageError, match="does not look at columns"):
        tclose.anonymize(table, rules(loss="discernibility", target="won"))
    with pytest.raises(UsageError, match="in a table in one place only"):
        tclose.anonymize(
            table, rules(target="won"), method="mondrian", reading=tclose.Reading(max_cells=50)
        )
    for form in ("anatomy", "projections"):
        with pytest.raises(UsageError, match="not in several tables"):
            tclose.split(table, rules(target="won"), form=form)
