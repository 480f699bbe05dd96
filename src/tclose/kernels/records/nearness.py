"""Cells and records that are near each other.

The distance of two cells is what they would lose if released together, column by column: numbers
by their gap, categories by the lowest common ancestor or as a set of two, a missing value by
everything. Near records are neighbours on a space-filling curve: `reach` says how many are looked
at on either side; with a reach of all records the nearest is exact.
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import Memory, doubles, longs
from cython.cimports.tclose.kernels.base.table import (
    FAR_CODE,
    SET,
    CodedTable,
    count_bits,
    range_loss,
)  # fmt: skip
from numpy.typing import NDArray


def measure_distances(
    x: cython.longlong, cells: NDArray[np.int64], table: CodedTable
) -> NDArray[np.float64]:
    """The distance of cell x from each of some cells."""
    n: cython.Py_ssize_t = len(cells)
    cells = np.ascontiguousarray(cells, dtype=np.int64)
    found = np.zeros(n)
    cell, distance = longs(cells), doubles(found)
    with cython.nogil:
        for p in range(n):
            distance[p] = cell_distance(table, x, cell[p], INFINITY)
    return found


class GrowingBox:
    """What a class covers while it grows: codes from lowest to highest, or the values of a set."""

    def __init__(self, table: Any) -> None:
        memory, d = Memory(), table.n_columns
        self.table, self.memory = table, memory
        self.low, self.high, self.present = memory.longs(d), memory.longs(d), memory.longs(d)
        self.width, self.next_value = memory.doubles(d), memory.doubles(d)

    def start(self, x):
        """Makes the box that of the single cell x."""
        for j in range(self.table.n_columns):
            self.low[j], self.high[j], self.present[j] = FAR_CODE, -1, 0
        self.add(x)

    def add(self, x):
        """Takes cell x into the box."""
        d = self.table.n_columns
        for j in range(d):
            v: int64_t = self.table.codes[x * d + j]
            bit = cython.cast(int64_t, 1) << (v % MASK_BITS)
            if self.low[j] <= v <= self.high[j] and (self.present[j] & bit) != 0:
                continue
            self.low[j], self.high[j] = min(self.low[j], v), max(self.high[j], v)
            self.present[j] |= bit
            if self.table.columns[j].form == SET:
                values = count_bits(self.present[j])
                self.width[j] = range_loss(self.table, j, 0, values)
                self.next_value[j] = range_loss(self.table, j, 0, values + 1) - self.width[j]
            else:
                self.width[j] = range_loss(self.table, j, self.low[j], self.high[j])

    def growth(self, x, most):
        """How much more the box loses per row with cell x; what exceeds `most` is not counted."""
        d = self.table.n_columns
        codes = self.table.codes + x * d
        total: cython.double = 0.0
        for j in range(d):
            v: int64_t = codes[j]
            low, high = self.low[j], self.high[j]
            if self.table.columns[j].form == SET:
                if v < low or v > high or (self.present[j] >> (v % MASK_BITS) & 1) == 0:
                    total += self.next_value[j]
            elif v < low:
                total += range_loss(self.table, j, v, high) - self.width[j]
            elif v > high:
                total += range_loss(self.table, j, low, v) - self.width[j]
            if total >= most:
                break
        return total


class CurveBuckets:
    """Records are numbered along the curve; those that are taken leave no gap."""

    def __init__(self, bucket: NDArray[np.int64], cell: NDArray[np.int64], n_buckets: int) -> None:
        self.n_records, self.n_buckets = len(bucket), n_buckets
        n_places = len(bucket) + n_buckets
        order = np.argsort(bucket, kind="stable")
        count = np.bincount(bucket, minlength=n_buckets)
        first = np.append(0, np.cumsum(count + 1))
        place = np.empty(len(bucket), dtype=np.int64)
        place[order] = np.arange(len(bucket)) + bucket[order]
        record = np.full(n_places, -1, dtype=np.int64)
        record[place] = np.arange(len(bucket))
        every = np.arange(n_places, dtype=np.int64)
        before, after, skip_to = every - 1, every + 1, every
        before[first[:n_buckets]] = -1
        memory = Memory()
        self.memory = memory
        self.first, self.record = memory.longs_of(first), memory.longs_of(record)
        self.before, self.after = memory.longs_of(before), memory.longs_of(after)
        self.skip_to, self.place = memory.longs_of(skip_to), memory.longs_of(place)
        self.bucket, self.cell = memory.longs_of(bucket), memory.longs_of(cell)

    def remove(self, record: cython.longlong) -> None:
        """Takes a record out of its bucket."""
        self.take(record)

    def list_records(self, bucket: cython.longlong) -> list[int]:
        """The records left in a bucket, along the curve."""
        found = []
        at = self.first_at(self.first[bucket])
        while at != self.end_of(bucket):
            found.append(self.record[at])
            at = self.after[at]
        return found

    def first_at(self, place):
        """The first place at or after one that still has its record, or the end of the bucket."""
        skip_to = self.skip_to
        while skip_to[place] != place:
            skip_to[place] = skip_to[skip_to[place]]
            place = skip_to[place]
        return place

    def place_of(self, record, bucket):
        """The place in a bucket where a record of the curve would stand."""
        low, high = self.first[bucket], self.end_of(bucket)
        while low < high:
            middle = (low + high) // 2
            if self.record[middle] < record:
                low = middle + 1
            else:
                high = middle
        return low

    def end_of(self, bucket):
        """The last place of a bucket, which has no record."""
        return self.first[bucket + 1] - 1

    def take(self, record):
        """Takes a record out of its bucket."""
        at = self.place[record]
        before, after = self.before[at], self.after[at]
        self.skip_to[at] = after
        self.before[after] = before
        if before >= 0:
            self.after[before] = after

    def pick(self, record, bucket, reach, box):
        """The record of a bucket, among `reach` on either side of one, that widens a box least (−1:
        the bucket is empty), the growth, and how many were looked at."""
        best: cython.double = INFINITY
        found: int64_t = -1
        looks: int64_t = 0
        right = self.first_at(self.place_of(record, bucket))
        left = self.before[right]
        end = self.end_of(bucket)
        for _ in range(reach):
            if right == end and left < 0:
                break
            for side in range(2):
                at = right if side == 0 else left
                if at < 0 or at == end:
                    continue
                looks += 1
                more = box.growth(self.cell[self.record[at]], best)
                if more < best:
                    best, found = more, self.record[at]
            if best == 0.0:
                break
            if right != end:
                right = self.after[right]
            if left >= 0:
                left = self.before[left]
        return found, best, looks


def hilbert_keys(grid: NDArray[np.int64], bits: cython.longlong) -> NDArray[np.int64]:
    """The place of each point of a grid [points, columns]; columns · bits ≤ 62.

    Skilling's transform (2004): bit plane by bit plane, from the top, a coordinate whose bit is set
    turns the lower planes over and one whose bit is not set swaps them with the first coordinate;
    a Gray code of what is left gives the place. Consecutive places are neighbours on the grid.
    """
    n_points: cython.Py_ssize_t = grid.shape[0]
    d: cython.Py_ssize_t = grid.shape[1]
    points = np.array(grid, dtype=np.int64).reshape(-1)
    keys = np.zeros(n_points, dtype=np.int64)
    coordinate, place = longs(points), longs(keys)
    bit: int64_t = 1
    with cython.nogil:
        for p in range(n_points):
            x = coordinate + p * d
            for plane in range(bits - 1, 0, -1):
                low = (bit << plane) - 1
                for j in range(d):
                    if x[j] >> plane & 1:
                        x[0] ^= low
                    else:
                        swapped = (x[0] ^ x[j]) & low
                        x[0] ^= swapped
                        x[j] ^= swapped
            for j in range(1, d):
                x[j] ^= x[j - 1]
            turned: int64_t = 0
            for plane in range(bits - 1, 0, -1):
                if x[d - 1] >> plane & 1:
                    turned ^= (bit << plane) - 1
            key: int64_t = 0
            for plane in range(bits - 1, -1, -1):
                for j in range(d):
                    key = key << 1 | ((x[j] ^ turned) >> plane & 1)
            place[p] = key
    return keys
