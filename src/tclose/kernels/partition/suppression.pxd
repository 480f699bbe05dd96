# Which cells cost their class more than they are worth.

from libc.stdint cimport int64_t

from tclose.kernels.base.memory cimport ConstLongs, Longs
from tclose.kernels.base.random cimport RandomStream
from tclose.kernels.partition.state cimport PartitionState

cdef enum:
    EDGES = 4  # codes from either end of a column beyond which cells are tried together


cdef struct Edge:
    double saved
    Py_ssize_t column
    bint upper      # whether what lies above it goes, else what lies below
    int64_t code


cdef bint _is_beyond(int64_t code, bint upper, int64_t edge) noexcept nogil


cdef class CellSuppression:
    cdef readonly PartitionState state
    cdef readonly int64_t room  # rows that may still be suppressed

    cdef void _reinstate(
        self, ConstLongs order, Py_ssize_t count, int64_t tries, RandomStream stream
    ) noexcept nogil
    cdef void _suppress(self, ConstLongs order, Py_ssize_t count) noexcept nogil
    cdef void _trim(self, ConstLongs members, ConstLongs ends) noexcept nogil
    cdef bint _trim_class(
        self, Py_ssize_t c, ConstLongs members, Py_ssize_t lo, Py_ssize_t hi
    ) noexcept nogil
    cdef Edge _choose_edge(
        self, Py_ssize_t c, ConstLongs members, Py_ssize_t lo, Py_ssize_t hi
    ) noexcept nogil
    cdef int64_t _next_code(
        self, Py_ssize_t c, ConstLongs members, Py_ssize_t lo, Py_ssize_t hi,
        Py_ssize_t j, bint upper, int64_t code,
    ) noexcept nogil
    cdef (int64_t, double) _measure_without(
        self, Py_ssize_t c, ConstLongs members, Py_ssize_t lo, Py_ssize_t hi, Edge* edge
    ) noexcept nogil
    cdef bint _keeps_without(
        self, Py_ssize_t c, ConstLongs members, Py_ssize_t lo, Py_ssize_t hi, Edge* edge
    ) noexcept nogil
