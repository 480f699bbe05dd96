"""The classes that need to be widened least to take a new row."""

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY
from cython.cimports.tclose.kernels.base.memory import Memory, bytes_of, doubles, longs
from numpy.typing import NDArray


class ClassShapes:
    """What classes cover in each column; `arrays` owns the memory (`recode.plan.nearest`).

    Classes released alike in a column cost a row the same there: it is reckoned once for them.
    """

    def __init__(self, arrays: Any) -> None:
        self.owners = arrays
        self.n_classes, self.n_columns = arrays.loss.shape
        self.n_released = len(arrays.released_class)
        self.columns = cython.cast(cython.pointer(ShapeColumn), longs(arrays.columns.view("i8")))
        self.low, self.high = longs(arrays.low), longs(arrays.high)
        self.n_values, self.has_missing = longs(arrays.n_values), bytes_of(arrays.has_missing)
        self.is_anything = bytes_of(arrays.is_anything)
        self.loss, self.positions = doubles(arrays.loss), doubles(arrays.positions)
        self.ancestors, self.members = longs(arrays.ancestors), bytes_of(arrays.members)
        self.released, self.released_class = longs(arrays.released), longs(arrays.released_class)
        self.released_column = longs(arrays.released_column)

    def find_nearest(
        self, codes: NDArray[np.int64], reachable: NDArray[np.int8], most: cython.longlong
    ) -> NDArray[np.int64]:
        """[rows, most]: the classes that gain least loss by each row, then lose least; −1: no more.
        `reachable` [rows, columns] says where a class may be widened to a row's value."""
        n_rows: cython.Py_ssize_t = len(codes)
        d = self.n_columns
        choices = np.full((n_rows, most), -1, dtype=np.int64)
        memory = Memory()
        reachable = np.ascontiguousarray(reachable, np.int8)
        code, reach, choice = memory.longs_of(codes), bytes_of(reachable), longs(choices)
        self.gained, self.lost = memory.doubles(self.n_released), memory.doubles(self.n_released)
        best_gain, best_loss = memory.doubles(most), memory.doubles(most)
        with cython.nogil:
            for x in range(n_rows):
                for at in range(self.n_released):
                    c, q = self.released_class[at], self.released_column[at]
                    covers, loss = self._loss_with(c, q, code[x * d + q])
                    self.lost[at], self.gained[at] = loss, INFINITY
                    if covers or reach[x * d + q]:
                        self.gained[at] = max(loss - self.loss[c * d + q], 0.0)
                self._find_nearest(most, best_gain, best_loss, choice + x * most)
        return choices

    def _loss_with(self, c, q, v):
        """Whether class c covers value v of column q as it is, and what it loses with it; a value
        without a code is covered only by what covers anything."""
        column = cython.address(self.columns[q])
        at = c * self.n_columns + q
        positions = self.positions + column.first_position
        if self.is_anything[at] or (v == column.n_codes and self.has_missing[at]):
            return True, self.loss[at]
        if column.form == SET:
            members = self.members + column.first_member + c * column.n_codes
            if 0 <= v < column.n_codes and members[v]:
                return True, self.loss[at]
            return False, (self.n_values[at] + self.has_missing[at] + 1) * positions[0]
        low, high = self.low[at], self.high[at]
        if low <= v <= high:
            return True, self.loss[at]
        if v < 0 or v == column.n_codes or low > high:
            return False, 1.0
        low, high = min(low, v), max(high, v)
        if column.form == INTERVAL:
            return False, positions[high] - positions[low]
        ancestors = self.ancestors + column.first_ancestor
        for level in range(column.n_levels):
            node = ancestors[low * column.n_levels + level]
            if node == ancestors[high * column.n_levels + level]:
                return False, positions[node]
        return False, 1.0

    def _find_nearest(self, most, best_gain, best_loss, choice):
        gained, lost = self.gained, self.lost
        found: cython.Py_ssize_t = 0
        worst: cython.double = INFINITY
        for c in range(self.n_classes):
            released = self.released + c * self.n_columns
            gain: cython.double = 0.0
            for q in range(self.n_columns):
                gain += gained[released[q]]
            if gain == INFINITY or gain > worst:
                continue
            loss: cython.double = 0.0
            for q in range(self.n_columns):
                loss += lost[released[q]]
            at = found
            while at > 0 and (
                gain < best_gain[at - 1] or (gain == best_gain[at - 1] and loss < best_loss[at - 1])
            ):
                at -= 1
            if at == most:
                continue
            found = min(found + 1, most)
            for later in range(found - 1, at, -1):
                best_gain[later] = best_gain[later - 1]
                best_loss[later] = best_loss[later - 1]
                choice[later] = choice[later - 1]
            best_gain[at], best_loss[at], choice[at] = gain, loss, c
            if found == most:
                worst = best_gain[most - 1]
