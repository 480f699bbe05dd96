"""Slides on t-closeness (Lustig, CS 295D): the numbers they add to those of Li 2007."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa

import tclose
from tclose.distance.ground import ordinal

F = Fraction


def test_the_second_salary_flow_of_the_slides_costs_a_sixth(table_4: pa.Table) -> None:
    flow = [(11, 10), (11, 9), (8, 8), (8, 7), (8, 6), (6, 5), (6, 4), (6, 3)]
    ground = ordinal(9)
    after = {value: (F(1, 3) if value in (6, 8, 11) else F(0)) for value in range(3, 12)}
    for source, target in flow:
        after[source] -= F(1, 9)
        after[target] += F(1, 9)
    cost = sum((F(1, 9) * ground.between(a - 3, b - 3) for a, b in flow), F(0))
    told = tclose.explain(table_4, quasi=["zip", "age"], sensitive="salary", class_number=3)
    assert set(after.values()) == {F(1, 9)}
    assert cost == told.exact == F(12, 72)


def test_the_nine_diseases_that_the_slides_list_give_four_ninths_and_eight_twenty_sevenths(
    table_4: pa.Table, patients: dict[str, Any], distances: Any
) -> None:
    found = distances(table_4, patients, "disease")
    assert found[("476**", "2*")] == F(4, 9) != F(1, 2)
    assert found[("4790*", "≥ 40")] == F(8, 27) != F(5, 18)


def test_both_salary_classes_of_the_slides_have_three_people(
    table_4: pa.Table, patients: dict[str, Any], distances: Any
) -> None:
    told = [tclose.explain(table_4, patients, class_number=n, attribute="salary") for n in (1, 3)]
    assert [why.size for why in told] == [3, 3]
    assert told[0].exact != told[1].exact


def test_three_of_four_positive_is_worse_than_two_of_four() -> None:
    groups = {"first": (0, 4), "second": (2, 2), "third": (3, 1), "others": (95, 9893)}
    table = pa.table(
        {
            "group": [name for name, pair in groups.items() for _ in range(sum(pair))],
            "disease": [v for p, n in groups.values() for v in ["positive"] * p + ["negative"] * n],
        }
    )
    assert table.num_rows == 10_000
    assert table.column("disease").to_pylist().count("positive") == 100
    rules = {"columns": {"group": "quasi", "disease": "sensitive"}}
    found = {
        why.label["group"]: why.exact
        for why in (tclose.explain(table, rules, class_number=n) for n in range(1, 5))
    }
    assert found["first"] == F(1, 100)
    assert found["second"] == F(49, 100)
    assert found["third"] == F(74, 100)
