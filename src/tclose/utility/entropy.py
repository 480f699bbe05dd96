"""Non-uniform entropy: the bits that it would take to tell the original values again.

A row whose value v was released as g costs −log₂(rows with v / rows with a value under g), counted
in the original (Gionis and Tassa 2009); a row left out costs −log₂(rows with v / all rows). Divided
by what it costs to leave everything out: 0 exact, 1 nothing left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.boxes import Boxes
from tclose.utility.pair import Pair
from tclose.utility.result import Measure

MEANING = "bits needed to tell the original values again, of all bits"

Ints = NDArray[np.int64]


def measure_entropy(pair: Pair) -> Measure:
    """The share of the original's bits that the release lost."""
    if pair.central:
        return Measure("entropy", None, MEANING, note="not defined for central values")
    columns, bits, whole = {}, 0.0, 0.0
    for at, (boxes, rows) in enumerate(zip(pair.covering.columns, pair.counts, strict=True)):
        most = _count_bits(rows)
        cost = (
            _measure_rows(pair, at, boxes)
            if pair.linked is not None
            else _expect_bits(pair, at, boxes)
        )
        columns[boxes.name] = cost / most if most else 0.0
        bits, whole = bits + cost, whole + most
    note = "" if pair.linked is not None else "expected, as rows could not be linked"
    return Measure("entropy", bits / whole if whole else 0.0, MEANING, columns, note=note)


def _count_bits(rows: Ints) -> float:
    """The bits of all rows of the original in one column."""
    rows = rows[rows > 0]
    return float(rows @ (np.log2(rows.sum()) - np.log2(rows)))


def _measure_rows(pair: Pair, at: int, boxes: Boxes) -> float:
    rows = pair.counts[at].astype(np.float64)
    group = np.asarray(boxes.total(pair.counts[at]), dtype=np.float64)
    cell, number, weight = pair.pairs
    place = boxes.rank[pair.original.cells.codes[boxes.name]]
    each = np.log2(group[pair.covering.key[number, at]]) - np.log2(rows[place[cell]])
    out = np.log2(rows.sum()) - np.log2(rows[place])
    return float(weight @ each + pair.unlinked @ out)


def _expect_bits(pair: Pair, at: int, boxes: Boxes) -> float:
    """With the original's own shares under each released value: its rows times their entropy."""
    rows = pair.counts[at].astype(np.float64)
    filled = np.where(rows > 0, rows, 1.0)
    group = np.asarray(boxes.total(rows), dtype=np.float64)
    inner = np.asarray(boxes.total(rows * np.log2(filled)), dtype=np.float64)
    safe = np.where(group > 0, group, 1.0)
    each = np.maximum(np.log2(safe) - inner / safe, 0.0)
    whole = _count_bits(pair.counts[at]) / max(pair.rows, 1)
    # A value that covers nothing tells nothing.
    each = np.where(group > 0, each, whole)
    return float(pair.label_rows[at] @ each + pair.left_out * whole)
