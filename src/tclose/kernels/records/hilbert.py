"""The places of points of a grid on a Hilbert curve."""

import cython
import numpy as np
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import longs
from numpy.typing import NDArray


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
