"""Orders of cells in which neighbours are near in all quasi-identifiers at once, and strata.

Cells of a *stratum* of alike sensitive values, assigned in turn along a curve through the
quasi-identifiers, give fragments that all have the distribution of what was assigned.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tclose.arrays import Floats, Ints
from tclose.data.encode.cells import split_evenly
from tclose.kernels.records.filling import hilbert_keys

KEY_BITS = 62
MOST_BITS = 16
"""Of the place of a cell in a column, along the Hilbert curve; all columns together have 62."""
COORDINATE_BITS = 10
"""Of a coordinate of the interleaved curve."""
ROWS_PER_FRAGMENT = 64
"""Rows of a stratum for each fragment, so that its share can be the same in all of them."""


def rank_along_curve(codes: Ints, rows: Ints) -> Ints:
    """The rank of each cell along a Hilbert curve through the columns, each spread by its rows.

    Neighbours on the curve share narrow boxes; equal keys are ranked in the order given.

    >>> rank_along_curve(np.array([[0, 0], [1, 1], [0, 1], [1, 0]]), np.ones(4, int)).tolist()
    [0, 2, 1, 3]
    """
    cells, columns = codes.shape[0], min(codes.shape[1], KEY_BITS)
    bits = max(1, min(MOST_BITS, KEY_BITS // max(columns, 1)))
    grid = np.zeros((cells, max(columns, 1)), dtype=np.int64)
    for j in range(columns):
        middle = find_quantiles(codes[:, j], rows)
        grid[:, j] = np.minimum(middle * (1 << bits), (1 << bits) - 1)
    return np.argsort(np.argsort(hilbert_keys(grid, bits), kind="stable"))


def find_quantiles(codes: Ints, rows: Ints) -> Floats:
    """The share of the rows below the middle of each cell's code."""
    count = np.bincount(codes, weights=rows)
    middle: Floats = (np.cumsum(count) - count / 2) / max(count.sum(), 1)
    return middle[codes]


def find_coordinates(rows: Sequence[Ints], columns: int) -> list[Ints]:
    """The coordinate on the curve of every value of each column, from the rows with each value.

    >>> find_coordinates([np.array([5, 5]), np.array([1, 2, 1])], 2)
    [array([  0, 512]), array([  0, 256, 768])]
    """
    return [split_evenly(each, 1 << _count_bits(columns)) for each in rows]


def interleave_coordinates(places: Sequence[Ints]) -> Ints:
    """The position on the curve of cells with these coordinates: their bits, interleaved.

    >>> interleave_coordinates([np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])]).tolist()
    [0, 2, 1, 3]
    """
    return interleave_bits(places, range(_count_bits(len(places)) - 1, -1, -1))


def interleave_bits(places: Sequence[Ints], bits: range) -> Ints:
    """The given bits of several numbers in turn, the first number first."""
    key = np.zeros(len(places[0]), dtype=np.int64)
    for bit in bits:
        for place in places:
            key = (key << 1) | ((place >> bit) & 1)
    return key


def _count_bits(columns: int) -> int:
    return max(1, min(COORDINATE_BITS, KEY_BITS // max(columns, 1)))


def divide_into_strata(rows: Sequence[Ints], fragments: int) -> list[Ints]:
    """The part of its column that every sensitive value is in: a stratum is one part of each.

    As many parts as leave strata large enough for so many fragments: with few rows
    or many attributes alike values share a part.

    >>> divide_into_strata([np.array([600, 300, 100]), np.array([500, 500])], 2)
    [array([0, 1, 1]), array([0, 1])]
    """
    total = int(rows[0].sum()) if rows else 0
    room = max(total / (ROWS_PER_FRAGMENT * max(fragments, 1)), 1.0)
    each = max(int(room ** (1 / max(len(rows), 1)) + 1e-9), 1)
    return [split_evenly(count, min(each, max(len(count), 1))) for count in rows]
