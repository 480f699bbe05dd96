"""Weighted choice among categories, given a condition, in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

_BITS = 32
_FULL = 1 << _BITS


@dataclass(frozen=True)
class Wheel:
    """One wheel of fortune per condition, all laid end to end on a single number line.

    Condition `c` owns the whole numbers from `c * 2**32` up to `(c + 1) * 2**32`, cut into one
    slot per category in proportion to its weight. A draw is one number and one binary search.
    Whole numbers make the edges exact: a category of weight zero owns no number, so it is never
    drawn, and no draw strays into the next condition.
    """

    ends: NDArray[np.int64]
    categories: int

    @classmethod
    def from_weights(cls, weights: ArrayLike) -> Wheel:
        """Build the wheels from a table of weights, one row per condition.

        >>> Wheel.from_weights([[1, 1], [0, 5]]).categories
        2
        """
        table = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        running = np.cumsum(table, axis=1)
        ends = np.rint(running / running[:, -1:] * _FULL).astype(np.int64)
        starts = np.arange(len(table), dtype=np.int64)[:, None] << _BITS
        return cls((ends + starts).ravel(), table.shape[1])

    def spin(self, rng: np.random.Generator, condition: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw one category for each entry of `condition`.

        >>> wheel = Wheel.from_weights([[1, 0], [0, 1]])
        >>> wheel.spin(np.random.default_rng(1), np.array([0, 1, 1, 0])).tolist()
        [0, 1, 1, 0]
        """
        ball = rng.integers(0, _FULL, size=len(condition), dtype=np.int64)
        slot = np.searchsorted(self.ends, (condition << _BITS) + ball, side="right")
        return slot.astype(np.int64, copy=False) - condition * self.categories
