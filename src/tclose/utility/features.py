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


def raw_features(pair: Pair, places: Ints) -> Floats:
    """The features of rows of the original, given by their places."""
    return _stacked([_raw(pair, at) for at in range(places.shape[1])], places)


def released_features(pair: Pair, labels: Ints) -> Floats:
    """The features of released rows, given by the released value of each column."""
    return _stacked([_released(pair, at) for at in range(labels.shape[1])], labels)


def _stacked(tables: list[Floats], codes: Ints) -> Floats:
    return np.concatenate([table[codes[:, at]] for at, table in enumerate(tables)], axis=1)


def _raw(pair: Pair, at: int) -> Floats:
    """The features of each place of a column."""
    one = pair.covering.columns[at]
    missing = (np.arange(one.values) >= one.known).astype(np.float64)
    if one.number is not None:
        mean, spread = _scale(one, pair.counts[at])
        value = np.append((one.number - mean) / spread, [0.0] * one.has_missing)
        return np.stack([value, missing], axis=1)
    group = _groups(one, pair.counts[at])
    return np.concatenate([np.eye(group.max(initial=0) + 1)[group], missing[:, None]], axis=1)


def _released(pair: Pair, at: int) -> Floats:
    """The features of each released value of a column."""
    one = pair.covering.columns[at]
    width = np.maximum(one.width, 1)
    gap = (np.arange(one.values) >= one.known).astype(np.float64)
    missing = np.asarray(one.total(gap), dtype=np.float64) / width
    if one.number is not None:
        mean, spread = _scale(one, pair.counts[at])
        middle = (one.ends.mean(axis=1) - mean) / spread
        return np.stack([np.where(np.isnan(middle), 0.0, middle), missing], axis=1)
    group = _groups(one, pair.counts[at])
    shares = [
        np.asarray(one.total((group == number).astype(np.float64)), dtype=np.float64) / width
        for number in range(group.max(initial=0) + 1)
    ]
    return np.stack([*shares, missing], axis=1)


def _scale(one: Boxes, rows: Ints) -> tuple[float, float]:
    assert one.number is not None
    seen = rows[: one.known]
    mean = float(seen @ one.number) / max(int(seen.sum()), 1)
    spread = float(np.sqrt(seen @ (one.number - mean) ** 2 / max(int(seen.sum()), 1)))
    return mean, spread or 1.0


def _groups(one: Boxes, rows: Ints) -> Ints:
    """The indicator of each place: the commonest have one each, all others share one."""
    order = np.argsort(-rows, kind="stable")
    group = np.full(one.values, min(MOST_INDICATORS, one.values - 1), dtype=np.int64)
    group[order[:MOST_INDICATORS]] = np.arange(min(MOST_INDICATORS, one.values))
    return group
