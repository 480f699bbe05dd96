from libc.stdint cimport int64_t
from tclose.kernels.base.memory cimport Doubles, Longs, Memory
from tclose.kernels.partition.state cimport PartitionState

cdef double KEEPS  # in place of a distance: the class keeps the constraints
cdef double GONE   # or it was merged into another

cdef class ClassMerger:
    cdef readonly PartitionState state
    cdef Memory memory
    cdef Longs ahead, behind   # the next class along the curve, and the one before; −1: none
    # a tournament for the class that is farthest from the table
    cdef Py_ssize_t n_leaves
    cdef Doubles distance      # by class: EMD over t, the worst of its attributes
    cdef Longs winner          # by node of the tournament: the farthest class below it

    cdef (Py_ssize_t, int64_t) _choose_partner(
        self, Py_ssize_t c, int64_t neighbours, bint prefer_keeping
    ) noexcept nogil
    cdef void _merge(self, Py_ssize_t c, Py_ssize_t b) noexcept nogil
    cdef void _measure(self, Py_ssize_t c) noexcept nogil
    cdef void _play(self, Py_ssize_t node) noexcept nogil
    cdef void _replay(self, Py_ssize_t c) noexcept nogil
