"""The work of moving every class's mass to its reference, in 64-bit whole numbers.

For a tree metric with edge lengths len(e), a class of r rows with x(e) of them below edge e, and a
reference of n rows with N(e) below it,

    n · r · EMD = Σ_e len(e) · |n·x(e) − r·N(e)|        (the numerator, here called work).

Edges that no row of the class lies below contribute r · len(e) · N(e); their sum over the whole
tree is known beforehand (`idle`), so only the touched edges are visited. `distance.exact` does the
same with Python integers, for classes whose numbers do not fit.
"""

import cython
import numpy as np
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.stdlib import llabs
from cython.cimports.tclose.kernels.base.memory import longs
from numpy.typing import NDArray


class ClassCounts:
    """Sparse histograms of classes, each with the number of the reference it is compared with."""

    def __init__(self, start, place, count, size, reference) -> None:
        self.arrays = (start, place, count, size, reference)
        self.n_classes = len(size)
        self.start = longs(start)
        self.place = longs(place)
        self.count = longs(count)
        self.size = longs(size)
        self.reference = longs(reference)


class TreeReferences:
    """A tree and the rows that every reference has below its nodes."""

    def __init__(self, leaf, parent, length, below, total, idle) -> None:
        below = np.ascontiguousarray(below)
        self.arrays = (leaf, parent, length, below, total, idle)
        self.n_nodes = len(parent)
        self.leaf = longs(leaf)
        self.parent = longs(parent)
        self.length = longs(length)
        self.below = longs(below)
        self.total = longs(total)
        self.idle = longs(idle)

    def work(self, classes: ClassCounts) -> NDArray[np.int64]:
        """The work of each class, walking up from each of its values: O(values · height)."""
        mass = np.zeros(self.n_nodes, np.int64)
        touched = np.zeros(self.n_nodes, np.int64)
        work = np.zeros(classes.n_classes, np.int64)
        masses, touches, works = longs(mass), longs(touched), longs(work)
        with cython.nogil:
            self._measure(classes, masses, touches, works)
        return work

    def _measure(self, classes, mass, touched, work):
        parent = self.parent
        for c in range(classes.n_classes):
            reference = classes.reference[c]
            below = self.below + reference * self.n_nodes
            n = self.total[reference]
            r = classes.size[c]
            result: int64_t = r * self.idle[reference]
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
                result += self.length[node] * (llabs(n * mass[node] - base) - base)
                mass[node] = 0
            work[c] = result


class ChainReferences:
    """A tree that is a bundle of chains meeting at the root, with the rows of every reference.

    A chain's edges are numbered from its outer end to the root, so N(e) grows along it while x(e)
    only changes at the class's own values. Between two of them, Σ len·|n·x − r·N| has one change
    of sign, found by bisection, and two prefix sums (`reach` of len, `moment` of len·N) give both
    sides: O(values of the class · log values of the table), however many values the table has.
    """

    def __init__(self, chain_end, reach, below, moment, total, idle) -> None:
        below, moment = np.ascontiguousarray(below), np.ascontiguousarray(moment)
        self.arrays = (chain_end, reach, below, moment, total, idle)
        self.n_edges = len(chain_end)
        self.chain_end = longs(chain_end)
        self.reach = longs(reach)
        self.below = longs(below)
        self.moment = longs(moment)
        self.total = longs(total)
        self.idle = longs(idle)

    def work(self, classes: ClassCounts) -> NDArray[np.int64]:
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
        n = self.total[reference]
        r = classes.size[c]
        result: int64_t = r * self.idle[reference]
        entry = classes.start[c]
        end = classes.start[c + 1]
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
                low = at
                high = upto
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
        nodes = np.zeros((4, self.n_nodes), np.int64)
        self.arrays = (supply.copy(), demand.copy(), np.ascontiguousarray(cost), nodes)
        self.supply, self.demand = longs(self.arrays[0]), longs(self.arrays[1])
        self.cost, self.carried = longs(self.arrays[2]), longs(self.flow)
        self.potential, self.distance = longs(nodes[0]), longs(nodes[1])
        self.previous, self.settled = longs(nodes[2]), longs(nodes[3])
        self.work = 0
        with cython.nogil:
            for source in range(self.n_sources):
                while self.supply[source] > 0:
                    self._augment(source, self._nearest_sink(source))

    def _nearest_sink(self, source):
        """The nearest sink that still has demand; potentials are made to fit its distance."""
        distance, settled = self.distance, self.settled
        for v in range(self.n_nodes):
            distance[v] = -1
            self.previous[v] = -1
            settled[v] = 0
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
                self.distance[v] = away
                self.previous[v] = u

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
