"""What a released value covers: runs of places against the plain reading of its label."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tclose.data.encode.columns import Dictionary
from tclose.data.encode.coverage import find_covered, read_boxes
from tclose.data.encode.labels import covers_missing
from tclose.hierarchy.tree import Hierarchy

NUMBERS = ["3", "5", "7", "10", "12.5", "40"]
WORDS = ["cat", "cow", "dog", "oak", "(missing)", "a, b"]
UNITS = ["3K", "5K", "11K"]
DATES = ["2024-01-03", "2024-02-01", "2025-12-31"]
TREE = Hierarchy.from_chains(
    [["cat", "animal", "*"], ["oak", "plant", "*"], ["cow", "animal", "*"], ["dog", "animal", "*"],
     ["(missing)", "odd", "*"], ["a, b", "odd", "*"]],
    "kind",
)  # fmt: skip
LABELS = {
    "numbers": (NUMBERS, [
        "*", None, "5", "[3, 10]", "[3, 10)", "(3, 12]", "3-7", "≥ 7", "<5", "(-∞, 5]", "[6, 6.5]",
        "{3, 40}", "{3, 5, (missing)}", "1*", "nothing", "[100, 200]",
    ]),
    "words": (WORDS, [
        "*", None, "cat", "{cat, dog}", '{"a, b", oak}', "{cat, (missing)}", '{"(missing)", cat}',
        "c*", "*o*", "nothing",
    ]),
    "tree": (WORDS, ["*", None, "animal", "plant", "odd", "oak", "{cat, oak}", "c**", "nothing"]),
    "units": (UNITS, ["*", "3K", "[3K, 5K]", "[4K, 20K]", "[3, 5]", "{3K, 11K}"]),
    "dates": (DATES, ["*", "[2024-01-03, 2024-06-01]", "2024-02-01", "{2024-01-03, 2025-12-31}"]),
}  # fmt: skip


def plainly(label: str | None, about: Dictionary, tree: Hierarchy | None) -> NDArray[np.bool_]:
    """Which values, a missing one last, a label covers by itself."""
    some = [False] * about.known if label is None else find_covered(label, about.labels, tree)
    missing = label is None or covers_missing(label)
    return np.append(some, missing)[: len(about)]


def dictionary(values: list[str | None]) -> Dictionary:
    return Dictionary.encode(pa.chunked_array([pa.array(values, pa.string())]))[0]


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("missing", [False, True])
def test_boxes_cover_what_labels_cover(kind: str, missing: bool) -> None:
    values, labels = LABELS[kind]
    tree = TREE if kind == "tree" else None
    about = dictionary([*values, None] if missing else list(values))
    boxes = read_boxes("column", labels, about, tree)
    codes = np.arange(len(about))
    for at, label in enumerate(labels):
        plain = plainly(label, about, tree)
        found = boxes.covers(np.full(len(codes), at), boxes.rank[codes])
        assert found.tolist() == plain.tolist(), label
        assert boxes.width[at] == plain.sum(), label


@given(st.lists(st.integers(0, 9), min_size=6, max_size=6))
def test_totals_add_up_what_is_covered(amounts: list[int]) -> None:
    values, labels = LABELS["words"]
    about = dictionary([*values])
    boxes = read_boxes("column", labels, about, TREE)
    by_place = np.zeros(boxes.values, dtype=np.int64)
    by_place[boxes.rank[: about.known]] = amounts
    for at, label in enumerate(labels):
        plain = plainly(label, about, TREE)
        assert boxes.total(by_place)[at] == np.array(amounts)[plain].sum(), label


def test_a_number_written_otherwise_is_the_same_number() -> None:
    boxes = read_boxes("age", ["5.0", "5.5"], dictionary(["3", "5"]))
    assert boxes.width.tolist() == [1, 0]


def test_a_central_value_is_the_nearest_that_a_row_has() -> None:
    about = dictionary(["3", "5", "40"])
    boxes = read_boxes("age", ["17", "30"], about, central=True)
    assert boxes.low.tolist() == [1, 2]
    tree = Hierarchy.from_chains([["3", "*"], ["5", "*"], ["40", "*"]], "age")
    assert read_boxes("age", ["17"], about, tree, central=True).low.tolist() == [1]


def test_ends_stay_within_the_original() -> None:
    boxes = read_boxes("age", ["[0, 5)", "≥ 4", "*", "{3, 5}", None], dictionary(["3", "5", "40"]))
    assert boxes.ends[:4].tolist() == [[3, 5], [4, 40], [3, 40], [3, 5]]
    assert np.isnan(boxes.ends[4]).all()


def test_a_year_above_days_is_a_group_and_not_a_number() -> None:
    chains = [[day, day[:7], day[:4], "*"] for day in DATES]
    tree = Hierarchy.from_chains(chains, "day")
    boxes = read_boxes("day", ["2024", "2024-01", "2025-12-31", "*"], dictionary(DATES), tree)
    assert boxes.width.tolist() == [2, 1, 1, 3]
    assert boxes.exact.tolist() == [False, False, True, False]
    wide = boxes.ends[:, 1] - boxes.ends[:, 0]
    assert wide.tolist() == [29, 0, 0, 728]
    assert boxes.ends[0, 0] == boxes.ends[3, 0] == boxes.ends[1, 0]
