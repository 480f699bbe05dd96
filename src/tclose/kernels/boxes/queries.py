"""Random counting queries, answered from rows and estimated from the boxes of classes."""

import cython
import numpy as np
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import doubles, longs
from numpy.typing import NDArray


class Queries:
    """Half-open ranges of places in every column, and of one sensitive attribute's codes."""

    def __init__(self, low, high, attribute, part) -> None:
        self.n_queries, self.n_columns = low.shape
        self.arrays = [
            np.ascontiguousarray(array, np.int64).reshape(-1)
            for array in (low, high, attribute, part)
        ]
        self.low = longs(self.arrays[0])
        self.high = longs(self.arrays[1])
        self.attribute = longs(self.arrays[2])
        self.part = longs(self.arrays[3])

    def count(self, places, codes, weight) -> NDArray[np.float64]:
        """The weight of the cells that fulfil every condition of each query."""
        n_cells: cython.Py_ssize_t = len(weight)
        n_attributes: cython.Py_ssize_t = codes.shape[1]
        places, codes = _flat(places), _flat(codes)
        result = np.zeros(self.n_queries)
        place, code, weights, totals = longs(places), longs(codes), doubles(weight), doubles(result)
        with cython.nogil:
            for query in range(self.n_queries):
                low = self.low + query * self.n_columns
                high = self.high + query * self.n_columns
                total: cython.double = 0.0
                for cell in range(n_cells):
                    here = place + cell * self.n_columns
                    inside: cython.bint = self._asks_for(query, code + cell * n_attributes)
                    q: cython.Py_ssize_t = 0
                    while inside and q < self.n_columns:
                        inside = low[q] <= here[q] < high[q]
                        q += 1
                    if inside:
                        total += weights[cell]
                totals[query] = total
        return result

    def estimate(self, boxes: ClassBoxes, width, n_places, start, codes, weight, size):
        """Class by class, the share of its box that a query covers times its rows, added up.

        `width` says how many places each released value covers, `n_places` how many there are in
        each column; the cells of class c are start[c] … start[c + 1] − 1.
        """
        n_attributes: cython.Py_ssize_t = codes.shape[1]
        codes, n_places, start = _flat(codes), _flat(n_places), _flat(start)
        asked, covered = np.zeros(self.n_columns, np.int64), np.zeros(boxes.n_values)
        result = np.zeros(self.n_queries)
        code, places, starts, columns = longs(codes), longs(n_places), longs(start), longs(asked)
        widths, share, sizes = doubles(width), doubles(covered), doubles(size)
        weights, totals = doubles(weight), doubles(result)
        with cython.nogil:
            for query in range(self.n_queries):
                n_asked = self._cover_values(query, boxes, places, widths, columns, share)
                total: cython.double = 0.0
                for c in range(boxes.n_classes):
                    part: cython.double = 1.0
                    for i in range(n_asked):
                        q = columns[i]
                        value = boxes.first_value[q] + boxes.key[c * boxes.n_columns + q]
                        part *= share[value]
                        if part == 0.0:
                            break
                    if part == 0.0:
                        continue
                    if self.attribute[query] < 0:
                        total += part * sizes[c]
                        continue
                    rows: cython.double = 0.0
                    for cell in range(starts[c], starts[c + 1]):
                        if self._asks_for(query, code + cell * n_attributes):
                            rows += weights[cell]
                    total += part * rows
                totals[query] = total
        return result

    def _asks_for(self, query, codes):
        """Whether a cell with these sensitive codes is asked for."""
        attribute = self.attribute[query]
        if attribute < 0:
            return True
        return self.part[2 * query] <= codes[attribute] < self.part[2 * query + 1]

    def _cover_values(self, query, boxes, n_places, width, asked, covered):
        """The share of every released value that a query covers, in the columns that it asks for.

        Those columns go into `asked`; returns how many they are.
        """
        n_asked: cython.Py_ssize_t = 0
        for q in range(self.n_columns):
            low = self.low[query * self.n_columns + q]
            high = self.high[query * self.n_columns + q]
            if low == 0 and high == n_places[q]:
                continue
            asked[n_asked] = q
            n_asked += 1
            last = boxes.first_value[q + 1] if q + 1 < self.n_columns else boxes.n_values
            for value in range(boxes.first_value[q], last - 1):
                found: int64_t = 0
                for run in range(boxes.run_start[value], boxes.run_start[value + 1]):
                    begin = max(boxes.run_low[run], low)
                    end = min(boxes.run_high[run], high)
                    found += max(end - begin, 0)
                covered[value] = found / width[value]
        return n_asked


def _flat(array):
    return np.ascontiguousarray(array, np.int64).reshape(-1)
