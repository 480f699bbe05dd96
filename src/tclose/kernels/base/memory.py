"""Where the numbers of an array begin, by the buffer protocol."""

import cython
from cython.cimports.cpython.buffer import (
    PyBUF_C_CONTIGUOUS,
    PyBUF_FORMAT,
    PyBuffer_Release,
    PyObject_GetBuffer,
)


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
