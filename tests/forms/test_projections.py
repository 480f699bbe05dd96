"""Projections: each keeps the promise by itself, and what all of them tell together is told."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.attacks.composition import Projection, compose_projections

ILL = {"role": "sensitive", "l": 2}
RULES: dict[str, Any] = {
    "k": 2,
    "columns": {"age": "quasi", "ill": ILL, "sign": {"role": "sensitive", "accept": "made up"}},
}


def planted() -> pa.Table:
    """A sign tells the illness. Illnesses come in pairs of equal ones, so classes of two rows show
    one sign, and classes of four two illnesses: together they tell everything."""
    ill = ["flu", "flu", "ulcer", "ulcer"] * 4
    sign = ["cough" if one == "flu" else "pain" for one in ill]
    return pa.table({"age": list(range(16)), "ill": ill, "sign": sign})


def test_a_planted_leak_is_found_and_certified() -> None:
    made = tclose.split(
        planted(), RULES, form="projections", sets=[["ill"], ["sign"]], method="mondrian"
    )
    assert made.holds
    (leak,) = [one for one in made.findings if one.attribute == "ill"]
    assert leak.affected == 16
    assert leak.numbers["fewest values left"] == 1
    assert leak.numbers["strongest belief"] == 1.0
    assert "certain" in leak.sentence and leak.sentence in made.notes
    stated = made.certificate.attacks
    assert [one.affected for one in stated if one.attribute == "ill"] == [16]


def test_who_is_certain_already_is_not_said_to_be_uncertain() -> None:
    one = pa.table({"age": [20], "ill": ["flu"], "sign": ["cough"]})
    meant = {"role": "sensitive", "accept": "made up"}
    rules = {**RULES, "k": 1, "columns": {"age": "quasi", "ill": meant, "sign": meant}}
    made = tclose.split(one, rules, form="projections", sets=[["ill"], ["sign"]])
    assert "Its own projection makes the ill of 1 row certain already." in made.notes
    bound = tclose.check(
        pa.table({"q": [*range(6)], "a": [*"xxxyxy"], "b": [*"uvuvuv"]}),
        {"columns": {"q": "quasi", "a": "sensitive", "b": "sensitive"}},
    )
    classes = [np.array([0, 0, 1, 1, 1, 1]), np.zeros(6, dtype=np.int64)]
    _, about, _ = compose_projections(
        bound, np.arange(6), [Projection(("a",), classes[0]), Projection(("b",), classes[1])]
    )
    assert about.sentence == (
        "Apart from 2 rows that its own projection makes certain, the projections together make "
        "the a of no row certain; the strongest belief of someone who knows how the attributes are "
        "associated is 50.0% (50.0% from its own projection)."
    )


def test_columns_that_go_together_are_published_together() -> None:
    rules = {**RULES, "columns": {**RULES["columns"], "pay": {"role": "sensitive", "t": 0.4}}}
    table = planted().append_column("pay", pa.array([1, 2, 3, 4] * 4))
    shifted = table.set_column(3, "pay", pa.array([(at * at) % 5 for at in range(16)]))
    made = tclose.split(shifted, rules, form="projections", method="mondrian")
    assert ("ill", "sign") in made.sets


def test_rows_of_different_projections_are_in_different_orders() -> None:
    rows = 64
    table = pa.table(
        {
            "age": list(range(rows)),
            "visit": [f"v{at}" for at in range(rows)],
            "a": [at % 3 for at in range(rows)],
            "b": [(at * at) % 7 for at in range(rows)],
        }
    )
    rules = {
        "k": 2,
        "columns": {
            "age": "quasi",
            "visit": "insensitive",
            "a": {"role": "sensitive", "l": 2},
            "b": {"role": "sensitive", "l": 2},
        },
    }
    sets = [["a"], ["b"]]
    made = tclose.split(table, rules, form="projections", sets=sets, method="mondrian")
    first, second = made.tables.values()
    assert first.column_names == ["age", "visit", "a"]
    assert second.column_names == ["age", "b"], "what else is known would tie them together"
    pairs = Counter(zip(table["a"].to_pylist(), table["b"].to_pylist(), strict=True))
    beside = Counter(zip(first["a"].to_pylist(), second["b"].to_pylist(), strict=True))
    assert beside != pairs
    order = np.random.default_rng(5).permutation(rows)
    mixed = table.take(pa.array(order))
    again = tclose.split(mixed, rules, form="projections", sets=sets, method="mondrian")
    assert second.equals(again.tables["projection-2"])


def beliefs(a: list[int], b: list[int], mine: list[int], theirs: list[int]) -> tuple[int, Fraction]:
    """The fewest values left and the strongest belief, from the formula, in fractions."""
    rows = range(len(a))
    values = sorted(set(a))

    def share(inside: list[int], column: list[int], value: int) -> Fraction:
        return Fraction(sum(column[at] == value for at in inside), len(inside))

    fewest, strongest = len(values), Fraction(0)
    for at in rows:
        own = [row for row in rows if mine[row] == mine[at]]
        other = [row for row in rows if theirs[row] == theirs[at]]
        belief = {}
        for value in values:
            told = sum(
                (
                    share(other, b, sign) * share([r for r in rows if b[r] == sign], a, value)
                    for sign in set(b)
                ),
                Fraction(0),
            )
            belief[value] = share(own, a, value) * told / share(list(rows), a, value)
        total = sum(belief.values(), Fraction(0))
        left = [one for one in belief.values() if one]
        fewest, strongest = min(fewest, len(left)), max(strongest, max(belief.values()) / total)
    return fewest, strongest


@settings(max_examples=30)
@given(data=st.data())
def test_beliefs_are_those_of_the_formula(data: st.DataObject) -> None:
    rows = data.draw(st.integers(2, 12))

    def column(values: int) -> list[int]:
        return data.draw(st.lists(st.integers(0, values - 1), min_size=rows, max_size=rows))

    a, b = column(3), column(3)
    mine, theirs = (np.unique(column(3), return_inverse=True)[1] for _ in range(2))
    table = pa.table({"q": list(range(rows)), "a": a, "b": b})
    bound = tclose.check(table, {"columns": {"q": "quasi", "a": "sensitive", "b": "sensitive"}})
    cell = np.argsort(np.argsort(table["q"].to_numpy()))
    found = compose_projections(bound, cell, [Projection(("a",), mine), Projection(("b",), theirs)])
    about = next(one for one in found if one.attribute == "a")
    fewest, strongest = beliefs(a, b, mine.tolist(), theirs.tolist())
    assert about.numbers["fewest values left"] == fewest
    assert abs(about.numbers["strongest belief"] - float(strongest)) < 1e-12  # type: ignore
    meeting = Counter(zip(mine.tolist(), theirs.tolist(), strict=True))
    assert found[0].affected == sum(count for count in meeting.values() if count < 2)
