"""How far a class can be from the table at most, whichever records it takes (Theorems A and B)."""

import cython
import numpy as np


def least_bounds(counts, far, edge, table, limit: cython.double) -> np.ndarray:
    """The least bound of each row of counts [classes, fragments], up to the first beyond the limit.

    There are several ways: `far` [ways, fragments] is how far a fragment's values can be from it,
    `edge` [ways, fragments, edges] the share below each edge, `table` [edges] that of the table.
    """
    n_classes: cython.Py_ssize_t = counts.shape[0]
    n_fragments: cython.Py_ssize_t = counts.shape[1]
    n_ways: cython.Py_ssize_t = len(far)
    n_edges: cython.Py_ssize_t = len(table)
    memory, found = Memory(), np.zeros(n_classes)
    taken, worst = memory.longs_of(counts), memory.doubles_of(far)
    below, whole = memory.doubles_of(edge), memory.doubles_of(table)
    bound, mix = doubles(found), memory.doubles(n_edges)
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


class CutBounds(Memory):
    """What a fragment and both halves of each of its cuts add to every attribute's bound, in rows.

    A cut costs O(1) along a line, by running sums of masses, moments and ends; on a tree a walk.
    """

    def __init__(
        self, rows, node, first_node, parent, length, position, is_line, own_width: bool
    ) -> None:
        n_nodes, places, self.own_width = len(parent), len(rows) + 1, own_width
        self.n_attributes, self.n_tuples = node.shape
        self.rows, self.node = self.longs_of(rows), self.longs_of(node)
        self.first_node, self.parent = self.longs_of(first_node), self.longs_of(parent)
        self.length, self.position = self.doubles_of(length), self.doubles_of(position)
        self.is_line = self.longs_of(is_line)
        self.left_rows, self.right_rows = self.doubles(n_nodes), self.doubles(n_nodes)
        self.below, self.cost = self.doubles(n_nodes), self.doubles(n_nodes)
        self.mass, self.moment = self.doubles(places), self.doubles(places)
        self.low, self.high = self.doubles(places), self.doubles(places)
        self.low_after, self.high_after = self.doubles(places), self.doubles(places)

    def weigh(self, order, cuts, starts, along: cython.longlong, ends) -> np.ndarray:
        """[1 + cuts, attributes]: the part of the fragment, then of both halves of each cut.

        `order` are its tuples along the attribute that is cut, `cuts` places there, `starts` the
        ranks where right halves begin, `ends` [attributes, 2] the ranks that the fragment spans.
        """
        memory, found = Memory(), np.zeros((self.n_attributes, len(cuts) + 1))
        self.count, self.n_cuts, self.along = len(order), len(cuts), along
        self.order, self.cuts = memory.longs_of(order), memory.longs_of(cuts)
        self.starts, self.ends = memory.longs_of(starts), memory.longs_of(ends)
        result = doubles(found)
        with cython.nogil:
            self.mass[0] = 0.0
            for p in range(self.count):
                self.mass[p + 1] = self.mass[p] + self.rows[self.order[p]]
            for b in range(self.n_attributes):
                if self.is_line[b]:
                    self._weigh_on_line(b, result + b * (self.n_cuts + 1))
                else:
                    self._weigh_on_tree(b, result + b * (self.n_cuts + 1))
        return found.T

    def _weigh_on_line(self, b, result):
        mass, moment, low, high = self.mass, self.moment, self.low, self.high
        low_after, high_after = self.low_after, self.high_after
        node, position = self.node + b * self.n_tuples, self.position
        order, count, own = self.order, self.count, position + self.first_node[b]
        moment[0] = 0.0
        low[0] = low_after[count] = INFINITY
        high[0] = high_after[count] = -INFINITY
        for p in range(count):
            x = position[node[order[p]]]
            moment[p + 1] = moment[p] + x * self.rows[order[p]]
            low[p + 1], high[p + 1] = min(low[p], x), max(high[p], x)
        for p in range(count - 1, -1, -1):
            x = position[node[order[p]]]
            low_after[p], high_after[p] = min(low_after[p + 1], x), max(high_after[p + 1], x)
        whole_low, whole_high = low[count], high[count]
        if self.own_width:
            whole_low, whole_high = own[self.ends[2 * b]], own[self.ends[2 * b + 1]]
        result[0] = self._worst_end(mass[count], moment[count], whole_low, whole_high)
        for c in range(self.n_cuts):
            p = self.cuts[c]
            left_low, left_high = low[p], high[p]
            right_low, right_high = low_after[p], high_after[p]
            if self.own_width:
                left_low, left_high = whole_low, whole_high
                right_low, right_high = whole_low, whole_high
                if b == self.along:
                    left_high, right_low = own[self.starts[c] - 1], own[self.starts[c]]
            result[c + 1] = self._worst_end(mass[p], moment[p], left_low, left_high)
            result[c + 1] += self._worst_end(
                mass[count] - mass[p], moment[count] - moment[p], right_low, right_high
            )

    def _weigh_on_tree(self, b, result):
        left, right, order = self.left_rows, self.right_rows, self.order
        node, total = self.node + b * self.n_tuples, self.mass[self.count]
        for at in range(self.first_node[b], self.first_node[b + 1]):
            left[at] = right[at] = 0.0
        for p in range(self.count):
            right[node[order[p]]] += self.rows[order[p]]
        result[0] = self._worst_node(b, right, total)
        p = 0
        for c in range(self.n_cuts):
            while p < self.cuts[c]:
                left[node[order[p]]] += self.rows[order[p]]
                right[node[order[p]]] -= self.rows[order[p]]
                p += 1
            result[c + 1] = self._worst_node(b, left, self.mass[p])
            result[c + 1] += self._worst_node(b, right, total - self.mass[p])

    def _worst_node(self, b, rows, total):
        """Σ rows·d at the worst value among those that occur (Theorem A), by walking the tree."""
        below, cost, parent, length = self.below, self.cost, self.parent, self.length
        first, root = self.first_node[b], self.first_node[b + 1] - 1
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
