# Swaps and moves of single cells between classes.

from libc.stdint cimport int64_t

from tclose.kernels.base.memory cimport Longs
from tclose.kernels.base.random cimport RandomStream
from tclose.kernels.partition.state cimport PartitionState


cdef class CellSwaps:
    cdef readonly PartitionState state
    cdef readonly RandomStream stream
    cdef object owners
    cdef Longs tie              # by cell: a number for its sensitive values
    cdef Longs peers            # the cells by their sensitive values, and
    cdef Longs first_peer       # where each combination of these begins
    cdef Longs suppressed       # the suppressed cells likewise
    cdef Longs first_suppressed
    cdef Longs position         # by cell: where it stands among the suppressed

    cdef double _try_change(self, int64_t x, int64_t y, Py_ssize_t b) noexcept nogil
    cdef double _try_reinstating(self, int64_t x, int64_t tries) noexcept nogil
    cdef (double, int64_t) _improve(self, int64_t steps, int64_t tries) noexcept nogil
