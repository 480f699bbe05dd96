"""What two histograms of the same people leave together of a sensitive value."""

import cython
import numpy as np
from cython.cimports.libc.math import fabs
from cython.cimports.tclose.kernels.base.memory import doubles, longs
from numpy.typing import NDArray


def combine_beliefs(
    mine, theirs, table, first, second
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """For each pair of classes: the values left, the strongest belief, how far beliefs moved.

    `mine` and `theirs` are (start, code, count, size) of sparse histograms, `table` the usual
    shares. Both sorted lists of values are walked side by side, twice: to add up, then to compare.
    """
    n_pairs: cython.Py_ssize_t = len(first)
    left = np.zeros(n_pairs, np.int64)
    strongest, moved = np.zeros(n_pairs), np.zeros(n_pairs)
    start1, code1, start2, code2 = (
        longs(mine[0]),
        longs(mine[1]),
        longs(theirs[0]),
        longs(theirs[1]),
    )
    count1, count2, size1, size2 = (
        doubles(mine[2]), doubles(theirs[2]), doubles(mine[3]), doubles(theirs[3])
    )  # fmt: skip
    usually, class1, class2 = doubles(table), longs(first), longs(second)
    values, most, change = longs(left), doubles(strongest), doubles(moved)
    with cython.nogil:
        for pair in range(n_pairs):
            c1 = class1[pair]
            c2 = class2[pair]
            total: cython.double = 0.0
            for again in range(2):
                a = start1[c1]
                b = start2[c2]
                inside: cython.double = 0.0
                while a < start1[c1 + 1] and b < start2[c2 + 1]:
                    if code1[a] < code2[b]:
                        a += 1
                    elif code1[a] > code2[b]:
                        b += 1
                    else:
                        usual = usually[code1[a]]
                        belief = count1[a] / size1[c1] * count2[b] / size2[c2] / usual
                        if again:
                            belief /= total
                            most[pair] = max(most[pair], belief)
                            change[pair] += fabs(belief - usual)
                            inside += usual
                        else:
                            total += belief
                            values[pair] += 1
                        a += 1
                        b += 1
                if again:
                    change[pair] = (change[pair] + 1.0 - inside) / 2
    return left, strongest, moved
