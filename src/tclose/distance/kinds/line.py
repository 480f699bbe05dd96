"""Values along a line, as ordered and numeric distances see them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from tclose.distance.ground import TreeMetric
from tclose.distance.histogram import whole
from tclose.distance.kinds.equal import equal
from tclose.distance.numbers import to_integers


def along_line(name: str, positions: Sequence[Fraction], missing: bool) -> TreeMetric:
    """Values along a line, and a missing value (if any) half a diameter off its middle."""
    places, _ = to_integers(positions)
    wide = places[-1] - places[0] if places else 0
    if not missing:
        steps = [after - before for before, after in pairwise(places)]
        parent = [*range(1, len(places)), -1]
        return TreeMetric(
            name,
            np.arange(len(places), dtype=np.int64),
            np.array(parent, dtype=np.int64),
            whole([*steps, 0]),
            max(wide, 1),
        )
    if len(places) < 2:
        star = equal(len(places) + 1)
        return TreeMetric(name, star.leaf, star.parent, star.length, star.diameter)
    return _forked_line(name, [2 * (place - places[0]) for place in places], wide)


def _forked_line(name: str, places: list[int], middle: int) -> TreeMetric:
    """Both halves of a line of length 2·middle, and the missing value, hung on its middle."""
    known = len(places)
    left = [at for at in range(known) if places[at] < middle]
    right = [at for at in reversed(range(known)) if places[at] > middle]
    centre = [at for at in range(known) if places[at] == middle]
    order = [*left, *right, *centre, known]
    root = len(order)
    parent = np.arange(1, root + 2, dtype=np.int64)
    parent[[len(left) - 1, len(left) + len(right) - 1, *range(len(left) + len(right), root)]] = root
    parent[root] = -1
    place = np.array([places[at] if at < known else 2 * middle for at in [*order, known]], object)
    place[root] = middle
    length = abs(place[parent] - place)
    length[root] = 0
    leaf = np.empty(known + 1, dtype=np.int64)
    leaf[order] = np.arange(root)
    return TreeMetric(name, leaf, parent, whole(length), 2 * middle)
