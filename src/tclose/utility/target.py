"""Weights of quasi-identifiers by what they say about a target column of later learning.

Somebody who will predict the target (`search.target`) profits from fine values in the columns that
say most about it. What a column says is the mutual information of its values and the target's over
all rows, I = Σ p(x, y) · log₂(p(x, y) / (p(x) · p(y))), less what independent columns would have by
chance, (values − 1) · (target's values − 1) / (2 · rows · ln 2) (Miller 1955), at least 0. Its
weight is (1 + I / mean of all I) / 2: half by its information and half equal, so that no column is
given up. A column of more than 32 values is grouped into 32 runs of neighbouring values (in the
order of its codes) with about equally many rows; a target is grouped as in `learning`.

So a search knows one number per quasi-identifier about the target, for the table as a whole, and
the certificate contains these numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.arrays import Floats, Ints
from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells, bin_codes, count_cells, count_weighted_cells
from tclose.distance.histogram import count_pairs
from tclose.errors import TooManyCells, UsageError, nearest
from tclose.utility.learning import group_target
from tclose.utility.loss import Quasi

MOST_GROUPS = 32
DIGITS = 1000
"""Weights are rounded to thousandths, so that they are equal on every machine."""


@dataclass(frozen=True)
class Target:
    """A column that should stay learnable, and the weights of the quasi-identifiers for that."""

    column: str
    information: Mapping[str, float]
    """By quasi-identifier, the share of the target's bits that it gives, in [0, 1]."""
    weights: Mapping[str, Fraction]
    """By quasi-identifier, its weight in the loss."""


def weigh_by_target(bound: BoundTable, quasi: Quasi, target: str) -> Target:
    """Counts every quasi-identifier with the target in the engine, and returns the weights.

    >>> import pyarrow as pa
    >>> from tclose.utility.loss import code_quasi
    >>> from tclose.workflows.inputs import check
    >>> table = pa.table({"age": [20, 20, 60, 60] * 20, "hue": ["a", "b"] * 40,
    ...                   "won": ["no", "no", "yes", "yes"] * 20})
    >>> roles = {"age": "quasi", "hue": "quasi", "won": "insensitive"}
    >>> bound = check(table, {"k": 2, "columns": roles})
    >>> {name: str(each) for name, each in
    ...  weigh_by_target(bound, code_quasi(bound), "won").weights.items()}
    {'age': '3/2', 'hue': '1/2'}
    """
    refuse_target(bound, target)
    bits: dict[str, float] = {}
    for column, code in zip(quasi.columns, quasi.codes.T, strict=True):
        cells = _count_pairs(bound, column.name, target)
        rows = (cells.rows if cells.weight is None else cells.weight).astype(np.float64)
        words = cells.dictionaries[target]
        answer = group_target(words, np.bincount(cells.codes[target], rows, words.known + 1))
        own = _translate(bound, cells, column.name, code)[cells.codes[column.name]]
        group = bin_codes(own, MOST_GROUPS, rows)
        bits[column.name] = measure_information(group, answer[cells.codes[target]], rows)
        entropy = _measure_entropy(np.bincount(answer[cells.codes[target]], rows))
    share = {name: each / entropy if entropy else 0.0 for name, each in bits.items()}
    return Target(target, share, _weigh(share))


def measure_information(first: Ints, second: Ints, rows: Floats) -> float:
    """Returns the bits that one column gives about another, less what chance would give."""
    _, first = np.unique(first, return_inverse=True)
    _, second = np.unique(second, return_inverse=True)
    table = count_pairs(first, second, rows)
    sides = _measure_entropy(table.sum(axis=1)) + _measure_entropy(table.sum(axis=0))
    high, wide = table.shape
    chance = (high - 1) * (wide - 1) / (2 * float(table.sum()) * math.log(2))
    return max(float(sides - _measure_entropy(table.ravel()) - chance), 0.0)


def refuse_target(bound: BoundTable, target: str) -> None:
    """Raises UsageError if a column cannot be the target of a release."""
    columns, where = bound.policy.columns, "search.target"
    if target not in columns:
        what = f"the policy has no column {target!r}"
        raise UsageError(what, where=where, hint=nearest(target, columns))
    if columns[target].role not in ("sensitive", "insensitive"):
        what = f"the release does not keep this {columns[target].role} column as it is"
        hint = "choose a sensitive or an insensitive column as target"
        raise UsageError(what, where=where, hint=hint)
    if not bound.source.is_scalar(target):
        what = "a target needs plain values, not lists, structures or bytes"
        raise UsageError(what, where=where, hint="choose another column")


def _count_pairs(bound: BoundTable, name: str, target: str) -> Cells:
    """Counts the rows, or their weight, with each pair of values of a column and the target."""
    counting = bound.policy.counting
    if counting is None or counting[0] == "subject":
        return count_cells(bound.source, [name, target])
    cells = count_weighted_cells(bound.source, [name, target], counting)
    if cells is None:
        raise TooManyCells(bound.source.max_cells, bound.source.name)
    return cells


def _translate(bound: BoundTable, cells: Cells, name: str, code: Ints) -> Ints:
    """Translates a column's own codes to those along which it is released."""
    known = bound.cells.dictionaries[name].known
    result = np.zeros(known + 1, dtype=np.int64)
    result[bound.cells.codes[name]] = code
    assert cells.dictionaries[name].known == known
    return result


def _measure_entropy(rows: Ints | Floats) -> float:
    share: Floats = rows[rows > 0] / rows.sum()
    return float(-(share @ np.log2(share)))


def _weigh(share: Mapping[str, float]) -> dict[str, Fraction]:
    """Returns weights: half by the share of each, half equal; 1 on average."""
    mean = sum(share.values()) / len(share)
    each: Sequence[float] = [value / mean if mean else 1.0 for value in share.values()]
    whole = [Fraction(round(DIGITS * (1 + value) / 2), DIGITS) for value in each]
    return dict(zip(share, whole, strict=True))
