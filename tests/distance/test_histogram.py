"""Sparse counts: the same table whichever way it was added up."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tclose.distance.histogram import Histogram

TABLES = st.integers(1, 5).flatmap(
    lambda width: st.lists(
        st.lists(st.one_of(st.integers(0, 4), st.integers(2**62, 2**70)), min_size=width,
                 max_size=width),
        min_size=1, max_size=6,
    )
)  # fmt: skip


@given(TABLES)
def test_dense_and_sparse_are_one_table(rows: list[list[int]]) -> None:
    histogram = Histogram.from_dense(rows)
    assert histogram.dense().tolist() == rows
    assert histogram.size.tolist() == [sum(row) for row in rows]
    assert histogram.total().tolist() == [sum(column) for column in zip(*rows, strict=True)]


@given(TABLES, st.data())
def test_cells_may_come_in_any_order_and_any_number_of_pieces(
    rows: list[list[int]], data: Any
) -> None:
    cells = [(i, j, c) for i, row in enumerate(rows) for j, c in enumerate(row) if c]
    pieces = [(i, j, part) for i, j, c in cells for part in (c // 2, c - c // 2) if part]
    shuffled = data.draw(st.permutations(pieces))
    owner, code, weight = (
        np.array([piece[at] for piece in shuffled], dtype=kind)
        for at, kind in ((0, np.int64), (1, np.int64), (2, object))
    )
    added = Histogram.from_cells(owner, code, weight, classes=len(rows), values=len(rows[0]))
    assert added.dense().tolist() == rows


@given(TABLES, st.data())
def test_taking_and_merging_are_those_of_the_dense_table(rows: list[list[int]], data: Any) -> None:
    histogram = Histogram.from_dense(rows)
    some = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=8))
    assert histogram.take(np.array(some)).dense().tolist() == [rows[i] for i in some]
    label = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    merged = histogram.merge(np.array(label), 3).dense().tolist()
    groups = [[row for row, at in zip(rows, label, strict=True) if at == g] for g in range(3)]
    assert merged == [
        [sum(row[j] for row in group) for j in range(len(rows[0]))] for group in groups
    ]
