"""Cells in strata along a curve, and fragments that break the promise united.

Cells with alike sensitive values are a *stratum*. Dealing the cells of every stratum out in turn,
along a curve through the quasi-identifiers on which near means near in all of them, gives fragments
that all have the sensitive distribution of what was dealt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.cells import split_evenly

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

BITS = 62
FINEST = 10
"""Bits of a coordinate of the curve."""
FULL = 64
"""Rows of a stratum for each fragment, so that its share can be the same in all of them."""


def coordinates(rows: Sequence[Ints], columns: int) -> list[Ints]:
    """The coordinate on the curve of every value of each column, from the rows with each value.

    >>> coordinates([np.array([5, 5]), np.array([1, 2, 1])], 2)
    [array([  0, 512]), array([  0, 256, 768])]
    """
    bits = max(1, min(FINEST, BITS // max(columns, 1)))
    return [split_evenly(each, 1 << bits) for each in rows]


def curve(places: Sequence[Ints]) -> Ints:
    """The position on the curve of cells with these coordinates: their bits, interleaved.

    >>> curve([np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])]).tolist()
    [0, 2, 1, 3]
    """
    bits = max(1, min(FINEST, BITS // max(len(places), 1)))
    key = np.zeros(len(places[0]), dtype=np.int64)
    for bit in range(bits - 1, -1, -1):
        for place in places:
            key = (key << 1) | ((place >> bit) & 1)
    return key


def strata(rows: Sequence[Ints], fragments: int) -> list[Ints]:
    """The part of its column that every sensitive value is in: a stratum is one part of each.

    As many parts as leave strata large enough to be dealt out to so many fragments: with few rows
    or many attributes alike values share a part.

    >>> strata([np.array([600, 300, 100]), np.array([500, 500])], 2)
    [array([0, 1, 1]), array([0, 1])]
    """
    total = int(rows[0].sum()) if rows else 0
    room = max(total / (FULL * max(fragments, 1)), 1.0)
    each = max(int(room ** (1 / max(len(rows), 1)) + 1e-9), 1)
    return [split_evenly(count, min(each, max(len(count), 1))) for count in rows]


def united(fragments: int, failing: Callable[[Ints], Flags]) -> Ints:
    """Which fragments become one, so that none fails: a failing one joins its next neighbour.

    `failing` tells of fragments that are united by a label which of these break the promise.

    >>> united(4, lambda label: np.bincount(label) < 2).tolist()
    [0, 0, 1, 1]
    """
    label = np.arange(fragments, dtype=np.int64)
    while (broken := failing(label)).any() and len(broken) > 1:
        first = np.ones(len(broken), dtype=bool)
        for at in np.flatnonzero(broken[:-1]).tolist():
            if first[at]:
                first[at + 1] = False
        first[-1] &= not broken[-1]
        label = (np.cumsum(first) - 1)[label]
    return label
