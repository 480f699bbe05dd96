from libc.stdint cimport int64_t
from tclose.kernels.base.memory cimport ConstLongs
from tclose.kernels.partition.state cimport PartitionState

cdef enum:
    EDGES = 4  # codes from either end of a column beyond which cells are tried together

cdef struct Edge:
    double saved
    Py_ssize_t column
    bint upper      # whether what lies above it goes, else what lies below
    int64_t code

cdef bint is_beyond(int64_t code, bint upper, int64_t edge) noexcept nogil

cdef class CellSuppression:
    cdef readonly PartitionState state
    cdef readonly int64_t room      # rows that may still be suppressed
    # the class that is being trimmed, and its cells
    cdef Py_ssize_t number, n_cells
    cdef ConstLongs cells

    cdef bint _trim_class(self) noexcept nogil
    cdef Edge _choose_edge(self) noexcept nogil
    cdef int64_t _next_code(self, Edge* edge) noexcept nogil
    cdef (int64_t, double) _measure_without(self, Edge* edge) noexcept nogil
    cdef bint _keeps_without(self, Edge* edge) noexcept nogil
