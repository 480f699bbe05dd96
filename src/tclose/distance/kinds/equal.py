"""The equal distance: any two different values are equally far."""

from __future__ import annotations

import numpy as np

from tclose.distance.ground import TreeMetric
from tclose.distance.histogram import whole
from tclose.distance.kinds.kind import DistanceKind


def equal(values: int) -> TreeMetric:
    """Distance 1 between any two values: a star of half-length edges (variational distance).

    >>> equal(3).between(0, 2)
    Fraction(1, 1)
    """
    root = values
    parent = np.array([root] * values + [-1], dtype=np.int64)
    return TreeMetric("equal", np.arange(values), parent, whole([1] * values + [0]), 2)


EQUAL = DistanceKind(
    "equal",
    "counting every different value as equally far",
    ground=lambda values: equal(values.values),
    knows_groups=True,
)
