"""Classes filled with the records that are nearest to a seed: the first one left on the curve."""

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import Memory, longs
from numpy.typing import NDArray

Integers = NDArray[np.int64]
NO_RECORD = 1e6  # what a pair of buckets without a record costs; more than any class


class BucketFilling:
    """Classes filled one by one from buckets of records."""

    def __init__(self, table: Any, bucket: Integers, cell: Integers, n_buckets: int) -> None:
        self.buckets = CurveBuckets(bucket, cell, n_buckets)
        self.everyone = CurveBuckets(np.zeros_like(bucket), cell, 1)
        self.box, self.memory = GrowingBox(table), Memory()
        self.label = np.full(len(bucket), -1)
        self.record_class = longs(self.label)

    def fill(self, first: cython.longlong, last: cython.longlong, reach: cython.longlong) -> int:
        """Fills classes first … last − 1; returns how many records were looked at."""
        looks: int64_t = 0
        with cython.nogil:
            for c in range(first, last):
                looks += self._fill_class(c, reach)
        return looks

    def _fill_class(self, c, reach):
        return 0

    def _put(self, record, c):
        """Puts a record into class c."""
        self.buckets.take(record)
        self.everyone.take(record)
        self.record_class[record] = c


class QuotaFilling(BucketFilling):
    """Every class takes so many records of each bucket, those that widen its box least."""

    def __init__(
        self, table: Any, bucket: Integers, cell: Integers, counts: Integers, kind: Integers
    ) -> None:
        super().__init__(table, bucket, cell, counts.shape[1])
        self.counts, self.kind = self.memory.longs_of(counts), self.memory.longs_of(kind)

    def _fill_class(self, c, reach):
        """Begins with the first record left on the curve that the class has room for."""
        n_buckets = self.buckets.n_buckets
        quota = self.counts + self.kind[c] * n_buckets
        seed = self.everyone.first_at(0)
        end = self.everyone.end_of(0)
        while seed < end and quota[self.buckets.bucket[seed]] == 0:
            seed = self.everyone.after[seed]
        own = self.buckets.bucket[seed]
        self.box.start(self.buckets.cell[seed])
        total: int64_t = 0
        for bucket in range(n_buckets):
            for turn in range(quota[bucket]):
                record = seed
                if bucket != own or turn > 0:
                    record, _, looks = self.buckets.pick(seed, bucket, reach, self.box)
                    total += looks
                self.box.add(self.buckets.cell[record])
                self._put(record, c)
        return total


class Assignment:
    """The cheapest assignment of the rows of a square matrix to its columns."""

    def __init__(self, n: int) -> None:
        self.n, self.memory = n, Memory()
        self.cost, self.distance = self.memory.doubles(n * n), self.memory.doubles(n + 1)
        self.row_potential = self.memory.doubles(n + 1)
        self.column_potential = self.memory.doubles(n + 1)
        self.row_of, self.previous = self.memory.longs(n + 1), self.memory.longs(n + 1)
        self.is_on_path = self.memory.longs(n + 1)

    def assign(self, cost: NDArray[np.float64]) -> Integers:
        """The row that each column is assigned to."""
        for pair in range(self.n * self.n):
            self.cost[pair] = cost.flat[pair]
        self.solve()
        return np.array([self.row_of[column] for column in range(self.n)])

    def solve(self):
        """The Hungarian method with potentials: rows enter along a shortest augmenting path."""
        n = self.n
        for column in range(n + 1):
            self.row_potential[column] = self.column_potential[column] = 0.0
            self.row_of[column] = -1
        for row in range(n):
            at = self._find_path(row)
            while at != n:
                self.row_of[at] = self.row_of[self.previous[at]]
                at = self.previous[at]

    def _find_path(self, row):
        """The free column at the end of the shortest path from a new row (in place n)."""
        n = self.n
        distance, on_path, row_of = self.distance, self.is_on_path, self.row_of
        row_potential, column_potential = self.row_potential, self.column_potential
        for column in range(n + 1):
            distance[column] = INFINITY
            self.previous[column] = n
            on_path[column] = 0
        row_of[n] = row
        at = n
        while row_of[at] >= 0:
            on_path[at] = 1
            here = row_of[at]
            cost = self.cost + here * n
            step: cython.double = INFINITY
            following: cython.Py_ssize_t = -1
            for column in range(n):
                if on_path[column]:
                    continue
                slack = cost[column] - row_potential[here] - column_potential[column]
                if slack < distance[column]:
                    distance[column], self.previous[column] = slack, at
                if distance[column] < step:
                    step, following = distance[column], column
            for column in range(n + 1):
                if on_path[column]:
                    row_potential[row_of[column]] += step
                    column_potential[column] -= step
                elif column < n:
                    distance[column] -= step
            at = following
        return at


class MatchingFilling(BucketFilling):
    """Every class takes one record of each bucket of two attributes; `pair` says both at once."""

    def __init__(self, table: Any, pair: Integers, cell: Integers, n: int) -> None:
        super().__init__(table, pair, cell, n * n)
        self.assignment, self.nearest = Assignment(n), self.memory.longs(n * n)

    def _fill_class(self, c, reach):
        n, cost = self.assignment.n, self.assignment.cost
        total: int64_t = n * n
        seed = self.everyone.first_at(0)
        self.box.start(self.buckets.cell[seed])
        for pair in range(n * n):
            found, distance, looks = self.buckets.pick(seed, pair, reach, self.box)
            self.nearest[pair] = found
            cost[pair] = min(distance, NO_RECORD)
            total += looks
        own = self.buckets.bucket[seed]
        cost[own] = -NO_RECORD * n
        self.nearest[own] = seed
        self.assignment.solve()
        for column in range(n):
            record = self.nearest[self.assignment.row_of[column] * n + column]
            self._put(record, c)
        return total


def allot_rows(order: Integers, rows: Integers, room: Integers) -> Integers:
    """[tuples, groups]: rows of tuples given to groups in an order of all pairs, as room allows."""
    n: cython.Py_ssize_t = len(order)
    groups: cython.Py_ssize_t = len(room)
    left, free = np.array(rows, dtype=np.int64), np.array(room, dtype=np.int64)
    order = np.ascontiguousarray(order, dtype=np.int64)
    parts = np.zeros((len(rows), groups), dtype=np.int64)
    pair, part, rows_left, room_left = longs(order), longs(parts), longs(left), longs(free)
    with cython.nogil:
        for p in range(n):
            who, group = pair[p] // groups, pair[p] % groups
            some = min(rows_left[who], room_left[group])
            rows_left[who] -= some
            room_left[group] -= some
            part[pair[p]] = some
    return parts
