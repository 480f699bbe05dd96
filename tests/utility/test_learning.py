"""Learning: what a release teaches about a target, against the raw table and the majority."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tclose
from tclose.errors import DataError, UsageError
from tclose.utility.learning import make_raw_features, make_released_features, measure_auc
from tclose.utility.pair import pair_of
from tclose.workflows.inputs import check

RULES = {"columns": {"age": "quasi", "hue": "quasi", "ill": "sensitive", "won": "insensitive"}}


def people(rows: int = 600) -> pa.Table:
    """Who is older than 50 wins, mostly; hues say nothing."""
    rng = random.Random(3)
    ages = [rng.randint(20, 80) for _ in range(rows)]
    return pa.table(
        {
            "age": ages,
            "hue": [rng.choice(["red", "green", "blue"]) for _ in ages],
            "ill": [rng.choice(["flu", "ulcer"]) for _ in ages],
            "won": ["yes" if (age > 50) != (rng.random() < 0.1) else "no" for age in ages],
        }
    )


def with_column(table: pa.Table, name: str, values: list[str]) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, [values])


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=2, max_size=30))
def test_auc_is_the_share_of_pairs_in_the_right_order(rows: list[tuple[bool, int]]) -> None:
    above = [score for truth, score in rows if truth]
    below = [score for truth, score in rows if not truth]
    pairs = [(a > b) + (a == b) / 2 for a in above for b in below]
    expected = sum(pairs) / len(pairs) if pairs else 0.5
    truth, score = np.array([t for t, _ in rows]), np.array([float(s) for _, s in rows])
    assert measure_auc(truth, score) == pytest.approx(expected)


def test_exact_values_have_the_features_of_raw_ones() -> None:
    table = people(60)
    bound = check(table, RULES)
    pair = pair_of(bound, bound)
    codes = pair.covering.places(pair.original.cells)
    number = pair.release.classes.cell_class
    raw = make_raw_features(pair, codes)
    assert np.allclose(raw, make_released_features(pair, pair.covering.key[number]))
    assert np.allclose(raw[:, 2:5].sum(axis=1), 1.0)


def test_intervals_are_their_middle_and_sets_are_shared_out() -> None:
    table = pa.table({"age": [20, 40, 60, 80], "hue": ["a", "b", "a", "c"], "ill": list("xyxy")})
    coarse = pa.table({"age": ["[20, 40]"] * 2 + ["*"] * 2, "hue": ["{a, b}"] * 2 + ["*"] * 2,
                       "ill": list("xyxy")})  # fmt: skip
    rules = {"columns": {"age": "quasi", "hue": "quasi", "ill": "sensitive"}}
    pair = pair_of(check(table, rules), check(coarse, rules))
    features = make_released_features(pair, pair.covering.key)
    spread = np.std([20, 40, 60, 80])
    assert sorted(features[:, 0].tolist()) == pytest.approx([-20 / spread, 0.0])
    shares = sorted(sorted(row) for row in features[:, 2:5].tolist())
    assert np.allclose(shares, [[0, 0.5, 0.5], [1 / 3] * 3])


@pytest.mark.slow
def test_the_raw_table_teaches_more_than_stars_and_fine_intervals_nearly_as_much() -> None:
    pytest.importorskip("sklearn")
    table = people()
    stars = with_column(table, "age", ["*"] * 600)
    fine = [f"[{5 * (age // 5)}, {5 * (age // 5) + 4}]" for age in table["age"].to_pylist()]
    nothing = tclose.measure(original=table, release=stars, policy=RULES, queries=0, target="won")[
        "learning"
    ]
    much = tclose.measure(
        original=table,
        release=with_column(table, "age", fine),
        policy=RULES,
        queries=0,
        target="won",
    )["learning"]
    assert nothing.numbers["tree, raw: accuracy"] > 0.85
    assert nothing.numbers["tree, raw: AUC"] > 0.85
    assert nothing.overall > 0.25 > 0.05 > much.overall
    assert nothing.numbers["majority"] < 0.65
    assert nothing.note == ""


def test_rows_that_cannot_be_linked_are_said_not_to_be_held_out() -> None:
    pytest.importorskip("sklearn")
    table = people()
    fewer = tclose.measure(
        original=table, release=table.slice(10), policy=RULES, queries=0, target="won"
    )["learning"]
    assert "could not be held out" in fewer.note


def test_numbers_are_learned_by_halves_and_sensitive_targets_are_remarked() -> None:
    pytest.importorskip("sklearn")
    table = people()
    rng = random.Random(1)
    paid = [age * 10 + rng.randint(0, 9) for age in table["age"].to_pylist()]
    table = table.drop_columns("ill").append_column("ill", [paid])
    found = tclose.measure(original=table, release=table, policy=RULES, queries=0, target="ill")[
        "learning"
    ]
    assert found.numbers["tree, raw: accuracy"] > 0.9
    assert "by design" in found.note


@pytest.mark.parametrize(
    ("target", "error", "words"),
    [
        ("age", UsageError, "does not keep this quasi column"),
        ("same", DataError, "all rows agree"),
        ("nowhere", DataError, "no column 'nowhere'"),
    ],
)
def test_targets_that_cannot_be_learned_are_refused(
    target: str, error: type[Exception], words: str
) -> None:
    pytest.importorskip("sklearn")
    table = people(60).append_column("same", [["x"] * 60])
    rules: dict[str, Any] = {"columns": {**RULES["columns"], "same": "insensitive"}}
    with pytest.raises(error, match=words):
        tclose.measure(original=table, release=table, policy=rules, queries=0, target=target)


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sklearn", "sklearn.linear_model", "sklearn.tree"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"tclose\[learn\]"):
        tclose.measure(
            original=people(60), release=people(60), policy=RULES, queries=0, target="won"
        )
