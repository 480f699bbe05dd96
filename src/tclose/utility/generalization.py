"""How much of its domain a released value covers: Iyengar's loss and the certainty penalty.

| column | loss (Iyengar 2002) | NCP (Xu et al. 2006) |
|---|---|---|
| numbers, dates | width of the interval / width of the domain | the same |
| with a hierarchy | (leaves below − 1) / (leaves − 1) | leaves below / leaves, 0 for a leaf |
| sets | values / domain, 0 for one value | the same |

A missing value among others says "anything": 1. A row left out loses everything. The mean over all
rows and columns is the loss of the release, and the GCP of its NCPs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.boxes import Boxes
from tclose.utility.pair import Pair
from tclose.utility.result import Measure

Floats = NDArray[np.float64]


def measure_loss(pair: Pair) -> Measure:
    """Iyengar's loss: what `anonymize` makes small."""
    return _average(
        pair, "loss", "share of the domain that a value covers; 0 exact, 1 anything", price_loss
    )


def measure_ncp(pair: Pair) -> Measure:
    """The normalized certainty penalty per column, and the global one."""
    return _average(pair, "ncp", "normalized certainty penalty; overall the GCP", price_penalty)


def _average(pair: Pair, name: str, meaning: str, cost: Callable[[Boxes], Floats]) -> Measure:
    if pair.central:
        return Measure(name, None, meaning, note="not defined for central values")
    columns = {}
    for boxes, rows in zip(pair.covering.columns, pair.label_rows, strict=True):
        columns[boxes.name] = float(rows @ cost(boxes) + pair.left_out) / max(pair.rows, 1)
    return Measure(name, float(np.mean(list(columns.values()))), meaning, columns)


def price_loss(boxes: Boxes) -> Floats:
    """Iyengar's loss of every released value of a column."""
    return _price_values(boxes, lambda below, leaves: (below - 1) / max(leaves - 1, 1))


def price_penalty(boxes: Boxes) -> Floats:
    """The certainty penalty of every released value of a column."""
    return _price_values(boxes, lambda below, leaves: np.where(below <= 1, 0.0, below / leaves))


def _price_values(boxes: Boxes, of_tree: Callable[[Floats, int], Floats]) -> Floats:
    known = boxes.total((np.arange(boxes.values) < boxes.known).astype(np.int64))
    with_missing = boxes.width > known
    if boxes.tree is not None and boxes.node is not None:
        below = np.where(boxes.node >= 0, boxes.tree.size_below[boxes.node], known)
        result = of_tree(below.astype(np.float64), boxes.tree.leaf_count)
        result = np.where(with_missing & (known > 0), 1.0, result)
    elif boxes.on_a_line:
        assert boxes.number is not None
        wide = float(boxes.number[-1] - boxes.number[0]) or 1.0
        result = np.nan_to_num(boxes.ends[:, 1] - boxes.ends[:, 0]) / wide
        result = np.where(with_missing & (known > 0), 1.0, result)
    else:
        result = np.where(boxes.width <= 1, 0.0, boxes.width / max(boxes.values, 1))
    # A value that covers nothing of the original, and is no number, tells nothing.
    empty = (boxes.width == 0) & ~boxes.exact & np.isnan(boxes.ends[:, 0])
    return np.where(empty, 1.0, result)
