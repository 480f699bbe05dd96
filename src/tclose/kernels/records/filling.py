"""Classes filled with the records that are nearest to a seed: the first one left on the curve."""

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import bytes_of, doubles, longs
from numpy.typing import NDArray

NO_RECORD = 1e6  # what a pair of buckets without a record costs; more than any class


class QuotaFilling:
    """Every class takes so many records of each bucket, those that widen its box least."""

    def __init__(
        self,
        table: Any,
        bucket: NDArray[np.int64],
        cell: NDArray[np.int64],
        counts: NDArray[np.int64],
        kind: NDArray[np.int64],
    ) -> None:
        self.buckets = CurveBuckets(bucket, cell, counts.shape[1])
        self.everyone = CurveBuckets(np.zeros_like(bucket), cell, 1)
        self.box = GrowingBox(table)
        self.label = np.full(len(bucket), -1, dtype=np.int64)
        counts = np.array(counts, dtype=np.int64).reshape(-1)
        kind = np.array(kind, dtype=np.int64)
        self.owners = (counts, kind)
        self.counts, self.kind, self.record_class = longs(counts), longs(kind), longs(self.label)

    def fill(self, first: cython.longlong, last: cython.longlong, reach: cython.longlong) -> int:
        """Fills classes first … last − 1; returns how many records were looked at."""
        looks: int64_t = 0
        with cython.nogil:
            for c in range(first, last):
                looks += self._fill_class(c, reach)
        return looks

    def _choose_seed(self, quota):
        """The first record left on the curve that a quota has room for."""
        record = self.everyone.first_at(0)
        end = self.everyone.end_of(0)
        while record < end and quota[self.buckets.bucket[record]] == 0:
            record = self.everyone.after[record]
        return record

    def _fill_class(self, c, reach):
        n_buckets = self.buckets.n_buckets
        quota = self.counts + self.kind[c] * n_buckets
        seed = self._choose_seed(quota)
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
                self.buckets.take(record)
                self.everyone.take(record)
                self.record_class[record] = c
        return total


class Assignment:
    """The cheapest assignment of the rows of a square matrix to its columns."""

    def __init__(self, n: int) -> None:
        self.n = n
        reals = [np.zeros(size) for size in (n * n, n + 1, n + 1, n + 1)]
        wholes = [np.zeros(n + 1, dtype=np.int64) for _ in range(2)]
        on_path = np.zeros(n + 1, dtype=np.int8)
        self.owners = (reals, wholes, on_path)
        self.cost, self.distance = doubles(reals[0]), doubles(reals[3])
        self.row_potential, self.column_potential = doubles(reals[1]), doubles(reals[2])
        self.row_of, self.previous = longs(wholes[0]), longs(wholes[1])
        self.is_on_path = bytes_of(on_path)

    def assign(self, cost: NDArray[np.float64]) -> NDArray[np.int64]:
        """The row that each column is assigned to."""
        self.owners[0][0][:] = cost.reshape(-1)
        with cython.nogil:
            self.solve()
        return self.owners[1][0][: self.n].copy()

    def solve(self):
        """The Hungarian method with potentials: rows enter along a shortest augmenting path."""
        n = self.n
        for column in range(n + 1):
            self.row_potential[column] = 0.0
            self.column_potential[column] = 0.0
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
                    distance[column] = slack
                    self.previous[column] = at
                if distance[column] < step:
                    step = distance[column]
                    following = column
            for column in range(n + 1):
                if on_path[column]:
                    row_potential[row_of[column]] += step
                    column_potential[column] -= step
                elif column < n:
                    distance[column] -= step
            at = following
        return at


class MatchingFilling:
    """Every class takes one record of each bucket of two attributes; `pair` says both at once."""

    def __init__(
        self, table: Any, pair: NDArray[np.int64], cell: NDArray[np.int64], n: int
    ) -> None:
        self.buckets = CurveBuckets(pair, cell, n * n)
        self.everyone = CurveBuckets(np.zeros_like(pair), cell, 1)
        self.box = GrowingBox(table)
        self.assignment = Assignment(n)
        self.label = np.full(len(pair), -1, dtype=np.int64)
        nearest = np.zeros(n * n, dtype=np.int64)
        self.owners = nearest
        self.nearest, self.record_class = longs(nearest), longs(self.label)

    def fill(self, first: cython.longlong, last: cython.longlong, reach: cython.longlong) -> int:
        """Matches classes first … last − 1; returns how many records were looked at."""
        looks: int64_t = 0
        with cython.nogil:
            for c in range(first, last):
                looks += self._fill_class(c, reach)
        return looks

    def _fill_class(self, c, reach):
        n = self.assignment.n
        cost = self.assignment.cost
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
            self.buckets.take(record)
            self.everyone.take(record)
            self.record_class[record] = c
        return total


def allot_rows(
    order: NDArray[np.int64], rows: NDArray[np.int64], room: NDArray[np.int64]
) -> NDArray[np.int64]:
    """[tuples, groups]: rows of tuples given to groups in an order of all pairs, as room allows."""
    n: cython.Py_ssize_t = len(order)
    groups: cython.Py_ssize_t = len(room)
    order = np.ascontiguousarray(order, dtype=np.int64)
    left, free = np.array(rows, dtype=np.int64), np.array(room, dtype=np.int64)
    parts = np.zeros((len(rows), groups), dtype=np.int64)
    pair, part = longs(order), longs(parts.reshape(-1))
    rows_left, room_left = longs(left), longs(free)
    with cython.nogil:
        for p in range(n):
            who = pair[p] // groups
            group = pair[p] % groups
            some = min(rows_left[who], room_left[group])
            rows_left[who] -= some
            room_left[group] -= some
            part[pair[p]] = some
    return parts
