"""How near people come to the boxes of classes, on a line for each column."""

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, fabs
from cython.cimports.tclose.kernels.base.memory import doubles, longs
from cython.cimports.tclose.kernels.boxes.covering import BoxGrid, grid_place
from numpy.typing import NDArray

LEAST_GAP = 1e-9  # of a person whom a class does not cover, though it lies on both sides


class BoxGaps:
    """Boxes whose places and ends have positions, so that gaps to them can be measured."""

    def __init__(self, boxes, first_position, position, ends) -> None:
        self.boxes = boxes
        self.arrays = (first_position, position, np.ascontiguousarray(ends).reshape(-1))
        self.first_position = longs(first_position)
        self.position = doubles(position)
        self.ends = doubles(self.arrays[2])

    def between(self, places, number) -> NDArray[np.float64]:
        """The gap between each person and the class beside it."""
        n_people: cython.Py_ssize_t = len(places)
        result = np.zeros(n_people)
        places, number = np.ascontiguousarray(places), np.ascontiguousarray(number)
        place, classes, gaps = longs(places.reshape(-1)), longs(number), doubles(result)
        with cython.nogil:
            for t in range(n_people):
                here = place + t * self.boxes.n_columns
                gaps[t] = self._gap(here, classes[t], INFINITY)
        return result

    def nearest(self, grid: BoxGrid, places, volume, size):
        """For each person the smallest gap, the smallest volume at that gap, and the rows there.

        First among the classes that cover a person in two columns; all, where none covers it.
        """
        n_people: cython.Py_ssize_t = len(places)
        places = np.ascontiguousarray(places, np.int64).reshape(-1)
        gap, narrow = np.full(n_people, np.inf), np.full(n_people, np.inf)
        rows = np.zeros(n_people)
        place, volumes, sizes = longs(places), doubles(volume), doubles(size)
        gaps, narrowest, held = doubles(gap), doubles(narrow), doubles(rows)
        with cython.nogil:
            for t in range(n_people):
                here = place + t * self.boxes.n_columns
                at = grid_place(grid, here)
                for everywhere in range(2):
                    count = grid.start[at + 1] - grid.start[at]
                    if everywhere:
                        count = self.boxes.n_classes
                    for i in range(count):
                        c = i if everywhere else grid.classes[grid.start[at] + i]
                        away = self._gap(here, c, gaps[t] if everywhere else 0.0)
                        if not everywhere and away > 0.0:
                            continue
                        if away < gaps[t] or (away == gaps[t] and volumes[c] < narrowest[t]):
                            gaps[t] = away
                            narrowest[t] = volumes[c]
                            held[t] = sizes[c]
                        elif away == gaps[t] and volumes[c] == narrowest[t]:
                            held[t] += sizes[c]
                    if gaps[t] == 0.0:
                        break
        return gap, narrow, rows

    def _gap(self, place, c, most):
        """How far a person lies outside a class, all columns together; stops beyond `most`."""
        total: cython.double = 0.0
        for q in range(self.boxes.n_columns):
            value = self.boxes.first_value[q] + self.boxes.key[c * self.boxes.n_columns + q]
            total += self._column_gap(q, place[q], value)
            if total > most:
                break
        return total

    def _column_gap(self, q, place, value):
        """How far a place lies outside a released value; a missing one has no position."""
        positions = self.position + self.first_position[q]
        mine = positions[place]
        lower = self.ends[2 * value]
        upper = self.ends[2 * value + 1]
        if lower == upper and mine == mine:  # one number, which may be central
            return fabs(mine - lower)
        least: cython.double = 1.0
        for run in range(self.boxes.run_start[value], self.boxes.run_start[value + 1]):
            if self.boxes.run_low[run] <= place < self.boxes.run_high[run]:
                return 0.0
            if mine == mine:
                away = max(
                    positions[self.boxes.run_low[run]] - mine,
                    mine - positions[self.boxes.run_high[run] - 1],
                )
                if away == away:
                    least = min(least, max(away, LEAST_GAP))
        if mine == mine and lower == lower:
            least = max(max(lower - mine, mine - upper), LEAST_GAP)
        return least
