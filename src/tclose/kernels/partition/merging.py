"""Classes that fail, merged with neighbours until they keep the constraints.

The whole table keeps whatever can be kept, so merging ends well. Classes stand in the order of a
space-filling curve, and a class looks for a partner among its neighbours there.
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import Memory

KEEPS = -1.0
GONE = -2.0


class ClassMerger:
    """The classes of a state that keeps histograms; they are numbered along the curve."""

    def __init__(self, state: Any) -> None:
        self.state = state
        classes = state.capacity
        memory = Memory()
        self.memory = memory
        self.n_leaves = 1 << max(classes - 1, 0).bit_length()
        self.ahead = memory.longs_of(np.append(np.arange(1, classes), -1))
        self.behind = memory.longs_of(np.arange(-1, classes - 1))
        self.distance = memory.doubles_of(np.full(self.n_leaves, GONE))
        self.winner = memory.longs(2 * self.n_leaves)

    def merge_failing(
        self, first: cython.Py_ssize_t, neighbours: cython.longlong, effort: cython.longlong
    ) -> Any:
        """Merges failing classes from the first on with the cheapest neighbour that mends them,
        else the cheapest, until so many looks are spent: the class to go on with, merges, looks."""
        c = first
        merges: int64_t = 0
        looks: int64_t = 0
        with cython.nogil:
            while c < self.state.capacity:
                if self.state.rows[c] == 0 or self.state.keeps(c):
                    c += 1
                    continue
                if looks >= effort:
                    break
                b, more = self._choose_partner(c, neighbours, True)
                looks += more
                if b < 0:
                    c += 1
                    continue
                self._merge(c, b)
                merges += 1
        return c, merges, looks

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
        for c in range(self.state.capacity):
            self._measure(c)
        for c in range(self.n_leaves):
            self.winner[self.n_leaves + c] = c
        for node in range(self.n_leaves - 1, 0, -1):
            self._play(node)

    def merge_farthest(self, neighbours: cython.longlong, most: cython.longlong) -> int:
        """Merges the farthest failing class with the nearest until none fails, or so many times;
        how often it did."""
        merges: int64_t = 0
        with cython.nogil:
            while merges < most:
                c = self.winner[1] if self.n_leaves > 1 else 0
                if self.distance[c] < 0.0:
                    break
                b, _ = self._choose_partner(c, neighbours, False)
                if b < 0:
                    break
                self._merge(c, b)
                self.distance[b] = GONE
                self._measure(c)
                self._replay(b)
                self._replay(c)
                merges += 1
        return merges

    def _choose_partner(self, c, neighbours, prefer_keeping):
        """The neighbour whose union adds least loss, first among those that would keep the
        constraints if so preferred (−1: none is left), and how many were looked at."""
        best: cython.double = INFINITY
        found: cython.Py_ssize_t = -1
        keeps: cython.bint = False
        looks: int64_t = 0
        ahead, behind = self.ahead[c], self.behind[c]
        for _ in range(neighbours):
            for side in range(2):
                b = ahead if side == 0 else behind
                if b < 0:
                    continue
                looks += 1
                cost = self.state.union_cost(c, b)
                if not prefer_keeping:
                    if cost < best:
                        best, found = cost, b
                    continue
                if keeps and cost >= best:
                    continue
                mends = self.state.union_keeps(c, b)
                if (mends and not keeps) or (mends == keeps and cost < best):
                    best, found, keeps = cost, b, mends
            ahead = self.ahead[ahead] if ahead >= 0 else -1
            behind = self.behind[behind] if behind >= 0 else -1
            if ahead < 0 and behind < 0:
                break
        return found, looks

    def _merge(self, c, b):
        """Takes class b into class c and out of the row."""
        self.state.merge(c, b)
        before, after = self.behind[b], self.ahead[b]
        if before >= 0:
            self.ahead[before] = after
        if after >= 0:
            self.behind[after] = before

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
        left, right = self.winner[2 * node], self.winner[2 * node + 1]
        self.winner[node] = left if self.distance[left] >= self.distance[right] else right

    def _replay(self, c):
        node = (self.n_leaves + c) // 2
        while node >= 1:
            self._play(node)
            node //= 2
