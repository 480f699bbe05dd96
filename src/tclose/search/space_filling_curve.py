"""Cells in an order in which neighbours are near in all quasi-identifiers at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.records.hilbert import hilbert_keys

Ints = NDArray[np.int64]

MOST_COLUMNS = 62
MOST_BITS = 16
"""Of the place of a cell in a column; all columns together have 62."""


def rank_along_curve(codes: Ints, rows: Ints) -> Ints:
    """The rank of each cell along a Hilbert curve through the columns, each spread by its rows.

    Codes run along what a column is released as, so neighbours on the curve share narrow boxes.
    Equal keys are ranked in the order given.

    >>> rank_along_curve(np.array([[0, 0], [1, 1], [0, 1], [1, 0]]), np.ones(4, int)).tolist()
    [0, 2, 1, 3]
    """
    cells, columns = codes.shape[0], min(codes.shape[1], MOST_COLUMNS)
    bits = max(1, min(MOST_BITS, 62 // max(columns, 1)))
    grid = np.zeros((cells, max(columns, 1)), dtype=np.int64)
    for j in range(columns):
        count = np.bincount(codes[:, j], weights=rows)
        middle = (np.cumsum(count) - count / 2) / max(count.sum(), 1)
        grid[:, j] = np.minimum(middle[codes[:, j]] * (1 << bits), (1 << bits) - 1)
    rank = np.empty(cells, dtype=np.int64)
    rank[np.argsort(hilbert_keys(grid, bits), kind="stable")] = np.arange(cells)
    return rank
