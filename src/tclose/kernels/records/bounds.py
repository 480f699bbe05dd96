"""How far a class can be from the table at most, whichever records it takes (Theorems A and B)."""

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, fabs
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import bytes_of, doubles, longs
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def least_bounds(
    counts: NDArray[np.int64], far: Floats, edge: Floats, table: Floats, limit: cython.double
) -> Floats:
    """The least bound of each row of counts [classes, fragments], of several ways to bound it.

    `far` [ways, fragments] is how far a fragment's values can be from it, `edge` [ways, fragments,
    edges] the share below each edge, `table` [edges] the same of the whole table. Ends with the
    first class that is beyond the limit.
    """
    n_classes: cython.Py_ssize_t = counts.shape[0]
    n_fragments: cython.Py_ssize_t = counts.shape[1]
    n_ways: cython.Py_ssize_t = len(far)
    n_edges: cython.Py_ssize_t = len(table)
    arrays = [np.ascontiguousarray(array).reshape(-1) for array in (counts, far, edge, table)]
    found, mixed = np.zeros(n_classes), np.zeros(n_edges)
    taken, worst, below, whole = (
        longs(arrays[0]), doubles(arrays[1]), doubles(arrays[2]), doubles(arrays[3])
    )  # fmt: skip
    bound, mix = doubles(found), doubles(mixed)
    n_judged = n_classes
    with cython.nogil:
        for c in range(n_classes):
            count = taken + c * n_fragments
            size: int64_t = 0
            for f in range(n_fragments):
                size += count[f]
            bound[c] = INFINITY
            for way in range(n_ways):
                value: cython.double = 0.0
                for e in range(n_edges):
                    mix[e] = -whole[e]
                for f in range(n_fragments):
                    if count[f] > 0:
                        share = cython.cast(cython.double, count[f]) / size
                        value += share * worst[way * n_fragments + f]
                        shares_below = below + (way * n_fragments + f) * n_edges
                        for e in range(n_edges):
                            mix[e] += share * shares_below[e]
                for e in range(n_edges):
                    value += fabs(mix[e])
                bound[c] = min(bound[c], value)
            if bound[c] > limit:
                n_judged = c + 1
                break
    return found[:n_judged]


