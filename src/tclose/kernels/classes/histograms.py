"""Histograms of classes: the work of moving them to their references, in 64-bit whole numbers.

For a tree metric with edge lengths len(e), a class of r rows with x(e) of them below edge e, and a
reference of n rows with N(e) below it,

    n · r · EMD = Σ_e len(e) · |n·x(e) − r·N(e)|        (the numerator, here called work).

Edges that no row of the class lies below contribute r · len(e) · N(e); their sum over the whole
tree is known beforehand (`idle`), so only the touched edges are visited. `distance.emd` does the
same with Python integers, for classes whose numbers do not fit.
"""

import cython
import numpy as np


class ClassWork(Memory):
    """Sparse histograms of classes, and the references along a tree that they are moved to."""

    def __init__(self, start, place, count, size, reference, below, total, idle) -> None:
        self.n_classes, self.n_edges = len(size), below.shape[1]
        self.start, self.place = self.longs_of(start), self.longs_of(place)
        self.count, self.size = self.longs_of(count), self.longs_of(size)
        self.reference, self.below = self.longs_of(reference), self.longs_of(below)
        self.total, self.idle = self.longs_of(total), self.longs_of(idle)

    def along_tree(self, leaf, parent, length) -> np.ndarray:
        """The work of each class, walking up from each of its values: O(values · height)."""
        memory, work = Memory(), np.zeros(self.n_classes, np.int64)
        mass, touched = memory.longs(self.n_edges), memory.longs(self.n_edges)
        leaves, parents = memory.longs_of(leaf), memory.longs_of(parent)
        lengths, works = memory.longs_of(length), longs(work)
        with cython.nogil:
            for c in range(self.n_classes):
                reference = self.reference[c]
                below = self.below + reference * self.n_edges
                n, r = self.total[reference], self.size[c]
                works[c] = r * self.idle[reference]
                seen: cython.Py_ssize_t = 0
                for entry in range(self.start[c], self.start[c + 1]):
                    node = leaves[self.place[entry]]
                    while parents[node] >= 0:
                        if mass[node] == 0:
                            touched[seen] = node
                            seen += 1
                        mass[node] += self.count[entry]
                        node = parents[node]
                for at in range(seen):
                    node = touched[at]
                    base: int64_t = r * below[node]
                    works[c] += lengths[node] * (llabs(n * mass[node] - base) - base)
                    mass[node] = 0
        return work

    def along_chains(self, chain_end, reach, moment) -> np.ndarray:
        """The work of each class, where the tree is a bundle of chains meeting at the root.

        A chain's edges are numbered from its outer end to the root, so N(e) grows along it while
        x(e) only changes at the class's own values. Between two of them, Σ len·|n·x − r·N| has one
        change of sign, found by bisection, and two prefix sums (`reach` of len, `moment` of len·N)
        give both sides: O(values of the class · log values of the table).
        """
        work = np.zeros(self.n_classes, np.int64)
        works, self.chain_end = longs(work), self.longs_of(chain_end)
        self.reach, self.moment = self.longs_of(reach), self.longs_of(moment)
        with cython.nogil:
            for c in range(self.n_classes):
                works[c] = self._measure_on_chains(c)
        return work

    def _measure_on_chains(self, c):
        place, count, reach = self.place, self.count, self.reach
        reference = self.reference[c]
        below = self.below + reference * self.n_edges
        moment = self.moment + reference * (self.n_edges + 1)
        n, r = self.total[reference], self.size[c]
        result: int64_t = r * self.idle[reference]
        entry, end = self.start[c], self.start[c + 1]
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


class Transport(Memory):
    """The cheapest way to carry `supply` to `demand`, by successive shortest paths.

    Sources are rows 0..s−1 of `cost`, sinks its columns; node numbers run over sources, then sinks.
    Reduced costs with node potentials stay non-negative, so each augmentation is one dense
    Dijkstra. Everything is a whole number; the optimum is exact.
    """

    def __init__(self, supply, demand, cost) -> None:
        self.n_sources, self.n_sinks = cost.shape
        self.n_nodes = self.n_sources + self.n_sinks
        self.flow = np.zeros((self.n_sources, self.n_sinks), np.int64)
        self.carried, self.cost = longs(self.flow), self.longs_of(cost)
        self.supply, self.demand = self.longs_of(supply.copy()), self.longs_of(demand.copy())
        self.potential, self.distance = self.longs(self.n_nodes), self.longs(self.n_nodes)
        self.previous, self.settled = self.longs(self.n_nodes), self.longs(self.n_nodes)
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


def combine_beliefs(mine, theirs, table, first, second) -> tuple:
    """Values left, strongest belief, how far beliefs moved: for two classes of the same people.

    `mine` and `theirs` are (start, code, count, size) of sparse histograms, `table` the usual
    shares. Both sorted lists of values are walked side by side, twice: to add up, then to compare.
    """
    n_pairs: cython.Py_ssize_t = len(first)
    left = np.zeros(n_pairs, np.int64)
    strongest, moved = np.zeros(n_pairs), np.zeros(n_pairs)
    start1, code1 = longs(mine[0]), longs(mine[1])
    start2, code2 = longs(theirs[0]), longs(theirs[1])
    count1, size1 = doubles(mine[2]), doubles(mine[3])
    count2, size2 = doubles(theirs[2]), doubles(theirs[3])
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
