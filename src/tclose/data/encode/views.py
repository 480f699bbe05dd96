"""What an attacker may have to reckon with beside a class, where a missing value may be any value.

Two choices of `missing = "any"` add views, and the worst of a class's views counts:

- a missing quasi-identifier matches every class that agrees in the others. Each such class is
  judged both without and with those rows; the rows themselves are judged in every class that they
  match, and on their own only where they match none;
- a missing sensitive value may be any value. The class is judged with all its missing values taken
  to be one and the same value, for each value in turn. Requirements that merging cannot worsen are
  quasi-convex in the distribution, so no other completion is worse than these corners.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Histogram
from tclose.distance.histogram import group_codes
from tclose.errors import UsageError

LARGEST_EXPANSION = 100_000_000

Ints = NDArray[np.int64]


def find_views(key: Ints, unknown: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Pairs (view, class): every class by itself, then each with the wild rows that match it."""
    wild = unknown.any(axis=1)
    if not wild.any():
        whole = np.arange(len(key))
        return whole, whole
    concrete = np.flatnonzero(~wild)
    met = np.zeros(len(key), dtype=bool)
    pairs: list[tuple[Ints, Ints]] = []
    for pattern in np.unique(unknown[wild], axis=0):
        some = np.flatnonzero((unknown == pattern).all(axis=1))
        seen, theirs = _match_wild(key[:, ~pattern], concrete, some)
        met[theirs] = True
        pairs.append((seen, theirs))
    host = np.concatenate([seen for seen, _ in pairs])
    guest = np.concatenate([theirs for _, theirs in pairs])
    alone = np.flatnonzero(~met)
    hosts = np.unique(host)
    # In the order of the classes, so that the first view to attain a value is of the first class.
    place = np.concatenate([2 * alone, 2 * hosts + 1, 2 * host + 1])
    view = np.unique(place, return_inverse=True)[1]
    member = np.concatenate([alone, hosts, guest])
    order = np.lexsort((member, view))
    return view[order].astype(np.int64), member[order].astype(np.int64)


def _match_wild(key: Ints, concrete: Ints, wild: Ints) -> tuple[Ints, Ints]:
    """All pairs of a concrete and a wild class that agree in the columns left."""
    if key.shape[1] == 0:
        return np.repeat(concrete, len(wild)), np.tile(wild, len(concrete))
    both = np.concatenate([concrete, wild])
    label, _ = group_codes([key[both, at] for at in range(key.shape[1])])
    mine, theirs = label[: len(concrete)], label[len(concrete) :]
    order = np.argsort(theirs, kind="stable")
    low = np.searchsorted(theirs[order], mine, "left")
    width = np.searchsorted(theirs[order], mine, "right") - low
    offset = np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width)
    return np.repeat(concrete, width), wild[order[np.repeat(low, width) + offset]]


def complete_missing(histogram: Histogram, values: int, name: str) -> tuple[Histogram, Ints]:
    """Each view with missing values, once per value that they could all be."""
    if values == 0:
        raise UsageError(
            "every value is missing", where=f"column {name!r}", hint='use missing = "value"'
        )
    hidden = np.zeros(histogram.classes, dtype=histogram.count.dtype)
    last = histogram.code == values
    hidden[histogram.owner()[last]] = histogram.count[last]
    holey = np.flatnonzero(hidden > 0)
    if len(holey) * values * 2 > LARGEST_EXPANSION:
        raise UsageError(
            f"{len(holey):,} classes with missing values times {values:,} possible values "
            "are too many to try",
            where=f"column {name!r}",
            hint='group its values, or use missing = "value"',
        )
    known = Histogram.from_cells(
        histogram.owner()[~last], histogram.code[~last], histogram.count[~last],
        classes=histogram.classes, values=values,
    )  # fmt: skip
    view = np.repeat(np.arange(histogram.classes), np.where(hidden > 0, values, 1))
    copies = known.take(view)
    added = np.flatnonzero(hidden[view] > 0)
    guess = np.tile(np.arange(values), len(holey))
    completed = Histogram.from_cells(
        np.concatenate([copies.owner(), added]),
        np.concatenate([copies.code, guess]),
        np.concatenate([copies.count, np.repeat(hidden[holey], values)]),
        classes=len(view),
        values=values,
    )
    return completed, view
