"""The rows that a table rebuilt from classes has in each cell of the original."""

import cython
import numpy as np
from cython.cimports.tclose.kernels.base.memory import doubles, longs
from cython.cimports.tclose.kernels.boxes.covering import BoxGrid, covers, grid_place


def spread_rows(
    grid: BoxGrid, places, cell_start, cell_tuple, class_start, class_tuple, class_rows, density
):
    """What all classes that cover a cell put there: their rows with its sensitive values, spread.

    Cells with the places of combination t are cell_start[t] … cell_start[t + 1] − 1, each with the
    number of its sensitive values in `cell_tuple`; those of class c, ascending, are in
    `class_tuple` from class_start[c] on, with their rows.
    """
    n_combinations: cython.Py_ssize_t = len(places)
    n_columns = grid.boxes.n_columns
    result = np.zeros(len(cell_tuple))
    places = np.ascontiguousarray(places, np.int64).reshape(-1)
    place, cells, wanted = longs(places), longs(cell_start), longs(cell_tuple)
    begin, offered, rows = longs(class_start), longs(class_tuple), doubles(class_rows)
    densities, found = doubles(density), doubles(result)
    with cython.nogil:
        for t in range(n_combinations):
            here = place + t * n_columns
            at = grid_place(grid, here)
            for i in range(grid.start[at], grid.start[at + 1]):
                c = grid.classes[i]
                if not covers(grid.boxes, c, here):
                    continue
                for cell in range(cells[t], cells[t + 1]):
                    low = begin[c]
                    high = begin[c + 1]
                    while low < high:
                        middle = (low + high) // 2
                        if offered[middle] < wanted[cell]:
                            low = middle + 1
                        else:
                            high = middle
                    while low < begin[c + 1] and offered[low] == wanted[cell]:
                        found[cell] += rows[low] * densities[c]
                        low += 1
    return result
