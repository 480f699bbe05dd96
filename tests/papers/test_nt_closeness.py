"""Closeness, the short paper on (n, t)-closeness: its Example 4 of 3 000 people.

The tables are not printed in the text, but its four shares (700/3000, 300/600, 500/1000, 200/2000)
leave only one reading: three classes, of which the first two share a region.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import tclose

F = Fraction
COUNTS = {
    ("476**", "[20, 30)"): (300, 300),
    ("476**", "[30, 40)"): (200, 200),
    ("479**", "[40, 50)"): (200, 1800),
}


def people(classes: dict[tuple[str, str], tuple[int, int]] = COUNTS) -> pa.Table:
    rows = [
        (zip_code, age, disease)
        for (zip_code, age), (cancer, flu) in classes.items()
        for disease in ["cancer"] * cancer + ["flu"] * flu
    ]
    return pa.table(dict(zip(["zip", "age", "disease"], zip(*rows, strict=True), strict=True)))


def rules(**promise: Any) -> dict[str, Any]:
    return {
        "columns": {
            "zip": {"role": "quasi", "hierarchy": {"prefix": [3, 0]}},
            "age": {"role": "quasi", "hierarchy": {"intervals": [10, 20]}},
            "disease": {"role": "sensitive", "distance": "equal", **promise},
        }
    }


def plain_rules(**promise: Any) -> dict[str, Any]:
    return {
        "columns": {
            "zip": "quasi",
            "age": "quasi",
            "disease": {"role": "sensitive", "distance": "equal", **promise},
        }
    }


def share_of_cancer(table: pa.Table, zip_code: str = "", age: str = "") -> Fraction:
    rows = [
        row
        for row in table.to_pylist()
        if row["zip"].startswith(zip_code) and row["age"].startswith(age)
    ]
    return F(sum(row["disease"] == "cancer" for row in rows), len(rows))


def test_the_reconstructed_table_has_every_printed_share() -> None:
    table = people()
    assert table.num_rows == 3000
    assert share_of_cancer(table) == F(700, 3000)
    assert share_of_cancer(table, "476", "[20") == F(300, 600)
    assert share_of_cancer(table, "476") == F(500, 1000)
    assert share_of_cancer(table, "479") == F(200, 2000)


def test_example_4_is_not_01_close_to_the_whole_table(distances: Any) -> None:
    audit = tclose.verify(people(), rules(t="0.1"))
    (verdict,) = audit.requirements
    assert verdict.holds is False
    assert verdict.achieved_exact == F(300, 600) - F(700, 3000) == F(4, 15)
    assert distances(people(), rules(), "disease") == {
        ("476**", "[20, 30)"): F(4, 15),
        ("476**", "[30, 40)"): F(4, 15),
        ("479**", "[40, 50)"): F(2, 15),
    }


def test_example_4_is_1000_01_close_because_each_region_is_large_enough() -> None:
    (verdict,) = tclose.verify(people(), rules(t="0.1", n=1000)).requirements
    assert (verdict.requirement, verdict.holds) == ("(n,t)-closeness", True)
    assert verdict.achieved_exact == 0


def test_a_region_of_exactly_n_rows_is_large_enough_and_one_row_fewer_is_not() -> None:
    assert tclose.verify(people(), rules(t=0, n=1000)).holds
    (verdict,) = tclose.verify(people(), rules(t="0.1", n=1001)).requirements
    assert (verdict.holds, verdict.achieved_exact) == (False, F(4, 15))


def test_with_n_the_whole_table_it_is_t_closeness() -> None:
    (close,) = tclose.verify(people(), rules(t="4/15", n=3000)).requirements
    (plain,) = tclose.verify(people(), rules(t="4/15")).requirements
    assert close.holds is plain.holds is True
    assert close.achieved_exact == plain.achieved_exact == F(4, 15)


def test_with_n_one_every_class_is_its_own_reference() -> None:
    assert tclose.verify(people(), rules(t=0, n=1)).holds


@pytest.mark.parametrize("left_out", list(COUNTS))
def test_no_merge_short_of_all_three_classes_is_01_close(left_out: tuple[str, str]) -> None:
    merged = [counts for key, counts in COUNTS.items() if key != left_out]
    rest = (sum(cancer for cancer, _ in merged), sum(flu for _, flu in merged))
    table = people({left_out: COUNTS[left_out], ("*", "*"): rest})
    assert not tclose.verify(table, plain_rules(t="0.1")).holds


def test_all_three_classes_merged_are_01_close() -> None:
    assert tclose.verify(people({("*", "*"): (700, 2300)}), plain_rules(t=0)).holds
