"""The classes of a release as boxes, and a grid that leaves few of them to try for a row.

Rows are given by their *places*, a number for each column; a released value covers runs of places.
"""

import cython
import numpy as np
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import longs
from numpy.typing import NDArray


class ClassBoxes:
    """What each class covers: a released value in each column, and runs of places of each value."""

    def __init__(self, key, first_value, run_start, run_low, run_high) -> None:
        self.n_classes, self.n_columns = key.shape
        self.n_values = len(run_start)
        self.arrays = [
            np.ascontiguousarray(array, np.int64).reshape(-1)
            for array in (key, first_value, run_start, run_low, run_high)
        ]
        self.key = longs(self.arrays[0])
        self.first_value = longs(self.arrays[1])
        self.run_start = longs(self.arrays[2])
        self.run_low = longs(self.arrays[3])
        self.run_high = longs(self.arrays[4])


class BoxGrid:
    """For each pair of places of two columns (or place of one) the classes that cover it there."""

    def __init__(
        self, boxes: ClassBoxes, first: int, second: int, n_first: int, n_second: int
    ) -> None:
        self.boxes = boxes
        self.first = first
        self.second = second
        self.n_second = n_second
        counts = np.zeros(n_first * n_second + 1, np.int64)
        after = longs(counts) + 1
        with cython.nogil:
            self._visit(boxes, False, after)
        start = np.cumsum(counts)
        classes = np.zeros(int(start[n_first * n_second]), np.int64)
        self.arrays = (start, classes)
        self.start = longs(start)
        self.classes = longs(classes)
        next_spot = start.copy()
        next_spots = longs(next_spot)
        with cython.nogil:
            self._visit(boxes, True, next_spots)

    def add_rows(self, places, weight) -> NDArray[np.int64]:
        """The weight of all rows that each class covers."""
        n_rows: cython.Py_ssize_t = len(places)
        places, weight = np.ascontiguousarray(places, np.int64), np.ascontiguousarray(weight)
        result = np.zeros(self.boxes.n_classes, np.int64)
        place, weights, totals = longs(places.reshape(-1)), longs(weight), longs(result)
        with cython.nogil:
            for row in range(n_rows):
                at = grid_place(self, place)
                for i in range(self.start[at], self.start[at + 1]):
                    if covers(self.boxes, self.classes[i], place):
                        totals[self.classes[i]] += weights[row]
                place += self.boxes.n_columns
        return result

    def _visit(self, boxes, listing, target):
        """Counts the classes of every place of the grid into `target`, or lists them from there."""
        second_place: int64_t = 0
        second_end: int64_t = 1
        for c in range(boxes.n_classes):
            key = boxes.key + c * boxes.n_columns
            value = boxes.first_value[self.first] + key[self.first]
            other: int64_t = 0
            if self.second >= 0:
                other = boxes.first_value[self.second] + key[self.second]
            for run in range(boxes.run_start[value], boxes.run_start[value + 1]):
                for p in range(boxes.run_low[run], boxes.run_high[run]):
                    part = boxes.run_start[other] if self.second >= 0 else 0
                    last = boxes.run_start[other + 1] if self.second >= 0 else 1
                    while part < last:
                        if self.second >= 0:
                            second_place = boxes.run_low[part]
                            second_end = boxes.run_high[part]
                        for at in range(
                            p * self.n_second + second_place, p * self.n_second + second_end
                        ):
                            if listing:
                                self.classes[target[at]] = c
                            target[at] += 1
                        part += 1
