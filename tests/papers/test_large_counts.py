"""A table whose products of counts do not fit 32 bits, and must be rejected all the same."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa

import tclose

ILLNESSES = {"lung": ["flu", "pneumonia"], "stomach": ["ulcer"]}
INSIDE = {"flu": 28_633, "pneumonia": 28_633, "ulcer": 0}
WHOLE = {"flu": 75_000, "pneumonia": 75_000, "ulcer": 150_000}
EDGES = {"flu": 1, "pneumonia": 1, "ulcer": 1, "lung": 1, "stomach": 1}
"""Lengths of a tree of height 2, in quarters of its diameter."""


def three_hundred_thousand() -> pa.Table:
    outside = {name: WHOLE[name] - INSIDE[name] for name in WHOLE}
    groups = {"inside": INSIDE, "outside": outside}
    return pa.table(
        {
            "group": [name for name, counts in groups.items() for _ in range(sum(counts.values()))],
            "illness": [
                illness
                for counts in groups.values()
                for illness, count in counts.items()
                for _ in range(count)
            ],
        }
    )


def test_a_class_half_the_tree_away_is_rejected_at_a_tenth() -> None:
    table = three_hundred_thousand()
    assert table.num_rows == 300_000
    illness = {"role": "sensitive", "hierarchy": {"groups": ILLNESSES}, "t": "0.1"}
    audit = tclose.audit(table, {"columns": {"group": "quasi", "illness": illness}})
    (verdict,) = audit.requirements
    assert (audit.holds, verdict.holds, verdict.distance) == (False, False, "hierarchical")
    assert (verdict.achieved_exact, verdict.worst_class) == (Fraction(1, 2), 1)


def test_products_of_32_bits_would_have_accepted_it() -> None:
    mine = {**INSIDE, "lung": 2 * 28_633, "stomach": 0}
    theirs = {**WHOLE, "lung": 150_000, "stomach": 150_000}
    rows, size = sum(WHOLE.values()), sum(INSIDE.values())
    with np.errstate(over="ignore"):
        wrapped = [
            abs(np.int32(rows) * np.int32(mine[node]) - np.int32(size) * np.int32(theirs[node]))
            for node in EDGES
        ]
    honest = [abs(rows * mine[node] - size * theirs[node]) for node in EDGES]
    assert Fraction(sum(honest), 4 * rows * size) == Fraction(1, 2)
    assert Fraction(sum(int(entry) for entry in wrapped), 4 * rows * size) < Fraction(1, 10)
    assert max(rows * count for count in mine.values()) > 2**31
