"""Which columns go together: sets of columns that tell of each other.

The strength is the mean-square contingency that slicing uses (Li, Li, Zhang and Molloy 2012):
φ² = Σ (f_ij − f_i·f_j)² / (f_i·f_j) / (min(values) − 1), from 0 (independent) to 1 (one column
tells the other). Columns with many values are cut into parts of about equally many rows first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.cells import Cells, bin_codes

PARTS = 16
"""Columns with more values are cut into so many parts."""
TOGETHER = 0.1
"""Columns that tell of each other at least so strongly are in one set."""

Ints = NDArray[np.int64]
Sets = tuple[tuple[str, ...], ...]


def contingency(one: Ints, two: Ints, weight: Ints) -> float:
    """φ² of two columns of codes.

    >>> half = np.array([0, 0, 1, 1])
    >>> contingency(half, half, np.ones(4, int)), contingency(half, 1 - half[::2].repeat(2), half)
    (1.0, 0.0)
    """
    _, first = np.unique(one, return_inverse=True)
    _, second = np.unique(two, return_inverse=True)
    high, wide = int(first.max()) + 1, int(second.max()) + 1
    if min(high, wide) < 2:
        return 0.0
    table = np.bincount(first * wide + second, weight, high * wide).reshape(high, wide)
    share = table / table.sum()
    expected = share.sum(axis=1)[:, None] * share.sum(axis=0)[None, :]
    gap = np.where(expected > 0, (share - expected) ** 2 / np.where(expected > 0, expected, 1), 0)
    return float(gap.sum() / (min(high, wide) - 1))


def associated(cells: Cells, names: Sequence[str], bound: Iterable[Sequence[str]] = ()) -> Sets:
    """Disjoint sets of columns: those that tell of each other, and those `bound` together."""
    codes = {name: bin_codes(cells.codes[name], PARTS, cells.rows) for name in names}
    pairs = [
        (one, two)
        for at, one in enumerate(names)
        for two in names[at + 1 :]
        if contingency(codes[one], codes[two], cells.rows) >= TOGETHER
    ]
    return joined(names, [*pairs, *bound])


def joined(names: Sequence[str], bound: Iterable[Sequence[str]]) -> Sets:
    """The columns in sets, so that columns bound together are in one.

    >>> joined(["a", "b", "c", "d"], [("a", "c"), ("c", "d")])
    (('a', 'c', 'd'), ('b',))
    """
    owner = {name: name for name in names}
    for group in bound:
        inside = [owner[name] for name in group if name in owner]
        for name in names:
            if owner[name] in inside:
                owner[name] = min(inside, key=list(names).index)
    return tuple(
        tuple(name for name in names if owner[name] == head)
        for head in names
        if owner[head] == head
    )
