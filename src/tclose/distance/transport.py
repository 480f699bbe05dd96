"""Which mass moves where: the flow behind one earth mover's distance.

The literature shows the optimum in two ways: *actions* between neighbours (how much crosses each
edge of the tree) and *transport* between values (from where to where). The costs of either add up
to the distance.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.distance.ground import MatrixMetric, Metric, TreeMetric
from tclose.distance.histogram import Counts
from tclose.kernels.classes.histograms import Transport

FITS = 2**63
Pile = deque[tuple[int, int]]


@dataclass(frozen=True)
class Move:
    """Mass moved from one value (or tree node) to another, and its cost."""

    source: int
    target: int
    mass: Fraction
    cost: Fraction


def transport(metric: Metric, counts: Counts, reference: Counts) -> tuple[Move, ...]:
    """Returns an optimal transport between values that turns the class into the reference.

    On a tree, surplus and deficit are matched at the lowest node where both occur and only the rest
    is passed up, so no edge is crossed both ways and each carries exactly |P(below) − Q(below)|,
    the least possible. Along an order this is the matching from left to right.

    >>> from tclose.distance.ground import ordinal
    >>> for move in transport(ordinal(4), np.array([1, 0, 1, 0]), np.array([1, 1, 1, 1])):
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
    moves = []
    for source, target, amount in sorted(pairs):
        mass = Fraction(amount, unit)
        moves.append(Move(source, target, mass, mass * metric.between(source, target)))
    return tuple(moves)


def actions(metric: TreeMetric, counts: Counts, reference: Counts) -> tuple[Move, ...]:
    """Returns what crosses each edge of the tree, as moves between nodes; outer edges first.

    >>> from tclose.distance.ground import ordinal
    >>> [str(a.mass) for a in actions(ordinal(3), np.array([2, 0, 0]), np.array([1, 1, 1]))]
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
    """Matches surplus and deficit at the lowest node where they meet, in the order of arrival."""
    own: list[Pile] = [deque() for _ in metric.parent]
    for value, node in enumerate(metric.leaf):
        own[node].append((value, int(surplus[value])))
    below: list[Pile] = [deque() for _ in metric.parent]
    pairs: list[tuple[int, int, int]] = []
    for node, parent in enumerate(metric.parent):
        rest = _use_up(below[node], own[node], pairs)
        # If there is no other pile it is passed on unchanged, because chains are long. Nothing is
        # left at the root, whose parent is the last node.
        below[parent] = _use_up(below[parent], rest, pairs) if below[parent] else rest
    return pairs


def _use_up(rest: Pile, more: Pile, pairs: list[tuple[int, int, int]]) -> Pile:
    """Adds `more` to a pile of surplus (or deficit), and to `pairs` what meets its opposite."""
    for value, amount in more:
        while amount and rest and (amount > 0) != (rest[0][1] > 0):
            other, held = rest.popleft()
            moved = min(abs(amount), abs(held))
            source, target = (value, other) if amount > 0 else (other, value)
            pairs.append((source, target, moved))
            total = amount + held
            amount = total if abs(amount) > moved else 0
            if abs(held) > moved:
                rest.appendleft((other, total))
        if amount:
            rest.append((value, amount))
    return rest


def excess(counts: Counts, reference: Counts) -> Counts:
    """Returns n·c_v − r·N_v per value: the class's scaled surplus (or deficit, if negative)."""
    mine, theirs = counts.astype(object), reference.astype(object)
    result: Counts = mine * theirs.sum() - theirs * mine.sum()
    return result


def least_flow(metric: MatrixMetric, surplus: Counts) -> tuple[int, Counts]:
    """Returns the least work that levels a surplus, and the flow [from value, to value]."""
    source, sink = np.flatnonzero(surplus > 0), np.flatnonzero(surplus < 0)
    whole_flow = np.zeros((metric.values, metric.values), dtype=object)
    if not len(source):
        return 0, whole_flow
    supply, demand = surplus[source], -surplus[sink]
    cost = metric.cost[np.ix_(source, sink)]
    if 4 * int(supply.sum()) * metric.diameter < FITS:
        found = Transport(*(part.astype(np.int64) for part in (supply, demand, cost)))
        work, flow = found.work, found.flow
    else:
        work, flow = find_cheapest_flow(supply, demand, cost.astype(object))
    whole_flow[np.ix_(source, sink)] = flow
    return int(work), whole_flow


def find_cheapest_flow(supply: Counts, demand: Counts, cost: Counts) -> tuple[int, Counts]:
    """Returns the least cost of moving supply to demand, and the flow, by shortest paths."""
    supply, demand = supply.copy(), demand.copy()
    flow = np.zeros(cost.shape, dtype=object)
    for source in range(len(supply)):
        while supply[source] > 0:
            path = _find_shortest_path(source, demand, cost, flow)
            target = path[0][1]
            back = [flow[i, j] for i, j, change in path if change < 0]
            amount = min(supply[source], demand[target], *back)
            for i, j, change in path:
                flow[i, j] += change * amount
            supply[source] -= amount
            demand[target] -= amount
    return int((flow * cost).sum()), flow


def _find_shortest_path(
    source: int, demand: Counts, cost: Counts, flow: Counts
) -> list[tuple[int, int, int]]:
    """Finds the shortest path to a sink with demand left, backwards from the sink (Bellman-Ford).

    Its steps are (source, sink, 1) where the flow increases and (source, sink, −1) where it
    decreases.
    """
    never = int(cost.sum()) + 1
    to_source, before_source = np.full(len(cost), never, dtype=object), np.zeros(len(cost), int)
    to_sink, before_sink = np.full(len(demand), 2 * never, dtype=object), np.zeros(len(demand), int)
    to_source[source] = 0
    while True:
        ways = to_source[:, None] + cost
        better = ways.min(axis=0) < to_sink
        if not better.any():
            break
        to_sink = np.where(better, ways.min(axis=0), to_sink)
        before_sink = np.where(better, ways.argmin(axis=0), before_sink)
        ways = np.where(flow > 0, to_sink - cost, never)
        better = ways.min(axis=1) < to_source
        to_source = np.where(better, ways.min(axis=1), to_source)
        before_source = np.where(better, ways.argmin(axis=1), before_source)
    sink = min(np.flatnonzero(demand > 0), key=lambda at: to_sink[at])
    path = [(int(before_sink[sink]), int(sink), 1)]
    while (at := path[-1][0]) != source:
        sink = before_source[at]
        path += [(at, int(sink), -1), (int(before_sink[sink]), int(sink), 1)]
    return path
