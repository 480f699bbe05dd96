"""Rows put in order by counting their keys."""

import cython
import numpy as np
from cython.cimports.tclose.kernels.base.memory import longs


def sort_by_counting(key, order, span: int):
    """`order` rearranged by `key[order]`, equal keys as they stood; keys are below `span`."""
    n_keys: cython.Py_ssize_t = len(key)
    n_rows: cython.Py_ssize_t = len(order)
    n_counts: cython.Py_ssize_t = span + 1
    first, result = np.zeros(n_counts, np.int64), np.empty_like(order)
    keys, rows, next_place, sorted_rows = longs(key), longs(order), longs(first), longs(result)
    with cython.nogil:
        for i in range(n_keys):
            next_place[keys[i] + 1] += 1
        for v in range(1, n_counts):
            next_place[v] += next_place[v - 1]
        for i in range(n_rows):
            row = rows[i]
            k = keys[row]
            sorted_rows[next_place[k]] = row
            next_place[k] += 1
    return result
