"""What every cut of a fragment would make of the bounds: the kernel behind fragmentation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tclose.kernels import compiling
from tclose.search.by_construction.emd_bounds import Attribute


def stacked(attributes: Sequence[Attribute]) -> tuple[Any, ...]:
    """The trees of all attributes as arrays for the kernel."""
    first = np.cumsum([0, *(len(one.parent) for one in attributes)]).astype(np.int64)
    node = np.stack([one.node + at for one, at in zip(attributes, first[:-1], strict=True)])
    parent = [one.parent + at for one, at in zip(attributes, first[:-1], strict=True)]
    place = [
        np.zeros(len(one.parent)) if one.position is None else one.position for one in attributes
    ]
    line = np.array([one.position is not None for one in attributes])
    return (
        node, first, np.concatenate(parent), np.concatenate([one.stretch for one in attributes]),
        np.concatenate(place), line,
    )  # fmt: skip


@compiling.part
def worst_value(
    held: Any, low: Any, high: Any, total: Any, parent: Any, stretch: Any, room: Any
) -> Any:
    """Σ held·d at the worst value among those that are held (Theorem A), by walking the tree."""
    for node in range(low, high):
        room[0, node] = held[node]
    cost = 0.0
    for node in range(low, high - 1):
        room[0, parent[node]] += room[0, node]
        cost += stretch[node] * room[0, node]
    room[1, high - 1] = cost
    worst = cost if held[high - 1] > 0 else 0.0
    for node in range(high - 2, low - 1, -1):
        room[1, node] = room[1, parent[node]] + stretch[node] * (total - 2 * room[0, node])
        if held[node] > 0:
            worst = max(worst, room[1, node])
    return worst


@compiling.part
def worst_end(mass: Any, moment: Any, a: Any, b: Any, own: Any) -> Any:
    """The same along a line from a to b: one of its ends; as a share of its own width if asked."""
    far = max(moment - a * mass, b * mass - moment)
    if own == 1:
        return far / (b - a) if b > a else 0.0
    return far


@compiling.maker
def weigh_cuts(
    order: Any, cuts: Any, starts: Any, along: Any, rows: Any, ends: Any, own: Any,
    node: Any, first: Any, parent: Any, stretch: Any, place: Any, line: Any,
) -> Any:  # fmt: skip
    """What a fragment and both halves of each of its cuts add to every attribute's bound, in rows.

    `order` are the fragment's tuples along the attribute that is cut, `cuts` the places, `starts`
    the rank at which the right half begins. Along a
    line masses, first moments and ends of all prefixes come from running sums, so a cut costs O(1);
    on a tree it costs a walk. The first row of the result is the fragment itself.
    """
    count, attributes = len(order), len(line)
    result = np.zeros((len(cuts) + 1, attributes))
    mass = np.zeros(count + 1)
    for p in range(count):
        mass[p + 1] = mass[p] + rows[order[p]]
    total = mass[count]
    moment, low, high = np.zeros(count + 1), np.zeros(count + 1), np.zeros(count + 1)
    after, before = np.zeros(count + 1), np.zeros(count + 1)
    held = np.zeros((2, first[-1]))
    room = np.zeros((2, first[-1]))
    for b in range(attributes):
        if line[b]:
            low[0], high[0] = np.inf, -np.inf
            after[count], before[count] = np.inf, -np.inf
            for p in range(count):
                x = place[node[b, order[p]]]
                moment[p + 1] = moment[p] + x * rows[order[p]]
                low[p + 1], high[p + 1] = min(low[p], x), max(high[p], x)
            for p in range(count - 1, -1, -1):
                x = place[node[b, order[p]]]
                after[p], before[p] = min(after[p + 1], x), max(before[p + 1], x)
            whole_low, whole_high = low[count], high[count]
            if own == 1:
                whole_low, whole_high = place[first[b] + ends[b, 0]], place[first[b] + ends[b, 1]]
            result[0, b] = worst_end(total, moment[count], whole_low, whole_high, own)
            for c in range(len(cuts)):
                p = cuts[c]
                x1, x2, y1, y2 = low[p], high[p], after[p], before[p]
                if own == 1:
                    x1, x2, y1, y2 = whole_low, whole_high, whole_low, whole_high
                    if b == along:
                        x2, y1 = place[first[b] + starts[c] - 1], place[first[b] + starts[c]]
                result[c + 1, b] = worst_end(mass[p], moment[p], x1, x2, own)
                result[c + 1, b] += worst_end(
                    total - mass[p], moment[count] - moment[p], y1, y2, own
                )
            continue
        lo, hi = first[b], first[b + 1]
        for at in range(lo, hi):
            held[0, at], held[1, at] = 0.0, 0.0
        for p in range(count):
            held[1, node[b, order[p]]] += rows[order[p]]
        result[0, b] = worst_value(held[1], lo, hi, total, parent, stretch, room)
        p = 0
        for c in range(len(cuts)):
            while p < cuts[c]:
                held[0, node[b, order[p]]] += rows[order[p]]
                held[1, node[b, order[p]]] -= rows[order[p]]
                p += 1
            near = worst_value(held[0], lo, hi, mass[p], parent, stretch, room)
            far = worst_value(held[1], lo, hi, total - mass[p], parent, stretch, room)
            result[c + 1, b] = near + far
    return result
