"""The nearest classes of a row, found again by trying every class."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.errors import UsageError
from tclose.recode.nearest import find_nearest_classes
from tclose.recode.shapes import read_shapes
from tclose.recode.values import Released
from tclose.workflows.inputs import check

GROUPS = {"x": ["a", "b", "c"], "y": ["d", "e"], "z": ["f"]}
ABOVE = {leaf: group for group, leaves in GROUPS.items() for leaf in leaves}
NUMBERS = st.integers(0, 8)
LEAVES = st.sampled_from("abcdef")
WORDS = st.sampled_from(["p", "q", "r", "s, t"])


def interval(low: int, high: int) -> str:
    low, high = min(low, high), max(low, high)
    return str(low) if low == high else f"[{low}, {high}]"


def common(leaves: set[str]) -> str:
    if len(leaves) == 1:
        return next(iter(leaves))
    groups = {ABOVE[leaf] for leaf in leaves}
    return groups.pop() if len(groups) == 1 else "*"


def written(words: set[str]) -> str:
    names = [f'"{word}"' if "," in word else word for word in sorted(words)]
    return next(iter(words)) if len(words) == 1 else "{" + ", ".join(names) + "}"


Box = tuple[int, int, frozenset[str], frozenset[str]]
boxes = st.tuples(
    NUMBERS, NUMBERS, st.frozensets(LEAVES, min_size=1), st.frozensets(WORDS, min_size=1)
)
rows = st.tuples(NUMBERS, LEAVES, WORDS)


def below(label: str) -> set[str]:
    if label == "*":
        return set(ABOVE)
    return set(GROUPS.get(label, [label]))


def losses(ends: tuple[int, int], node: str, words: set[str], wide: int, many: int) -> list:
    return [
        Fraction(ends[1] - ends[0], wide or 1),
        Fraction(len(below(node)) - 1, len(ABOVE) - 1),
        Fraction(len(words), many) if len(words) > 1 else Fraction(0),
    ]


@pytest.mark.slow
@given(st.lists(boxes, min_size=1, max_size=5), st.lists(rows, min_size=1, max_size=6))
@settings(max_examples=80, deadline=None)
def test_the_nearest_classes_gain_the_least_loss(classes: list[Box], new: list[Any]) -> None:
    table = pa.table({
        "n": [row[0] for row in new], "g": [row[1] for row in new],
        "w": [row[2] for row in new], "s": list(range(len(new))),
    })  # fmt: skip
    rules = {
        "n": "quasi", "g": {"role": "quasi", "hierarchy": {"groups": GROUPS}}, "w": "quasi",
        "s": "sensitive",
    }  # fmt: skip
    bound = check(table, {"k": 1, "columns": rules})
    told = [(tuple(sorted(box[:2])), common(set(box[2])), set(box[3])) for box in classes]
    released = [
        Released("n", "interval", tuple(interval(*box[:2]) for box in classes)),
        Released("g", "tree", tuple(one[1] for one in told)),
        Released("w", "set", tuple(written(one[2]) for one in told)),
    ]
    shapes = read_shapes(released, bound)
    cells = np.arange(len(new))
    choice = find_nearest_classes(shapes, cells, 8)
    line = [end for one in told for end in one[0]] + [row[0] for row in new]
    wide, many = (
        max(line) - min(line),
        len({w for one in told for w in one[2]} | {r[2] for r in new}),
    )
    hull = min(end for one in told for end in one[0]), max(end for one in told for end in one[0])
    reach = below(common(set().union(*(below(one[1]) for one in told))))
    known = set().union(*(one[2] for one in told))
    order = bound.cells.codes["s"]
    for cell, found in zip(order, choice, strict=True):
        number, leaf, word = new[cell]
        gains = {}
        for at, (ends, node, words) in enumerate(told):
            if not (hull[0] <= number <= hull[1] and leaf in reach and word in known):
                continue
            after = losses(
                (min(ends[0], number), max(ends[1], number)), common(below(node) | {leaf}),
                words | {word}, wide, many,
            )  # fmt: skip
            before = losses(ends, node, words, wide, many)
            gains[at] = (sum(after) - sum(before), sum(after))
        mine = [int(at) for at in found if at >= 0]
        assert sorted(mine) == sorted(gains)
        ranked = [gains[at] for at in mine]
        assert all(float(a[0]) <= float(b[0]) + 1e-9 for a, b in pairwise(ranked))


def test_missing_values_and_strangers_go_only_where_they_are_covered() -> None:
    table = pa.table({"n": [None, 5, 99], "s": [0, 1, 2]})
    bound = check(table, {"k": 1, "columns": {"n": "quasi", "s": "sensitive"}})
    cells = np.argsort(bound.cells.codes["s"])

    def choices(*labels: str | None) -> list[list[int]]:
        shapes = read_shapes([Released("n", "interval", labels)], bound)
        found = find_nearest_classes(shapes, cells, 4)
        return [[c for c in row if c >= 0] for row in found.tolist()]

    assert choices("[1, 9]", "[0, 3]") == [[], [0, 1], []]
    assert choices("[1, 9]", "*") == [[1, 0], [0, 1], [1]]
    assert choices("[1, 4]", None) == [[1, 0], [], []]
    shapes = read_shapes([Released("n", "interval", ("[1, 9]", "*"))], bound)
    beyond = find_nearest_classes(shapes, cells, 4, beyond=True).tolist()
    assert [[c for c in row if c >= 0] for row in beyond] == [[1, 0], [0, 1], [1, 0]]


def test_a_plan_that_no_row_fits_says_which_columns_are_beyond_it() -> None:
    """All admissions of a new year lie beyond those that the plan was made from."""
    made = pa.table({"day": [1, 2, 3, 4], "town": list("abab"), "ill": list("xyxy")})
    policy = {"k": 2, "columns": {"day": "quasi", "town": "quasi", "ill": "insensitive"}}
    plan = tclose.anonymize(made, policy, method="mondrian").plan
    assert plan is not None
    new = pa.table({"day": [11, 12, 3], "town": list("abc"), "ill": list("xyx")})
    with pytest.raises(UsageError, match=r"3 rows fit none, 0 would break it") as refused:
        tclose.apply(plan, new)
    assert "day (2 rows), town (1 row)" in str(refused.value)
    both = pa.concat_tables([made, new])
    assert (
        "Values beyond those of the plan: day in 2 rows" in tclose.apply(plan, both)._repr_html_()
    )
