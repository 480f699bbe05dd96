"""Quasi-identifiers as numbers to learn from, made alike from raw and from released values.

Numbers and dates: the value, or the middle of the interval, standardized. Everything else: an
indicator for each of the commonest values; a released value that covers several is shared out among
them evenly (a bag). Missing values have an indicator of their own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.boxes import Boxes
from tclose.utility.pair import Pair

MOST_INDICATORS = 48

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def make_raw_features(pair: Pair, places: Ints) -> Floats:
    """The features of rows of the original, given by their places."""
    return _stack([_describe_places(pair, at) for at in range(places.shape[1])], places)


def make_released_features(pair: Pair, labels: Ints) -> Floats:
    """The features of released rows, given by the released value of each column."""
    return _stack([_describe_labels(pair, at) for at in range(labels.shape[1])], labels)


def _stack(tables: list[Floats], codes: Ints) -> Floats:
    return np.concatenate([table[codes[:, at]] for at, table in enumerate(tables)], axis=1)


def _describe_places(pair: Pair, at: int) -> Floats:
    """The features of each place of a column."""
    boxes = pair.covering.columns[at]
    missing = (np.arange(boxes.values) >= boxes.known).astype(np.float64)
    if boxes.number is not None:
        mean, spread = _find_scale(boxes, pair.counts[at])
        value = np.append((boxes.number - mean) / spread, [0.0] * boxes.has_missing)
        return np.stack([value, missing], axis=1)
    group = _choose_indicators(boxes, pair.counts[at])
    return np.concatenate([np.eye(group.max(initial=0) + 1)[group], missing[:, None]], axis=1)


def _describe_labels(pair: Pair, at: int) -> Floats:
    """The features of each released value of a column."""
    boxes = pair.covering.columns[at]
    width = np.maximum(boxes.width, 1)
    gap = (np.arange(boxes.values) >= boxes.known).astype(np.float64)
    missing = np.asarray(boxes.total(gap), dtype=np.float64) / width
    if boxes.number is not None:
        mean, spread = _find_scale(boxes, pair.counts[at])
        middle = (boxes.ends.mean(axis=1) - mean) / spread
        return np.stack([np.where(np.isnan(middle), 0.0, middle), missing], axis=1)
    group = _choose_indicators(boxes, pair.counts[at])
    shares = [
        np.asarray(boxes.total((group == number).astype(np.float64)), dtype=np.float64) / width
        for number in range(group.max(initial=0) + 1)
    ]
    return np.stack([*shares, missing], axis=1)


def _find_scale(boxes: Boxes, rows: Ints) -> tuple[float, float]:
    assert boxes.number is not None
    seen = rows[: boxes.known]
    mean = float(seen @ boxes.number) / max(int(seen.sum()), 1)
    spread = float(np.sqrt(seen @ (boxes.number - mean) ** 2 / max(int(seen.sum()), 1)))
    return mean, spread or 1.0


def _choose_indicators(boxes: Boxes, rows: Ints) -> Ints:
    """The indicator of each place: the commonest have one each, all others share one."""
    order = np.argsort(-rows, kind="stable")
    group = np.full(boxes.values, min(MOST_INDICATORS, boxes.values - 1), dtype=np.int64)
    group[order[:MOST_INDICATORS]] = np.arange(min(MOST_INDICATORS, boxes.values))
    return group
