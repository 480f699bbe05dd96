"""Classes that fail, merged with neighbours until they keep the constraints.

A union of classes that keep a monotone requirement keeps it, and the whole table keeps whatever can
be kept, so merging ends well. Classes stand in the order of a space-filling curve, and a class
looks for a partner among its neighbours there.
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import doubles, longs

KEEPS = -1.0
GONE = -2.0


class ClassMerger:
    """The classes of a state that keeps histograms; they are numbered along the curve."""

    def __init__(self, state: Any) -> None:
        self.state = state
        classes = state.capacity
        ahead, behind = np.arange(1, classes + 1), np.arange(-1, classes - 1)
        ahead[ahead == classes] = -1
        self.n_leaves = 1 << max(classes - 1, 0).bit_length()
        distance = np.full(self.n_leaves, GONE)
        winner = np.zeros(2 * self.n_leaves, dtype=np.int64)
        self.owners = (ahead, behind, distance, winner)
        self.ahead = longs(ahead)
        self.behind = longs(behind)
        self.distance = doubles(distance)
        self.winner = longs(winner)

    def merge_failing(
        self, first: cython.longlong, neighbours: cython.longlong, effort: cython.longlong
    ) -> Any:
        """Merges every class from the first on that fails, until so many looks are spent.

        A class is merged with the cheapest neighbour that mends it, else with the cheapest. Returns
        the class to go on with, and how many merges and looks at neighbours there were.
        """
        with cython.nogil:
            following, merges, looks = self._merge_failing(first, neighbours, effort)
        return following, merges, looks

    def merge_marked(self, marked: Any, neighbours: cython.longlong) -> None:
        """Merges each class that is marked with one neighbour; both are then no longer marked."""
        for c in np.flatnonzero(marked):
            at: cython.Py_ssize_t = c
            if marked[at] and self.state.rows[at] > 0:
                b, _ = self._choose_partner(at, neighbours, True)
                if b >= 0:
                    self._merge(at, b)
                    marked[at] = marked[b] = False

    def start_tournament(self) -> None:
        """Measures all classes, so that the farthest is known."""
        self._start_tournament()

    def merge_farthest(self, neighbours: cython.longlong, most: cython.longlong) -> int:
        """Merges the farthest failing class with the nearest until none fails, or so many times.

        Returns how many merges there were.
        """
        with cython.nogil:
            merges = self._merge_farthest(neighbours, most)
        return merges

    def _choose_partner(self, c, neighbours, prefer_keeping):
        """The neighbour to merge with (−1: none is left), and how many were looked at.

        It is the one whose union adds least loss, first among those that would keep the constraints
        where these are preferred.
        """
        best: cython.double = INFINITY
        found: cython.Py_ssize_t = -1
        keeps: cython.bint = False
        looks: int64_t = 0
        ahead = self.ahead[c]
        behind = self.behind[c]
        for _ in range(neighbours):
            for side in range(2):
                b = ahead if side == 0 else behind
                if b < 0:
                    continue
                looks += 1
                cost = self.state.union_cost(c, b)
                if not prefer_keeping:
                    if cost < best:
                        best = cost
                        found = b
                    continue
                if keeps and cost >= best:
                    continue
                mends = self.state.union_keeps(c, b)
                if (mends and not keeps) or (mends == keeps and cost < best):
                    best = cost
                    found = b
                    keeps = mends
            ahead = self.ahead[ahead] if ahead >= 0 else -1
            behind = self.behind[behind] if behind >= 0 else -1
            if ahead < 0 and behind < 0:
                break
        return found, looks

    def _merge(self, c, b):
        """Takes class b into class c and out of the row."""
        self.state.merge(c, b)
        before = self.behind[b]
        after = self.ahead[b]
        if before >= 0:
            self.ahead[before] = after
        if after >= 0:
            self.behind[after] = before

    def _merge_failing(self, first, neighbours, effort):
        merges: int64_t = 0
        looks: int64_t = 0
        for c in range(first, self.state.capacity):
            while self.state.rows[c] > 0 and not self.state.keeps(c):
                if looks >= effort:
                    return c, merges, looks
                b, more = self._choose_partner(c, neighbours, True)
                looks += more
                if b < 0:
                    break
                self._merge(c, b)
                merges += 1
        return self.state.capacity, merges, looks

    def _start_tournament(self):
        for c in range(self.state.capacity):
            self._measure(c)
        for c in range(self.n_leaves):
            self.winner[self.n_leaves + c] = c
        for node in range(self.n_leaves - 1, 0, -1):
            self._play(node)

    def _measure(self, c):
        """Sets how far a class is from the table, over t."""
        if self.state.keeps(c):
            self.distance[c] = KEEPS
            return
        slack = self.state.table.constraints.slack(
            self.state.histogram(c), self.state.rows[c], self.state.scratch
        )
        self.distance[c] = max(0.0, 1.0 - slack)

    def _play(self, node):
        """Sets which of two halves of the tournament has the farther class; of equals the first."""
        left = self.winner[2 * node]
        right = self.winner[2 * node + 1]
        self.winner[node] = left if self.distance[left] >= self.distance[right] else right

    def _replay(self, c):
        node = (self.n_leaves + c) // 2
        while node >= 1:
            self._play(node)
            node //= 2

    def _merge_farthest(self, neighbours, most):
        for merges in range(most):
            c = self.winner[1] if self.n_leaves > 1 else 0
            if self.distance[c] < 0.0:
                return merges
            b, _ = self._choose_partner(c, neighbours, False)
            if b < 0:
                return merges
            self._merge(c, b)
            self.distance[b] = GONE
            self._measure(c)
            self._replay(b)
            self._replay(c)
        return most
