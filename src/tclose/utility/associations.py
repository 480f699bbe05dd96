"""Associations: how strongly columns depend on each other, in the release and in the raw table.

Cramér's V of every two quasi-identifiers, and of every quasi-identifier with every sensitive
attribute and with the target of learning, if there is one. A column of more than 20 values is
grouped into 20 runs of neighbouring values (along the number line, the leaves of its hierarchy, or
names) with about equally many rows. The release's tables of two columns are rebuilt as a reader
would: the rows of a class are spread evenly over the values that it covers. Rows that were left out
are not in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from tclose.arrays import Floats, Ints
from tclose.data.encode.cells import split_evenly
from tclose.distance.histogram import add_by_group, count_pairs
from tclose.utility.learning import encode_target
from tclose.utility.pair import Measure, Pair

ASSOCIATIONS = "associations"
MOST_GROUPS = 20
MEANING = "change of Cramér's V between columns, over what it was in the raw table"
BLOCK = 100_000
"""The number of classes processed together."""
Tables = tuple[str, str, Floats, Floats]
"""Two columns, and the rows per pair of their groups: in the raw table, and rebuilt."""


def measure_associations(pair: Pair, target: str | None = None) -> Measure:
    """Measures Σ |V(release) − V(raw)| / Σ V(raw): 0 if all are kept, 1 if nothing is left.

    >>> import pyarrow as pa, tclose
    >>> table = pa.table({"age": [20, 20, 60, 60], "ill": ["a", "a", "b", "b"]})
    >>> stars = table.set_column(0, "age", [["*"] * 4])
    >>> rules = {"columns": {"age": "quasi", "ill": "sensitive"}}
    >>> tclose.measure(original=table, release=stars, policy=rules)["associations"].overall
    1.0
    """
    found = [(a, b, *_compare(raw, rebuilt)) for a, b, raw, rebuilt in _list_tables(pair, target)]
    if not found:
        return Measure(ASSOCIATIONS, None, MEANING, note="there are no two columns to compare")
    columns = {}
    for boxes in pair.covering.columns:
        mine = [(v, u) for a, b, v, u in found if boxes.name in (a, b)]
        columns[boxes.name] = _add_changes(mine)
    values = [(v, u) for *_, v, u in found]
    numbers = {
        "raw, mean": float(np.mean([v for v, _ in values])),
        "release, mean": float(np.mean([u for _, u in values])),
        "mean change": float(np.mean([abs(v - u) for v, u in values])),
        "pairs": float(len(values)),
    }
    if target is not None:
        numbers["with the target"] = _add_changes([(v, u) for _, b, v, u in found if b == target])
    return Measure(ASSOCIATIONS, _add_changes(values), MEANING, columns, numbers)


def measure_cramers_v(table: Floats, like: Floats | None = None) -> float:
    """Returns √(χ² / (n (min(rows, columns) − 1))), for rows and columns with entries in `like`.

    >>> measure_cramers_v(np.array([[2.0, 0.0], [0.0, 2.0]])), measure_cramers_v(np.ones((2, 2)))
    (1.0, 0.0)
    """
    like = table if like is None else like
    sides = min(np.count_nonzero(like.sum(axis=0)), np.count_nonzero(like.sum(axis=1)))
    total = float(table.sum())
    if sides < 2 or total <= 0:
        return 0.0
    share = table / total
    expected = np.outer(share.sum(axis=1), share.sum(axis=0))
    safe = np.where(expected > 0, expected, 1.0)
    square = float(((share - expected) ** 2 / safe).sum())
    return float(np.sqrt(min(square / (sides - 1), 1.0)))


def _compare(raw: Floats, rebuilt: Floats) -> tuple[float, float]:
    return measure_cramers_v(raw), measure_cramers_v(rebuilt, raw)


def _add_changes(values: list[tuple[float, float]]) -> float:
    whole = sum(v for v, _ in values)
    return sum(abs(v - u) for v, u in values) / whole if whole > 0 else 0.0


def _list_tables(pair: Pair, target: str | None) -> Iterator[Tables]:
    """Yields every two columns with the rows per pair of groups, raw and rebuilt."""
    columns, classes = pair.covering.columns, pair.release.classes
    places = pair.covering.places(pair.original.cells)
    rows = pair.original.cells.rows.astype(np.float64)
    size = pair.size.astype(np.float64)
    group = [_group_values(counts) for counts in pair.counts]
    shares = [_share_labels(pair, at, each) for at, each in enumerate(group)]
    mine = [each[places[:, at]] for at, each in enumerate(group)]
    for a, b in combinations(range(len(columns)), 2):
        rebuilt = np.zeros((shares[a].shape[1], shares[b].shape[1]))
        for first in range(0, classes.count, BLOCK):
            some = slice(first, first + BLOCK)
            left = shares[a][pair.covering.key[some, a]] * size[some, None]
            rebuilt += left.T @ shares[b][pair.covering.key[some, b]]
        yield columns[a].name, columns[b].name, count_pairs(mine[a], mine[b], rows), rebuilt
    codes = zip(pair.original.attributes, pair.original_codes.T, pair.release_codes.T, strict=False)
    others: list[tuple[str, Ints, Ints, Ints, Ints, Floats, Floats]] = []
    cells, released = np.arange(len(rows)), classes.cell_rows.astype(np.float64)
    for name, raw, theirs in codes:
        least = np.maximum(raw, -1)
        known = int(max(least.max(initial=0), theirs.max(initial=0))) + 1
        number = _group_values(add_by_group(rows, np.where(least < 0, known, least), known + 1))
        raw, theirs = number[least], number[np.maximum(theirs, -1)]  # the last is a missing value
        others.append((name, cells, raw, classes.cell_class, theirs, rows, released))
    if target is not None and target not in pair.original.attributes:
        seen = encode_target(pair, target)
        one = np.ones(len(seen.raw)), np.ones(len(seen.released))
        last = seen.classes
        values = [np.where(code < 0, last, code) for code in (seen.raw, seen.released)]
        others.append((target, seen.cell, values[0], seen.class_of_row, values[1], *one))
    for name, cell, raw, number, theirs, each, weight in others:
        wide = int(max(raw.max(initial=0), theirs.max(initial=0))) + 1
        for at, boxes in enumerate(columns):
            label = pair.covering.key[number, at]
            counted = count_pairs(label, theirs, weight, (len(boxes.start) - 1, wide))
            raw_table = count_pairs(mine[at][cell], raw, each, (shares[at].shape[1], wide))
            yield boxes.name, name, raw_table, shares[at].T @ counted


def _group_values(rows: Ints | Floats) -> Ints:
    """Returns the group of each value: its own, or a run of neighbours if there are many."""
    if np.count_nonzero(rows) <= MOST_GROUPS:
        return np.cumsum(rows > 0) - (rows > 0)
    return split_evenly(rows, MOST_GROUPS)


def _share_labels(pair: Pair, at: int, group: Ints) -> Floats:
    """Returns [released values, groups]: the share of a released value's rows in each group."""
    boxes = pair.covering.columns[at]
    width = np.maximum(boxes.width, 1)
    groups = range(int(group.max()) + 1)
    each = [boxes.total((group == number).astype(np.int64)) for number in groups]
    return np.stack(each, axis=1) / width[:, None]
