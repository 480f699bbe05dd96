# Random counting queries, answered by rows and by classes.

from libc.stdint cimport int64_t

from tclose.kernels.base.memory cimport Longs
from tclose.kernels.boxes.covering cimport ClassBoxes


cdef class Queries:
    cdef readonly object arrays
    cdef Py_ssize_t n_queries, n_columns
    cdef Longs low        # [query, column]: a half-open range of places
    cdef Longs high
    cdef Longs attribute  # by query: the sensitive attribute that it asks for; −1: none
    cdef Longs part       # [query, 2]: a half-open range of that attribute's codes

    cdef bint _asks_for(self, Py_ssize_t query, const int64_t* codes) noexcept nogil
    cdef Py_ssize_t _cover_values(
        self, Py_ssize_t query, ClassBoxes boxes, Longs n_places, double* width,
        Longs asked, double* covered,
    ) noexcept nogil
