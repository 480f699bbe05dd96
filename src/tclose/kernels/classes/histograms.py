"""Histograms of classes: the work of moving them to their references, in 64-bit whole numbers.

For a tree metric with edge lengths len(e), a class of r rows with x(e) of them below edge e, and a
reference of n rows with N(e) below it,

    n · r · EMD = Σ_e len(e) · |n·x(e) − r·N(e)|        (the numerator, here called work).

Edges that no row of the class lies below contribute r · len(e) · N(e); their sum over the whole
tree is known beforehand (`idle`), so only the touched edges are visited. `distance.exact` does the
same with Python integers, for classes whose numbers do not fit.
"""

import cython
import numpy as np
from cython.cimports.libc.math import fabs
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.stdlib import llabs
from cython.cimports.tclose.kernels.base.memory import Memory, doubles, longs
from numpy.typing import NDArray


class SparseHistograms:
    """Sparse histograms of classes, each with the number of the reference it is compared with."""

    def __init__(self, start, place, count, size, reference) -> None:
        memory = Memory()
        self.n_classes, self.memory = len(size), memory
        self.start, self.place = memory.longs_of(start), memory.longs_of(place)
        self.count, self.size = memory.longs_of(count), memory.longs_of(size)
        self.reference = memory.longs_of(reference)


class TreeReferences:
    """A tree and the rows that every reference has below its nodes."""

    def __init__(self, leaf, parent, length, below, total, idle) -> None:
        memory = Memory()
        self.n_nodes, self.memory = len(parent), memory
        self.leaf, self.parent = memory.longs_of(leaf), memory.longs_of(parent)
        self.length, self.below = memory.longs_of(length), memory.longs_of(below)
        self.total, self.idle = memory.longs_of(total), memory.longs_of(idle)

    def work(self, classes: SparseHistograms) -> NDArray[np.int64]:
        """The work of each class, walking up from each of its values: O(values · height)."""
        memory, work = Memory(), np.zeros(classes.n_classes, np.int64)
        mass, touched = memory.longs(self.n_nodes), memory.longs(self.n_nodes)
        works, parent = longs(work), self.parent
        with cython.nogil:
            for c in range(classes.n_classes):
                reference = classes.reference[c]
                below = self.below + reference * self.n_nodes
                n, r = self.total[reference], classes.size[c]
                works[c] = r * self.idle[reference]
                seen: cython.Py_ssize_t = 0
                for entry in range(classes.start[c], classes.start[c + 1]):
                    node = self.leaf[classes.place[entry]]
                    while parent[node] >= 0:
                        if mass[node] == 0:
                            touched[seen] = node
                            seen += 1
                        mass[node] += classes.count[entry]
                        node = parent[node]
                for at in range(seen):
                    node = touched[at]
                    base: int64_t = r * below[node]
                    works[c] += self.length[node] * (llabs(n * mass[node] - base) - base)
                    mass[node] = 0
        return work


class ChainReferences:
    """A tree that is a bundle of chains meeting at the root, with the rows of every reference.

    A chain's edges are numbered from its outer end to the root, so N(e) grows along it while x(e)
    only changes at the class's own values. Between two of them, Σ len·|n·x − r·N| has one change
    of sign, found by bisection, and two prefix sums (`reach` of len, `moment` of len·N) give both
    sides: O(values of the class · log values of the table), however many values the table has.
    """

    def __init__(self, chain_end, reach, below, moment, total, idle) -> None:
        memory = Memory()
        self.n_edges, self.memory = len(chain_end), memory
        self.chain_end, self.reach = memory.longs_of(chain_end), memory.longs_of(reach)
        self.below, self.moment = memory.longs_of(below), memory.longs_of(moment)
        self.total, self.idle = memory.longs_of(total), memory.longs_of(idle)

    def work(self, classes: SparseHistograms) -> NDArray[np.int64]:
        """The work of each class; `place` of an entry is the edge above its value, −1: the root."""
        work = np.zeros(classes.n_classes, np.int64)
        works = longs(work)
        with cython.nogil:
            for c in range(classes.n_classes):
                works[c] = self._measure_class(classes, c)
        return work

    def _measure_class(self, classes, c):
        place, count, reach = classes.place, classes.count, self.reach
        reference = classes.reference[c]
        below = self.below + reference * self.n_edges
        moment = self.moment + reference * (self.n_edges + 1)
        n, r = self.total[reference], classes.size[c]
        result: int64_t = r * self.idle[reference]
        entry, end = classes.start[c], classes.start[c + 1]
        while entry < end:
            at = place[entry]
            if at < 0:
                entry += 1
                continue
            stop = self.chain_end[at]
            result -= r * (moment[stop] - moment[at])
            x: int64_t = 0
            while at < stop:
                upto = stop
                while entry < end and place[entry] < stop:
                    if place[entry] > at:
                        upto = place[entry]
                        break
                    x += count[entry]
                    entry += 1
                low, high = at, upto
                while low < high:
                    middle = (low + high) // 2
                    if r * below[middle] > n * x:
                        high = middle
                    else:
                        low = middle + 1
                result += n * x * (2 * reach[low] - reach[at] - reach[upto])
                result += r * (moment[upto] - 2 * moment[low] + moment[at])
                at = upto
        return result


