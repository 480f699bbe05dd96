"""Where the numbers of an array begin, by the buffer protocol, and what keeps arrays alive."""

import cython
import numpy as np


def find_start(array, kinds, size):
    """The first number of an array of one of these types, whose numbers take so many bytes."""
    view: cython.Py_buffer
    PyObject_GetBuffer(array, cython.address(view), PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    start = view.buf
    fits = view.itemsize == size and view.format.decode() in kinds
    PyBuffer_Release(cython.address(view))
    if not fits:
        raise TypeError("a kernel was given numbers of another type than it reads")
    return start


class Memory:
    """Owns arrays. A class with pointers into arrays of its own is a Memory, and keeps them so."""

    def __cinit__(self) -> None:
        self.kept = []

    def keep(self, array):
        """Keeps an array alive; returns it."""
        self.kept.append(array)
        return array

    def longs(self, count):
        """So many zeros."""
        return longs(self.keep(np.zeros(max(count, 1), np.int64)))

    def ints(self, count):
        """So many zeros, of 32 bits."""
        return ints(self.keep(np.zeros(max(count, 1), np.int32)))

    def doubles(self, count):
        """So many zeros, as floats."""
        return doubles(self.keep(np.zeros(max(count, 1))))

    def longs_of(self, array):
        """The numbers of an array, row by row; copied only where they are not laid out so."""
        return longs(self.keep(np.ascontiguousarray(array, np.int64).reshape(-1)))

    def doubles_of(self, array):
        """The same as floats."""
        return doubles(self.keep(np.ascontiguousarray(array, np.float64).reshape(-1)))
