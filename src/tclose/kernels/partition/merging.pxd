# Classes along a space-filling curve, merged where they fail.

from libc.stdint cimport int64_t

from tclose.kernels.base.memory cimport Longs
from tclose.kernels.partition.state cimport PartitionState


cdef double KEEPS  # in place of a distance: the class keeps the constraints
cdef double GONE   # or it was merged into another


cdef class ClassMerger:
    cdef readonly PartitionState state
    cdef object owners
    cdef Longs ahead           # the next class along the curve; −1: none
    cdef Longs behind
    # a tournament for the class that is farthest from the table
    cdef Py_ssize_t n_leaves
    cdef double* distance      # by class: EMD over t, the worst of its attributes
    cdef Longs winner          # by node of the tournament: the farthest class below it

    cdef (Py_ssize_t, int64_t) _choose_partner(
        self, Py_ssize_t c, int64_t neighbours, bint prefer_keeping
    ) noexcept nogil
    cdef void _merge(self, Py_ssize_t c, Py_ssize_t b) noexcept nogil
    cdef (Py_ssize_t, int64_t, int64_t) _merge_failing(
        self, Py_ssize_t first, int64_t neighbours, int64_t effort
    ) noexcept nogil
    cdef void _start_tournament(self) noexcept nogil
    cdef void _measure(self, Py_ssize_t c) noexcept nogil
    cdef void _play(self, Py_ssize_t node) noexcept nogil
    cdef void _replay(self, Py_ssize_t c) noexcept nogil
    cdef int64_t _merge_farthest(self, int64_t neighbours, int64_t most) noexcept nogil