class CutBounds:
    """What a fragment and both halves of each of its cuts add to every attribute's bound, in rows.

    Along a line masses, first moments and ends of all prefixes come from running sums, so a cut
    costs O(1); on a tree it costs a walk.
    """

    def __init__(
        self,
        rows: NDArray[np.int64],
        node: NDArray[np.int64],
        first_node: NDArray[np.int64],
        parent: NDArray[np.int64],
        length: Floats,
        position: Floats,
        is_line: NDArray[np.int8],
        own_width: bool,
    ) -> None:
        self.n_attributes, self.n_tuples = node.shape
        self.own_width = own_width
        given = (rows, np.ascontiguousarray(node).reshape(-1), first_node, parent)
        n_nodes, n_tuples = len(parent), len(rows)
        room: Any = [np.zeros(n_nodes) for _ in range(4)]
        sums: Any = [np.zeros(n_tuples + 1) for _ in range(6)]
        self.owners = (given, length, position, is_line, room, sums)
        self.rows, self.node = longs(given[0]), longs(given[1])
        self.first_node, self.parent = longs(given[2]), longs(given[3])
        self.length, self.position = doubles(length), doubles(position)
        self.is_line = bytes_of(is_line)
        self.left_rows, self.right_rows = doubles(room[0]), doubles(room[1])
        self.below, self.cost = doubles(room[2]), doubles(room[3])
        self.mass, self.moment = doubles(sums[0]), doubles(sums[1])
        self.low, self.high = doubles(sums[2]), doubles(sums[3])
        self.low_after, self.high_after = doubles(sums[4]), doubles(sums[5])

    def weigh(
        self,
        order: NDArray[np.int64],
        cuts: NDArray[np.int64],
        starts: NDArray[np.int64],
        along: cython.longlong,
        ends: NDArray[np.int64],
    ) -> Floats:
        """[1 + cuts, attributes]: the part of the fragment, then of both halves of each cut.

        `order` are the fragment's tuples along the attribute that is cut, `cuts` the places,
        `starts` the ranks at which the right halves begin, `ends` [attributes, 2] the ranks that
        the fragment spans.
        """
        count: cython.Py_ssize_t = len(order)
        n_cuts: cython.Py_ssize_t = len(cuts)
        given = (order, cuts, starts, ends)
        arrays = [np.ascontiguousarray(array, np.int64).reshape(-1) for array in given]
        found = np.zeros((self.n_attributes, n_cuts + 1))
        tuples, places = longs(arrays[0]), longs(arrays[1])
        right_starts, spans = longs(arrays[2]), longs(arrays[3])
        result = doubles(found.reshape(-1))
        with cython.nogil:
            self.mass[0] = 0.0
            for p in range(count):
                self.mass[p + 1] = self.mass[p] + self.rows[tuples[p]]
            for b in range(self.n_attributes):
                bounds = result + b * (n_cuts + 1)
                if self.is_line[b]:
                    self._weigh_on_line(
                        b, along, tuples, count, places, right_starts, n_cuts, spans, bounds
                    )
                else:
                    self._weigh_on_tree(b, tuples, count, places, n_cuts, bounds)
        return found.T

    def _weigh_on_line(self, b, along, order, count, cuts, starts, n_cuts, ends, result):
        mass, moment, low, high = self.mass, self.moment, self.low, self.high
        low_after, high_after = self.low_after, self.high_after
        node = self.node + b * self.n_tuples
        position = self.position
        own = position + self.first_node[b]
        moment[0] = 0.0
        low[0] = low_after[count] = INFINITY
        high[0] = high_after[count] = -INFINITY
        for p in range(count):
            x = position[node[order[p]]]
            moment[p + 1] = moment[p] + x * self.rows[order[p]]
            low[p + 1] = min(low[p], x)
            high[p + 1] = max(high[p], x)
        for p in range(count - 1, -1, -1):
            x = position[node[order[p]]]
            low_after[p] = min(low_after[p + 1], x)
            high_after[p] = max(high_after[p + 1], x)
        whole_low = low[count]
        whole_high = high[count]
        if self.own_width:
            whole_low = own[ends[2 * b]]
            whole_high = own[ends[2 * b + 1]]
        result[0] = self._worst_end(mass[count], moment[count], whole_low, whole_high)
        for c in range(n_cuts):
            p = cuts[c]
            left_low, left_high = low[p], high[p]
            right_low, right_high = low_after[p], high_after[p]
            if self.own_width:
                left_low, left_high = whole_low, whole_high
                right_low, right_high = whole_low, whole_high
                if b == along:
                    left_high = own[starts[c] - 1]
                    right_low = own[starts[c]]
            result[c + 1] = self._worst_end(mass[p], moment[p], left_low, left_high)
            result[c + 1] += self._worst_end(
                mass[count] - mass[p], moment[count] - moment[p], right_low, right_high
            )

    def _weigh_on_tree(self, b, order, count, cuts, n_cuts, result):
        left, right = self.left_rows, self.right_rows
        node = self.node + b * self.n_tuples
        total = self.mass[count]
        for at in range(self.first_node[b], self.first_node[b + 1]):
            left[at] = 0.0
            right[at] = 0.0
        for p in range(count):
            right[node[order[p]]] += self.rows[order[p]]
        result[0] = self._worst_node(b, right, total)
        p = 0
        for c in range(n_cuts):
            while p < cuts[c]:
                left[node[order[p]]] += self.rows[order[p]]
                right[node[order[p]]] -= self.rows[order[p]]
                p += 1
            result[c + 1] = self._worst_node(b, left, self.mass[p])
            result[c + 1] += self._worst_node(b, right, total - self.mass[p])

    def _worst_node(self, b, rows, total):
        """Σ rows·d at the worst value among those that occur (Theorem A), by walking the tree."""
        below, cost, parent, length = self.below, self.cost, self.parent, self.length
        first = self.first_node[b]
        root = self.first_node[b + 1] - 1
        for node in range(first, root + 1):
            below[node] = rows[node]
        whole: cython.double = 0.0
        for node in range(first, root):
            below[parent[node]] += below[node]
            whole += length[node] * below[node]
        cost[root] = whole
        worst: cython.double = whole if rows[root] > 0 else 0.0
        for node in range(root - 1, first - 1, -1):
            cost[node] = cost[parent[node]] + length[node] * (total - 2 * below[node])
            if rows[node] > 0:
                worst = max(worst, cost[node])
        return worst

    def _worst_end(self, mass, moment, a, b):
        """The same along a line from a to b: one of its ends; as a share of its own width if so."""
        worst = max(moment - a * mass, b * mass - moment)
        if self.own_width:
            return worst / (b - a) if b > a else 0.0
        return worst
