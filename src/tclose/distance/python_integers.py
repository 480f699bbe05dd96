"""The work of moving mass in Python integers of any size: slow, for what 64 bits cannot hold.

The same formulas as the compiled `kernels.distance.work`, which tests hold to these.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[Any]
Ints = NDArray[np.int64]


def tree_work(
    entries: list[tuple[int, int]],
    size: int,
    total: int,
    leaf: Ints,
    parent: Ints,
    length: Counts,
    below: Counts,
    idle: int,
) -> int:
    """The work of one class, given by its (value, count), walking up from each of its values."""
    mass: dict[int, int] = {}
    for value, count in entries:
        node = int(leaf[value])
        while parent[node] >= 0:
            mass[node] = mass.get(node, 0) + count
            node = int(parent[node])
    work = size * idle
    for node, held in mass.items():
        base = size * below[node]
        work += length[node] * (abs(total * held - base) - base)
    return int(work)


def chain_work(
    entries: list[tuple[int, int]],
    size: int,
    total: int,
    chain_end: Ints,
    reach: list[int],
    below: list[int],
    moment: list[int],
    idle: int,
) -> int:
    """The work of one class, given by its (edge, count), where chains of edges meet at the root."""
    work = size * idle
    chains: dict[int, list[tuple[int, int]]] = {}
    for edge, count in entries:
        if edge >= 0:
            chains.setdefault(int(chain_end[edge]), []).append((edge, count))
    for stop, chain in chains.items():
        work -= size * (moment[stop] - moment[chain[0][0]])
        held, following = 0, [*(edge for edge, _ in chain[1:]), stop]
        for (at, count), end in zip(chain, following, strict=True):
            held += count
            turn = bisect_right(below, total * held // max(size, 1), at, end)
            work += total * held * (2 * reach[turn] - reach[at] - reach[end])
            work += size * (moment[end] - 2 * moment[turn] + moment[at])
    return work


def cheapest_flow(supply: Counts, demand: Counts, cost: Counts) -> tuple[int, Counts]:
    """The least cost of carrying supply to demand, and the flow, by successive shortest paths."""
    supply, demand = supply.copy(), demand.copy()
    flow = np.zeros(cost.shape, dtype=object)
    for source in range(len(supply)):
        while supply[source] > 0:
            path = _shortest_path(source, demand, cost, flow)
            back = [flow[j, i] for i, j, forward in path if not forward]
            amount = min(supply[source], demand[path[-1][1]], *back)
            for i, j, forward in path:
                if forward:
                    flow[i, j] += amount
                else:
                    flow[j, i] -= amount
            supply[source] -= amount
            demand[path[-1][1]] -= amount
    return int((flow * cost).sum()), flow


def _shortest_path(
    source: int, demand: Counts, cost: Counts, flow: Counts
) -> list[tuple[int, int, bool]]:
    """Steps (from, to, forward) to the nearest sink with demand left (Bellman and Ford).

    A forward step goes from a source to a sink, one back along a flow from a sink to a source.
    """
    sources, sinks = cost.shape
    to_source: list[int | None] = [0 if i == source else None for i in range(sources)]
    to_sink: list[int | None] = [None] * sinks
    before_source, before_sink = [-1] * sources, [-1] * sinks
    changed = True
    while changed:
        changed = False
        for i in range(sources):
            for j in range(sinks):
                here, there = to_source[i], to_sink[j]
                if here is not None and (there is None or here + cost[i, j] < there):
                    to_sink[j], before_sink[j], changed = here + cost[i, j], i, True
                there = to_sink[j]
                if flow[i, j] > 0 and there is not None:
                    here = to_source[i]
                    if here is None or there - cost[i, j] < here:
                        to_source[i], before_source[i], changed = there - cost[i, j], j, True
    reached = [(away, j) for j, away in enumerate(to_sink) if away is not None and demand[j] > 0]
    sink = min(reached)[1]
    path: list[tuple[int, int, bool]] = []
    while True:
        i = before_sink[sink]
        path.insert(0, (i, sink, True))
        if i == source:
            return path
        sink = before_source[i]
        path.insert(0, (sink, i, False))
