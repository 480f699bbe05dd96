"""Groups of rows judged by the constraints, and halved along two orders at once."""

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import bytes_of, clear, longs
from cython.cimports.tclose.kernels.base.random import draw
from numpy.typing import NDArray


class GroupHalving:
    """Every cell of the table is a single row."""

    def __init__(self, table: Any, stream: Any) -> None:
        self.table = table
        self.stream = stream
        by_row: Any = [np.zeros(self.table.n_cells, dtype=np.int64) for _ in range(4)]
        n_slots = table.constraints.n_slots
        sizes = (n_slots, n_slots, table.constraints.scratch_size)
        room: Any = [np.zeros(size, dtype=np.int64) for size in sizes]
        self.owners = (by_row, room)
        self.partner_of_first, self.partner_of_second = longs(by_row[0]), longs(by_row[1])
        self.half, self.spare = longs(by_row[2]), longs(by_row[3])
        self.first_hist, self.second_hist, self.scratch = (
            longs(room[0]), longs(room[1]), longs(room[2])
        )  # fmt: skip

    def find_failing(
        self, first: NDArray[np.int64], members: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Which groups fail; group g has the rows members[first[g] … first[g + 1] − 1]."""
        n_groups: cython.Py_ssize_t = len(first) - 1
        fails = np.zeros(n_groups, dtype=np.int8)
        start, row, failing = longs(first), longs(members), bytes_of(fails)
        with cython.nogil:
            for g in range(n_groups):
                clear(self.first_hist, self.table.constraints.n_slots)
                for at in range(start[g], start[g + 1]):
                    self._count(row[at], self.first_hist)
                failing[g] = not self.table.constraints.keeps(
                    self.first_hist, start[g + 1] - start[g], self.scratch
                )
        return fails.astype(bool)

    def halve(
        self, first: NDArray[np.int64], orders: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], int]:
        """Halves groups again and again, as long as both halves keep the constraints.

        `orders` [orders, rows] are the rows along each order, group after group; `first` is where
        each group begins. Returns the group of each row, and the looks at rows that this took.
        """
        n_groups: cython.Py_ssize_t = len(first) - 1
        n_orders: cython.Py_ssize_t = len(orders)
        starts = np.zeros(self.table.n_cells + 1, dtype=np.int64)
        ends = np.zeros(self.table.n_cells + 1, dtype=np.int64)
        starts[:n_groups], ends[:n_groups] = first[:n_groups], first[1:]
        members = np.array(orders, dtype=np.int64).reshape(-1)
        found = np.zeros(self.table.n_cells, dtype=np.int64)
        start, end, member, result = longs(starts), longs(ends), longs(members), longs(found)
        with cython.nogil:
            looks = self._halve(n_groups, start, end, member, n_orders, result)
        return found, looks

    def _count(self, row, hist):
        slots = self.table.slots + row * self.table.n_fields
        for field in range(self.table.n_fields):
            hist[slots[field]] += 1

    def _halve(self, n_groups, starts, ends, orders, n_orders, result):
        """Every pair of orders is tried, and each order with itself (alternate rows)."""
        n = self.table.n_cells
        top = n_groups
        made: int64_t = 0
        looks: int64_t = 0
        while top > 0:
            top -= 1
            lo = starts[top]
            hi = ends[top]
            left: cython.Py_ssize_t = 0
            if hi - lo >= 2 * self.table.constraints.k:
                for turn in range(n_orders * n_orders):
                    first = turn // n_orders
                    second = turn % n_orders
                    if second < first:
                        continue
                    self._part_in_two(
                        lo, hi, orders + first * n, orders + second * n, first == second
                    )
                    left = self._both_keep(lo, hi, orders)
                    looks += 3 * (hi - lo) + self.table.constraints.n_slots
                    if left > 0:
                        break
            if left == 0:
                for at in range(lo, hi):
                    result[orders[at]] = made
                made += 1
                continue
            for order in range(n_orders):
                self._divide(lo, hi, left, orders + order * n)
            starts[top] = lo
            ends[top] = starts[top + 1] = lo + left
            ends[top + 1] = hi
            top += 2
        return looks

    def _part_in_two(self, lo, hi, first, second, shifted):
        """Halves the rows of a group so that partners of either order are in different halves.

        Both pairings together are paths and even cycles. Along one order alone, the second pairing
        begins one row later (`shifted`), so that the rows alternate.
        """
        self._pair(lo, hi, first, self.partner_of_first)
        if shifted:
            for at in range(lo, hi):
                self.partner_of_second[second[at]] = -1
            self._pair(lo + 1, hi, second, self.partner_of_second)
        else:
            self._pair(lo, hi, second, self.partner_of_second)
        for at in range(lo, hi):
            self.half[first[at]] = -1
        for at in range(lo, hi):
            row = first[at]
            if self.half[row] < 0 and self.partner_of_second[row] < 0:
                self._walk(row, False)
            elif self.half[row] < 0 and self.partner_of_first[row] < 0:
                self._walk(row, True)
        for at in range(lo, hi):
            if self.half[first[at]] < 0:
                self._walk(first[at], False)

    def _pair(self, lo, hi, order, partner):
        """Neighbours along an order become partners; −1 for a row that has none."""
        for at in range(lo, hi):
            partner[order[at]] = -1
        for at in range(lo, hi - 1, 2):
            partner[order[at]] = order[at + 1]
            partner[order[at + 1]] = order[at]

    def _walk(self, row, along_second):
        """Halves a path or a cycle from a row on, beginning with a random half."""
        half = draw(self.stream, 2)
        while row >= 0 and self.half[row] < 0:
            self.half[row] = half
            row = self.partner_of_second[row] if along_second else self.partner_of_first[row]
            half = 1 - half
            along_second = not along_second

    def _both_keep(self, lo, hi, member):
        """The size of the first half where both keep every constraint, else 0."""
        n_slots = self.table.constraints.n_slots
        clear(self.first_hist, n_slots)
        clear(self.second_hist, n_slots)
        left: cython.Py_ssize_t = 0
        for at in range(lo, hi):
            row = member[at]
            if self.half[row] == 0:
                left += 1
                self._count(row, self.first_hist)
            else:
                self._count(row, self.second_hist)
        if left == 0 or left == hi - lo:
            return 0
        if not self.table.constraints.keeps(self.first_hist, left, self.scratch):
            return 0
        if not self.table.constraints.keeps(self.second_hist, hi - lo - left, self.scratch):
            return 0
        return left

    def _divide(self, lo, hi, left, member):
        """The rows of the first half before those of the second, both in their order."""
        low = lo
        high = lo + left
        for at in range(lo, hi):
            row = member[at]
            if self.half[row] == 0:
                self.spare[low] = row
                low += 1
            else:
                self.spare[high] = row
                high += 1
        for at in range(lo, hi):
            member[at] = self.spare[at]
