"""Which mass moves where: the flow behind one earth mover's distance.

Two readings of the same optimum, as the literature shows them: the *actions* between neighbours
(how much crosses each edge of the tree) and the *transport* between values (from where to where).
The costs of either add up to the distance.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.distance.emd import excess, least_flow
from tclose.distance.ground import MatrixMetric, Metric, TreeMetric
from tclose.distance.histogram import Counts

Pile = deque[tuple[int, int]]


@dataclass(frozen=True)
class Move:
    """Some mass carried from one value (or tree node) to another, and what that costs."""

    source: int
    target: int
    mass: Fraction
    cost: Fraction


def transport(metric: Metric, counts: Counts, reference: Counts) -> tuple[Move, ...]:
    """An optimal transport between values that turns the class into the reference.

    On a tree, surplus meets need at the lowest node where both are found and only the rest is
    passed on, so no edge is crossed both ways and each carries exactly |P(below) − Q(below)|,
    which is the least possible. Along an order this is the matching from left to right.

    >>> from tclose.distance import ordered
    >>> for move in transport(ordered(4), np.array([1, 0, 1, 0]), np.array([1, 1, 1, 1])):
    ...     print(move.source, move.target, move.mass, move.cost)
    0 1 1/4 1/12
    2 3 1/4 1/12
    """
    surplus = excess(counts, reference)
    unit = int(counts.astype(object).sum()) * int(reference.astype(object).sum())
    if isinstance(metric, MatrixMetric):
        flow = least_flow(metric, surplus)[1]
        pairs = [(int(i), int(j), int(flow[i, j])) for i, j in np.argwhere(flow > 0)]
    else:
        pairs = _match_on_tree(metric, surplus)
    return tuple(
        Move(
            source,
            target,
            Fraction(amount, unit),
            Fraction(amount, unit) * metric.between(source, target),
        )
        for source, target, amount in sorted(pairs)
    )


def actions(metric: TreeMetric, counts: Counts, reference: Counts) -> tuple[Move, ...]:
    """What crosses each edge of the tree, as moves between nodes; outer edges first.

    >>> from tclose.distance import ordered
    >>> [str(a.mass) for a in actions(ordered(3), np.array([2, 0, 0]), np.array([1, 1, 1]))]
    ['2/3', '1/3']
    """
    surplus = excess(counts, reference)
    unit = int(counts.astype(object).sum()) * int(reference.astype(object).sum())
    below = metric.below(surplus[None, :])[0]
    moves = []
    for node, parent in enumerate(metric.parent[:-1]):
        if below[node] != 0 and metric.length[node] != 0:
            mass = Fraction(abs(int(below[node])), unit)
            cost = mass * Fraction(int(metric.length[node]), metric.diameter)
            ends = (node, int(parent)) if below[node] > 0 else (int(parent), node)
            moves.append(Move(*ends, mass, cost))
    return tuple(moves)


def _match_on_tree(metric: TreeMetric, surplus: Counts) -> list[tuple[int, int, int]]:
    """Surplus and need matched at their lowest meeting point, first come first served."""
    have: list[Pile] = [deque() for _ in metric.parent]
    want: list[Pile] = [deque() for _ in metric.parent]
    at_node: dict[int, list[int]] = {}
    for value, node in enumerate(metric.leaf):
        at_node.setdefault(int(node), []).append(value)
    pairs: list[tuple[int, int, int]] = []
    for node, parent in enumerate(metric.parent):
        for value in at_node.get(node, ()):
            if amount := int(surplus[value]):
                (have if amount > 0 else want)[node].append((value, abs(amount)))
        pairs += _use_up(have[node], want[node])
        if parent >= 0:
            have[parent].extend(have[node])
            want[parent].extend(want[node])
    return pairs


def _use_up(have: Pile, want: Pile) -> list[tuple[int, int, int]]:
    """Uses up the shorter of two piles."""
    pairs = []
    while have and want:
        source, offered = have.popleft()
        target, needed = want.popleft()
        amount = min(offered, needed)
        pairs.append((source, target, amount))
        if offered > amount:
            have.appendleft((source, offered - amount))
        if needed > amount:
            want.appendleft((target, needed - amount))
    return pairs
