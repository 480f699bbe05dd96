from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from tclose.kernels.base.memory cimport (
    ConstLongs, Doubles, Ints, Longs, Memory, bytes_of, clear, divide_stably, longs
)
from tclose.kernels.base.random cimport RandomStream, draw
from tclose.kernels.base.table cimport SET, CodedTable, cell_distance, pair_loss

cdef void count_record(CodedTable table, int64_t cell, int64_t times, Longs hist) noexcept nogil

cdef class RecordPool(Memory):
    cdef readonly CodedTable table
    cdef readonly object label            # int64 [records]: the class of each; −1: none yet
    cdef readonly Py_ssize_t n_records, k, block
    cdef readonly Py_ssize_t n_left       # records of the block without a class
    cdef readonly Py_ssize_t next_record  # the first of the next block
    cdef readonly Py_ssize_t n_classes
    cdef Longs cell, record_class         # by record, along the curve
    cdef Longs left                       # the records of the block without a class
    cdef Longs code_count                 # by code of all columns: how many of them have it
    cdef Ints middle                      # by column: the code of their centre
    cdef Py_ssize_t most_near
    cdef Longs near                       # the records nearest to a seed, nearest first, and
    cdef Doubles near_distance            # how far they are
    cdef Longs hist, scratch              # of the class that is being formed

    cdef void _start_block(self) noexcept nogil
    cdef void _find_centre(self) noexcept nogil
    cdef void _count_codes(self, int64_t record, int64_t times) noexcept nogil
    cdef int64_t _farthest_from(self, const int32_t* codes) noexcept nogil
    cdef Py_ssize_t _find_near(self, int64_t seed) noexcept nogil
    cdef int64_t _form_class(self, int64_t seed) noexcept nogil
    cdef int64_t _exchange(self, Py_ssize_t count) noexcept nogil
    cdef void _close_class(self) noexcept nogil

cdef class GroupHalving(Memory):
    cdef readonly CodedTable table
    cdef readonly RandomStream stream
    cdef Longs first_partner, second_partner  # by row: its neighbour along either order; −1: none
    cdef Longs half                           # by row: 0, 1; −1: not known yet
    cdef Longs spare, first_hist, second_hist, scratch
    cdef Ints goes_left                       # by place in a group

    cdef void _part_in_two(
        self, Py_ssize_t lo, Py_ssize_t hi, ConstLongs first, ConstLongs second, bint shifted
    ) noexcept nogil
    cdef void _pair(
        self, Py_ssize_t lo, Py_ssize_t start, Py_ssize_t hi, ConstLongs order, Longs partner
    ) noexcept nogil
    cdef void _walk(self, int64_t row, bint along_second) noexcept nogil
    cdef Py_ssize_t _both_keep(self, Py_ssize_t lo, Py_ssize_t hi, ConstLongs member) noexcept nogil
