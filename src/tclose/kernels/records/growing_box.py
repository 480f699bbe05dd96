"""What a class covers while it grows, and how much one more cell would add.

The distance of two cells is what they would lose if released together, column by column: numbers
and dates by their gap, categories by the lowest common ancestor or as a set of two, a missing value
by everything.
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import doubles, longs
from cython.cimports.tclose.kernels.base.table import SET, CodedTable, count_bits, range_loss
from numpy.typing import NDArray


class GrowingBox:
    """Lowest and highest code of each column, or the values of a set, and what that loses."""

    def __init__(self, table: Any) -> None:
        self.table = table
        codes = [np.zeros(self.table.n_columns, dtype=np.int64) for _ in range(3)]
        losses = [np.zeros(self.table.n_columns) for _ in range(2)]
        self.owners = (codes, losses)
        self.low, self.high, self.present = longs(codes[0]), longs(codes[1]), longs(codes[2])
        self.width, self.next_value = doubles(losses[0]), doubles(losses[1])

    def start(self, x):
        """Makes the box that of the single cell x."""
        d = self.table.n_columns
        bit: int64_t = 1
        for j in range(d):
            v = self.table.codes[x * d + j]
            self.low[j] = v
            self.high[j] = v
            self.present[j] = bit << (v % MASK_BITS)
            self._measure(j)

    def add(self, x):
        """Takes cell x into the box."""
        d = self.table.n_columns
        one: int64_t = 1
        for j in range(d):
            v = self.table.codes[x * d + j]
            bit = one << (v % MASK_BITS)
            if v < self.low[j] or v > self.high[j] or (self.present[j] & bit) == 0:
                self.low[j] = min(self.low[j], v)
                self.high[j] = max(self.high[j], v)
                self.present[j] |= bit
                self._measure(j)

    def growth(self, x, most):
        """How much more the box loses per row with cell x; what exceeds `most` is not counted."""
        d = self.table.n_columns
        codes = self.table.codes + x * d
        total: cython.double = 0.0
        for j in range(d):
            v: int64_t = codes[j]
            low = self.low[j]
            high = self.high[j]
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

    def _measure(self, j):
        """Sets what a column costs."""
        if self.table.columns[j].form == SET:
            values = count_bits(self.present[j])
            self.width[j] = range_loss(self.table, j, 0, values)
            self.next_value[j] = range_loss(self.table, j, 0, values + 1) - self.width[j]
        else:
            self.width[j] = range_loss(self.table, j, self.low[j], self.high[j])


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
