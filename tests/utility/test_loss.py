"""Loss and class sizes against loops over rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose.hierarchy.tree import Hierarchy
from tclose.utility.loss import ColumnLoss, partition_loss
from tclose.utility.measures import class_sizes

CHAINS = [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"], ["d", "y", "*"], ["e", "z", "*"]]
TREE = Hierarchy.from_chains(CHAINS, "ill")
PLACES = [Fraction(0), Fraction(1), Fraction(5), Fraction(25, 2), Fraction(20)]


def column(kind: str, gap: bool) -> ColumnLoss:
    if kind == "interval":
        return ColumnLoss.interval(kind, PLACES, has_missing=gap)
    if kind == "tree":
        return ColumnLoss.tree(kind, TREE, np.arange(5), has_missing=gap)
    return ColumnLoss.sets(kind, np.arange(5), has_missing=gap)


def lost(kind: str, gap: bool, inside: set[int]) -> Fraction:
    """What one class loses in one column, by definition; code 5 is a missing value."""
    if len(inside) == 1:
        return Fraction(0)
    if kind == "set":
        return Fraction(len(inside), 5 + gap)
    if 5 in inside:
        return Fraction(1)
    if kind == "interval":
        return (PLACES[max(inside)] - PLACES[min(inside)]) / (PLACES[-1] - PLACES[0])
    leaves = [chain[0] for chain in CHAINS]
    for level in (1, 2):
        above = {CHAINS[leaf][level] for leaf in inside}
        if len(above) == 1:
            below = [leaf for leaf in leaves if CHAINS[leaves.index(leaf)][level] in above]
            return Fraction(len(below) - 1, len(leaves) - 1)
    raise AssertionError


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    kinds=st.lists(st.sampled_from(["interval", "tree", "set"]), min_size=1, max_size=3),
    gap=st.booleans(),
)
def test_the_loss_is_that_of_a_loop_over_rows(data: st.DataObject, kinds: list, gap: bool) -> None:
    cells = data.draw(st.integers(1, 12))
    code = st.integers(0, 4 + gap)
    codes = np.array(data.draw(st.lists(st.lists(code, min_size=len(kinds), max_size=len(kinds)),
                                        min_size=cells, max_size=cells)))  # fmt: skip
    weight = np.array(data.draw(st.lists(st.integers(1, 9), min_size=cells, max_size=cells)))
    label = np.array(data.draw(st.lists(st.integers(-1, 3), min_size=cells, max_size=cells)))
    report = partition_loss([column(kind, gap) for kind in kinds], codes, weight, label)
    each = []
    for at, kind in enumerate(kinds):
        total = Fraction(0)
        for cell in range(cells):
            mates = {int(codes[c, at]) for c in range(cells) if label[c] == label[cell]}
            one = Fraction(1) if label[cell] < 0 else lost(kind, gap, mates)
            total += one * int(weight[cell])
        each.append(total / int(weight.sum()))
    assert report.overall == pytest.approx(float(sum(each) / len(each)), abs=1e-12)
    assert report.left_out == sum(int(w) for w, l in zip(weight, label, strict=True) if l < 0)
    if len(set(kinds)) == len(kinds):
        assert list(report.columns.values()) == pytest.approx([float(one) for one in each])


@pytest.mark.parametrize("kind", ["interval", "tree", "set"])
@pytest.mark.parametrize("gap", [False, True])
def test_no_class_wider_than_a_value_loses_nothing_and_one_class_everything(
    kind: str, gap: bool
) -> None:
    values = 5 + gap
    codes, weight = np.arange(values)[:, None], np.arange(1, values + 1)
    one = column(kind, gap)
    assert partition_loss([one], codes, weight, np.arange(values)).overall == 0
    assert partition_loss([one], codes, weight, np.zeros(values, int)).overall == 1
    nobody = partition_loss([one], codes, weight, np.full(values, -1))
    assert nobody.overall == 1 and nobody.left_out == weight.sum()


def test_a_constant_column_loses_nothing() -> None:
    one = ColumnLoss.interval("age", [Fraction(7)])
    codes = np.zeros((3, 1), dtype=int)
    assert partition_loss([one], codes, np.ones(3, int), np.zeros(3, int)).overall == 0


@given(st.lists(st.integers(1, 50), min_size=1, max_size=20), st.integers(0, 30))
@settings(max_examples=30, deadline=None)
def test_discernibility_counts_whom_each_row_is_confused_with(sizes: list, gone: int) -> None:
    rows = sum(sizes) + gone
    found = class_sizes(np.array(sizes), rows)
    confused = sum(size for size in sizes for _ in range(size)) + sum(rows for _ in range(gone))
    assert found.discernibility == confused
    assert (found.smallest, found.largest) == (min(sizes), max(sizes))
    assert found.mean == sum(sizes) / len(sizes)


def test_where_rows_were_left_out_tells_groups_and_never_a_value() -> None:
    skipping = Hierarchy.from_chains([["a", "x", "*"], ["SECRET", "SECRET", "*"]], "ill")
    leaves = np.arange(2)
    told = ColumnLoss.tree("ill", skipping, leaves, has_missing=True).coarse(np.arange(3))
    assert "SECRET" not in told and "a" not in told
    assert set(told) == {"x", "any", "missing"}
    numbers = ColumnLoss.interval("age", PLACES, has_missing=True)
    assert numbers.coarse(np.array([0, 2, 3, 4, 5])) == [
        "lowest third", "lowest third", "middle third", "highest third", "missing",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["interval", "tree", "set"])
def test_a_column_of_nothing_but_missing_values_loses_nothing(kind: str) -> None:
    one = {
        "interval": ColumnLoss.interval(kind, [], has_missing=True),
        "tree": ColumnLoss.tree(kind, TREE, np.arange(0), has_missing=True),
        "set": ColumnLoss.sets(kind, np.arange(0), has_missing=True),
    }[kind]
    codes = np.zeros((3, 1), dtype=int)
    assert partition_loss([one], codes, np.ones(3, int), np.zeros(3, int)).overall == 0
    assert one.coarse(np.zeros(1, int)) == ["missing"]
