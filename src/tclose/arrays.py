"""Short names for the arrays that rooms hand to each other, and some of them drawn by chance."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def draw_within(cost: Ints, most: float, seed: int) -> Flags:
    """Some by chance, as many as cost no more than that together; at least one.

    >>> draw_within(np.array([5, 5, 5]), 11, seed=1).sum()
    np.int64(2)
    """
    order = np.random.default_rng(seed).permutation(len(cost))
    chosen = np.zeros(len(cost), dtype=bool)
    chosen[order] = np.cumsum(cost[order]) <= most
    chosen[order[:1]] = True
    return chosen
