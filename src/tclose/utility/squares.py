"""Sum of squares: how far rows lie from what stands for them, against how far they lie apart.

Numbers and dates only, each standardized: SSE / SST (Domingo-Ferrer and Mateo-Sanz 2002). A row is
stood for by its released value where that is a number, otherwise by the mean of its class; a row
that was left out by the mean of the table. 0 exact, 1 as good as the mean alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.boxes import Boxes
from tclose.utility.pair import Pair
from tclose.utility.result import Measure

MEANING = "squared distance of rows from what stands for them, of all squared distance"

Floats = NDArray[np.float64]


def measure_squares(pair: Pair) -> Measure:
    """SSE / SST per column of numbers or dates, and their mean."""
    numbers = [at for at, boxes in enumerate(pair.covering.columns) if boxes.number is not None]
    if not numbers:
        return Measure("squares", None, MEANING, note="no quasi-identifier is a number or a date")
    if pair.central and pair.linked is None:
        note = "central values without knowing whose they are say nothing here"
        return Measure("squares", None, MEANING, note=note)
    columns = {}
    for at in numbers:
        boxes = pair.covering.columns[at]
        columns[boxes.name] = (
            _measure_rows(pair, at) if pair.linked is not None else _expect_squares(pair, at)
        )
    note = "" if pair.linked is not None else "expected, as rows could not be linked"
    return Measure("squares", float(np.mean(list(columns.values()))), MEANING, columns, note=note)


def _standardize(boxes: Boxes, rows: Floats) -> tuple[Floats, float, float]:
    """The numbers of the places (missing: 0, without weight), their mean and deviation."""
    assert boxes.number is not None
    value = np.append(boxes.number, [0.0] * boxes.has_missing)
    seen = rows.copy()
    seen[boxes.known :] = 0
    count = max(seen.sum(), 1.0)
    mean = float(seen @ value) / count
    spread = float(np.sqrt(seen @ (value - mean) ** 2 / count)) or 1.0
    return (value - mean) / spread, mean, spread


def _measure_rows(pair: Pair, at: int) -> float:
    boxes, rows = pair.covering.columns[at], pair.counts[at].astype(np.float64)
    value, mean, spread = _standardize(boxes, rows)
    place = boxes.rank[pair.original.cells.codes[boxes.name]]
    cell, number, weight = pair.pairs
    seen = np.where(place[cell] < boxes.known, weight, 0).astype(np.float64)
    mine = value[place[cell]]
    classes = pair.release.classes.count
    count = np.bincount(number, seen, classes)
    centre = np.bincount(number, seen * mine, classes) / np.where(count > 0, count, 1.0)
    label = pair.covering.key[:, at]
    single = boxes.exact[label] & ~np.isnan(boxes.ends[label, 0])
    centre = np.where(single, (boxes.ends[label, 0] - mean) / spread, centre)
    lost = float(seen @ (mine - centre[number]) ** 2)
    out = np.where(place < boxes.known, pair.unlinked, 0)
    lost += float(out @ value[place] ** 2)
    whole = float(rows[: boxes.known] @ value[: boxes.known] ** 2)
    return float(lost / whole) if whole else 0.0


def _expect_squares(pair: Pair, at: int) -> float:
    """With the original's own values under each released one."""
    boxes, rows = pair.covering.columns[at], pair.counts[at].astype(np.float64)
    value, _, _ = _standardize(boxes, rows)
    seen = rows.copy()
    seen[boxes.known :] = 0
    count = np.asarray(boxes.total(seen), dtype=np.float64)
    first = np.asarray(boxes.total(seen * value), dtype=np.float64)
    second = np.asarray(boxes.total(seen * value**2), dtype=np.float64)
    safe = np.where(count > 0, count, 1.0)
    each = np.maximum(second / safe - (first / safe) ** 2, 0.0)
    whole = float(seen @ value**2)
    usual = whole / max(float(seen.sum()), 1.0)
    lost = float(pair.label_rows[at] @ each) + pair.left_out * usual
    return lost / whole if whole else 0.0
