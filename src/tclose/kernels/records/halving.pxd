# Groups of rows judged, and halved along two orders at once.

from libc.stdint cimport int64_t

from tclose.kernels.base.memory cimport ConstLongs, Longs
from tclose.kernels.base.random cimport RandomStream
from tclose.kernels.base.table cimport CodedTable


cdef class GroupHalving:
    cdef readonly CodedTable table
    cdef readonly RandomStream stream
    cdef object owners
    cdef Longs partner_of_first   # by row: its neighbour along one order; −1: none
    cdef Longs partner_of_second  # by row: its neighbour along the other
    cdef Longs half               # by row: 0, 1; −1: not known yet
    cdef Longs spare
    cdef Longs first_hist
    cdef Longs second_hist
    cdef Longs scratch

    cdef void _count(self, int64_t row, Longs hist) noexcept nogil
    cdef int64_t _halve(
        self, Py_ssize_t n_groups, Longs starts, Longs ends, Longs orders, Py_ssize_t n_orders,
        Longs result,
    ) noexcept nogil
    cdef void _part_in_two(
        self, Py_ssize_t lo, Py_ssize_t hi, ConstLongs first, ConstLongs second, bint shifted
    ) noexcept nogil
    cdef void _pair(
        self, Py_ssize_t lo, Py_ssize_t hi, ConstLongs order, Longs partner
    ) noexcept nogil
    cdef void _walk(self, int64_t row, bint along_second) noexcept nogil
    cdef Py_ssize_t _both_keep(
        self, Py_ssize_t lo, Py_ssize_t hi, ConstLongs member
    ) noexcept nogil
    cdef void _divide(
        self, Py_ssize_t lo, Py_ssize_t hi, Py_ssize_t left, Longs member
    ) noexcept nogil
