"""Compiled integer kernels behind every histogram and every earth mover's distance.

Each kernel is exact: it adds and multiplies whole numbers only. Its plain Python twin
(`kernel.py_func`) runs the same lines on object arrays of Python integers, for the classes whose
products do not fit 64 bits.

For a tree metric with edge lengths len(e), a class of r rows with x(e) of them below edge e, and a
reference of n rows with N(e) below it,

    n · r · EMD = Σ_e len(e) · |n·x(e) − r·N(e)|        (the numerator, here called work).

Edges that no row of the class lies below contribute r · len(e) · N(e); their sum over the whole
tree is known beforehand (`idle`), so only the touched edges are visited.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:

    def compiled(function: F) -> F:
        """A function compiled on first use and cached on disk."""
        return function
else:
    import numba

    compiled = numba.njit(cache=True, nogil=True)


@compiled
def tree_work(
    start: Any,
    code: Any,
    count: Any,
    size: Any,
    against: Any,
    leaf: Any,
    parent: Any,
    length: Any,
    below: Any,
    total: Any,
    idle: Any,
    mass: Any,
    touched: Any,
    work: Any,
) -> None:
    """Work of each class against its reference, walking up from each value: O(values · height)."""
    for c in range(len(size)):
        ref = against[c]
        n = total[ref]
        r = size[c]
        result = r * idle[ref]
        seen = 0
        for i in range(start[c], start[c + 1]):
            node = leaf[code[i]]
            while parent[node] >= 0:
                if mass[node] == 0:
                    touched[seen] = node
                    seen += 1
                mass[node] += count[i]
                node = parent[node]
        for j in range(seen):
            node = touched[j]
            base = r * below[ref, node]
            result += length[node] * (abs(n * mass[node] - base) - base)
            mass[node] = 0
        work[c] = result


@compiled
def chain_work(
    start: Any,
    slot: Any,
    count: Any,
    size: Any,
    against: Any,
    chain_end: Any,
    reach: Any,
    below: Any,
    moment: Any,
    total: Any,
    idle: Any,
    work: Any,
) -> None:
    """Work of each class where the tree is a bundle of chains meeting at the root.

    A chain's edges are numbered from its outer end to the root, so N(e) grows along it while x(e)
    only changes at the class's own values. Between two of them, Σ len·|n·x − r·N| has one change
    of sign, found by bisection, and two prefix sums (`reach` of len, `moment` of len·N) give both
    sides: O(values of the class · log values of the table), however many values the table has.
    """
    for c in range(len(size)):
        ref = against[c]
        n = total[ref]
        r = size[c]
        result = r * idle[ref]
        i = start[c]
        end = start[c + 1]
        while i < end:
            at = slot[i]
            if at < 0:
                i += 1
                continue
            stop = chain_end[at]
            result -= r * (moment[ref, stop] - moment[ref, at])
            x = count[i] - count[i]
            while at < stop:
                upto = stop
                while i < end and slot[i] < stop:
                    if slot[i] > at:
                        upto = slot[i]
                        break
                    x += count[i]
                    i += 1
                low = at
                high = upto
                while low < high:
                    middle = (low + high) // 2
                    if r * below[ref, middle] > n * x:
                        high = middle
                    else:
                        low = middle + 1
                result += n * x * (2 * reach[low] - reach[at] - reach[upto])
                result += r * (moment[ref, upto] - 2 * moment[ref, low] + moment[ref, at])
                at = upto
        work[c] = result


@compiled
def counting_sort(key: Any, order: Any, room: Any, result: Any) -> None:
    """Rearranges `order` by `key[order]`, equal keys as they stood: one pass over all keys.

    `room` is zero, with an entry for every key and one more.
    """
    for i in range(len(key)):
        room[key[i] + 1] += 1
    for v in range(1, len(room)):
        room[v] += room[v - 1]
    for i in range(len(order)):
        at = order[i]
        k = key[at]
        result[room[k]] = at
        room[k] += 1


@compiled
def flow_work(
    supply: Any,
    demand: Any,
    cost: Any,
    flow: Any,
    potential: Any,
    distance: Any,
    previous: Any,
    settled: Any,
) -> Any:
    """Least cost of carrying `supply` to `demand`, by successive shortest paths; fills `flow`.

    Sources are rows 0..s−1 of `cost`, sinks its columns; node numbers run over sources, then sinks.
    Reduced costs with node potentials stay non-negative, so each augmentation is one dense
    Dijkstra. Everything is a whole number; the optimum is exact. `supply` and `demand` are used up.
    """
    sources, sinks = cost.shape
    nodes = sources + sinks
    spent = cost[0, 0] - cost[0, 0]
    for source in range(sources):
        while supply[source] > 0:
            for v in range(nodes):
                distance[v] = -1
                previous[v] = -1
                settled[v] = False
            distance[source] = 0
            target = -1
            while True:
                u = -1
                for v in range(nodes):
                    if not settled[v] and distance[v] >= 0 and (u < 0 or distance[v] < distance[u]):
                        u = v
                if u < 0:
                    break
                settled[u] = True
                if u >= sources and demand[u - sources] > 0:
                    target = u
                    break
                if u < sources:
                    for j in range(sinks):
                        v = sources + j
                        if not settled[v]:
                            d = distance[u] + cost[u, j] + potential[u] - potential[v]
                            if distance[v] < 0 or d < distance[v]:
                                distance[v] = d
                                previous[v] = u
                else:
                    for v in range(sources):
                        if not settled[v] and flow[v, u - sources] > 0:
                            d = distance[u] - cost[v, u - sources] + potential[u] - potential[v]
                            if distance[v] < 0 or d < distance[v]:
                                distance[v] = d
                                previous[v] = u
            reached = distance[target]
            for v in range(nodes):
                if settled[v]:
                    potential[v] += distance[v] - reached
            amount = min(supply[source], demand[target - sources])
            v = target
            while v != source:
                u = previous[v]
                if u >= sources:
                    amount = min(amount, flow[v, u - sources])
                v = u
            v = target
            while v != source:
                u = previous[v]
                if u < sources:
                    flow[u, v - sources] += amount
                    spent += amount * cost[u, v - sources]
                else:
                    flow[v, u - sources] -= amount
                    spent -= amount * cost[v, u - sources]
                v = u
            supply[source] -= amount
            demand[target - sources] -= amount
    return spent
