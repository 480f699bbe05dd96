# Records gathered around the farthest of those left (MDAV).

from libc.stdint cimport int64_t

from tclose.kernels.base.memory cimport Longs
from tclose.kernels.base.table cimport CodedTable


cdef class RecordPool:
    cdef readonly CodedTable table
    cdef readonly object label            # int64 [records]: the class of each; −1: none yet
    cdef object owners
    cdef readonly Py_ssize_t n_records
    cdef readonly Py_ssize_t k, block
    cdef readonly Py_ssize_t n_left       # records of the block without a class
    cdef readonly Py_ssize_t next_record  # the first of the next block
    cdef readonly Py_ssize_t n_classes
    cdef Longs cell                       # by record, along the curve
    cdef Longs record_class
    cdef Longs left                       # the records of the block without a class
    cdef Longs code_count                 # by code of all columns: how many of them have it
    cdef Longs middle                     # by column: the code of their centre
    cdef Py_ssize_t most_near
    cdef Longs near                       # the records nearest to a seed, nearest first
    cdef double* near_distance
    cdef Longs hist                       # of the class that is being formed
    cdef Longs scratch

    cdef int64_t _gather(self, int64_t effort) noexcept nogil
    cdef void _start_block(self) noexcept nogil
    cdef void _find_centre(self) noexcept nogil
    cdef int64_t _farthest_from_centre(self) noexcept nogil
    cdef int64_t _farthest_from(self, int64_t record) noexcept nogil
    cdef Py_ssize_t _find_near(self, int64_t seed) noexcept nogil
    cdef int64_t _form_class(self, int64_t seed) noexcept nogil
    cdef int64_t _exchange(self, Py_ssize_t count) noexcept nogil
    cdef void _count(self, int64_t record, int64_t times) noexcept nogil
    cdef void _close_class(self) noexcept nogil