class Transport:
    """The cheapest way to carry `supply` to `demand`, by successive shortest paths.

    Sources are rows 0..s−1 of `cost`, sinks its columns; node numbers run over sources, then sinks.
    Reduced costs with node potentials stay non-negative, so each augmentation is one dense
    Dijkstra. Everything is a whole number; the optimum is exact.
    """

    def __init__(self, supply, demand, cost) -> None:
        self.n_sources, self.n_sinks = cost.shape
        self.n_nodes = self.n_sources + self.n_sinks
        self.flow = np.zeros((self.n_sources, self.n_sinks), np.int64)
        memory = Memory()
        self.memory, self.carried, self.work = memory, longs(self.flow), 0
        self.supply, self.demand = memory.longs_of(supply.copy()), memory.longs_of(demand.copy())
        self.cost, self.potential = memory.longs_of(cost), memory.longs(self.n_nodes)
        self.distance, self.previous = memory.longs(self.n_nodes), memory.longs(self.n_nodes)
        self.settled = memory.longs(self.n_nodes)
        with cython.nogil:
            for source in range(self.n_sources):
                while self.supply[source] > 0:
                    self._augment(source, self._nearest_sink(source))

    def _nearest_sink(self, source):
        """The nearest sink that still has demand; potentials are made to fit its distance."""
        distance, settled = self.distance, self.settled
        for v in range(self.n_nodes):
            distance[v], self.previous[v], settled[v] = -1, -1, 0
        distance[source] = 0
        target: cython.Py_ssize_t = -1
        while target < 0:
            u: cython.Py_ssize_t = -1
            for v in range(self.n_nodes):
                if not settled[v] and distance[v] >= 0 and (u < 0 or distance[v] < distance[u]):
                    u = v
            settled[u] = 1
            sink = u - self.n_sources
            if sink < 0:
                for j in range(self.n_sinks):
                    self._relax(u, self.n_sources + j, self.cost[u * self.n_sinks + j])
            elif self.demand[sink] > 0:
                target = u
            else:
                for i in range(self.n_sources):
                    if self.carried[i * self.n_sinks + sink] > 0:
                        self._relax(u, i, -self.cost[i * self.n_sinks + sink])
        for v in range(self.n_nodes):
            if settled[v]:
                self.potential[v] += distance[v] - distance[target]
        return target

    def _relax(self, u, v, cost):
        """Goes from u to v where that is nearer."""
        if not self.settled[v]:
            away = self.distance[u] + cost + self.potential[u] - self.potential[v]
            if self.distance[v] < 0 or away < self.distance[v]:
                self.distance[v], self.previous[v] = away, u

    def _augment(self, source, target):
        """Carries as much as the path found allows."""
        previous, n_sources, n_sinks = self.previous, self.n_sources, self.n_sinks
        amount = min(self.supply[source], self.demand[target - n_sources])
        v = target
        while v != source:
            u = previous[v]
            if u >= n_sources:
                amount = min(amount, self.carried[v * n_sinks + u - n_sources])
            v = u
        v = target
        while v != source:
            u = previous[v]
            if u < n_sources:
                self.carried[u * n_sinks + v - n_sources] += amount
                self.work += amount * self.cost[u * n_sinks + v - n_sources]
            else:
                self.carried[v * n_sinks + u - n_sources] -= amount
                self.work -= amount * self.cost[v * n_sinks + u - n_sources]
            v = u
        self.supply[source] -= amount
        self.demand[target - n_sources] -= amount


def combine_beliefs(
    mine, theirs, table, first, second
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Values left, strongest belief, how far beliefs moved: for two classes of the same people.

    `mine` and `theirs` are (start, code, count, size) of sparse histograms, `table` the usual
    shares. Both sorted lists of values are walked side by side, twice: to add up, then to compare.
    """
    n_pairs: cython.Py_ssize_t = len(first)
    left = np.zeros(n_pairs, np.int64)
    strongest, moved = np.zeros(n_pairs), np.zeros(n_pairs)
    start1, code1, count1, size1 = (
        longs(mine[0]), longs(mine[1]), doubles(mine[2]), doubles(mine[3])
    )  # fmt: skip
    start2, code2, count2, size2 = (
        longs(theirs[0]), longs(theirs[1]), doubles(theirs[2]), doubles(theirs[3])
    )  # fmt: skip
    usually, class1, class2 = doubles(table), longs(first), longs(second)
    values, most, change = longs(left), doubles(strongest), doubles(moved)
    with cython.nogil:
        for pair in range(n_pairs):
            c1, c2 = class1[pair], class2[pair]
            total: cython.double = 0.0
            for again in range(2):
                a, b = start1[c1], start2[c2]
                inside: cython.double = 0.0
                while a < start1[c1 + 1] and b < start2[c2 + 1]:
                    if code1[a] < code2[b]:
                        a += 1
                    elif code1[a] > code2[b]:
                        b += 1
                    else:
                        usual = usually[code1[a]]
                        belief = count1[a] / size1[c1] * count2[b] / size2[c2] / usual
                        if again:
                            belief /= total
                            most[pair] = max(most[pair], belief)
                            change[pair] += fabs(belief - usual)
                            inside += usual
                        else:
                            total += belief
                            values[pair] += 1
                        a += 1
                        b += 1
                if again:
                    change[pair] = (change[pair] + 1.0 - inside) / 2
    return left, strongest, moved


def sort_by_counting(key, order, span: int):
    """`order` rearranged by `key[order]`, equal keys as they stood; keys are below `span`."""
    n_keys: cython.Py_ssize_t = len(key)
    n_rows: cython.Py_ssize_t = len(order)
    n_counts: cython.Py_ssize_t = span + 1
    first, result = np.zeros(n_counts, np.int64), np.empty_like(order)
    keys, rows, next_place, sorted_rows = longs(key), longs(order), longs(first), longs(result)
    with cython.nogil:
        for i in range(n_keys):
            next_place[keys[i] + 1] += 1
        for v in range(1, n_counts):
            next_place[v] += next_place[v - 1]
        for i in range(n_rows):
            row = rows[i]
            k = keys[row]
            sorted_rows[next_place[k]] = row
            next_place[k] += 1
    return result
