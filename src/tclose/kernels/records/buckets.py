"""Records in buckets (of sensitive values, say), each in the order of a space-filling curve.

Neighbours on the curve are near in every column, so near records are found without looking at all:
`reach` says how many are looked at on either side; with a reach of all records the nearest is
exact.
"""

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import longs
from numpy.typing import NDArray


class CurveBuckets:
    """Records are numbered along the curve; those that are taken leave no gap."""

    def __init__(self, bucket: NDArray[np.int64], cell: NDArray[np.int64], n_buckets: int) -> None:
        self.n_records, self.n_buckets = len(bucket), n_buckets
        n_places = len(bucket) + n_buckets
        order = np.argsort(bucket, kind="stable")
        count = np.bincount(bucket, minlength=n_buckets)
        first = np.append(0, np.cumsum(count + 1)).astype(np.int64)
        place = np.empty(len(bucket), dtype=np.int64)
        place[order] = np.arange(len(bucket)) + bucket[order]
        record = np.full(n_places, -1, dtype=np.int64)
        record[place] = np.arange(len(bucket))
        every = np.arange(n_places, dtype=np.int64)
        before, after, skip_to = every - 1, every + 1, every
        before[first[:n_buckets]] = -1
        bucket, cell = np.array(bucket, dtype=np.int64), np.array(cell, dtype=np.int64)
        self.owners = (first, record, before, after, skip_to, place, bucket, cell)
        self.first, self.record, self.place = longs(first), longs(record), longs(place)
        self.before, self.after, self.skip_to = longs(before), longs(after), longs(skip_to)
        self.bucket, self.cell = longs(bucket), longs(cell)

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
        low = self.first[bucket]
        high = self.end_of(bucket)
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
        before = self.before[at]
        after = self.after[at]
        self.skip_to[at] = after
        self.before[after] = before
        if before >= 0:
            self.after[before] = after

    def pick(self, record, bucket, reach, box):
        """The record of a bucket, among `reach` on either side of one, that widens a box least.

        Returns the record (−1: the bucket is empty), the growth, and how many were looked at.
        """
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
                    best = more
                    found = self.record[at]
            if best == 0.0:
                break
            if right != end:
                right = self.after[right]
            if left >= 0:
                left = self.before[left]
        return found, best, looks
