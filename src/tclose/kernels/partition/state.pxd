from libc.stdint cimport int64_t
from tclose.kernels.base.memory cimport ConstLongs, Doubles, Ints, Longs, Memory
from tclose.kernels.base.table cimport CodedTable

cdef double NO_GAIN  # a loss that is not worth a change

cdef class PartitionState:
    cdef readonly CodedTable table
    cdef readonly object label       # int64 [cells]: the class of each cell; −1: suppressed
    cdef Memory memory
    cdef readonly Py_ssize_t capacity
    cdef Longs cell_class
    cdef Longs rows, n_cells         # by class
    cdef Longs low                   # [class, column]: the lowest code; of a set 0
    cdef Longs high                  # [class, column]: the highest code; of a set the number of values
    cdef Longs present               # [class, column]: a bit for each code modulo 64
    cdef Doubles loss                # by class: loss per row, all columns together
    cdef object owner                # an array by class: itself, or the class that took it in
    cdef Longs merged_into           # the same
    cdef Longs scratch
    cdef Longs seen                  # by code: room to count values
    # histograms, where asked for
    cdef Longs histograms            # [class, slot]
    cdef Longs probe                 # [slot]: room for the histogram of a change
    # cells per code, where asked for
    cdef Ints code_cells         # [class, code of all columns]
    cdef Longs column_start
    # members, where asked for: classes come and go
    cdef Longs first_cell            # by class
    cdef Longs next_cell             # by cell; −1 after the last
    cdef Longs live, free            # the classes in use, the numbers not in use
    cdef Longs live_position         # by class: where it stands among those in use
    cdef readonly Py_ssize_t n_live, n_free

    cdef Longs histogram(self, Py_ssize_t c) noexcept nogil
    cdef void _empty_box(self, Py_ssize_t c) noexcept nogil
    cdef void _widen_box(self, Py_ssize_t c, int64_t cell) noexcept nogil
    cdef void _describe_boxes(self, Py_ssize_t c) noexcept nogil
    cdef int64_t _count_member_values(self, Py_ssize_t c, Py_ssize_t j) noexcept nogil
    cdef void create(self, ConstLongs cells, Py_ssize_t lo, Py_ssize_t hi) noexcept nogil
    cdef void dissolve(self, Py_ssize_t c) noexcept nogil
    cdef bint keeps(self, Py_ssize_t c) noexcept nogil
    cdef double union_loss(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef double union_cost(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef bint union_keeps(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef void merge(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef int64_t _count_union_values(self, Py_ssize_t a, Py_ssize_t b, Py_ssize_t j) noexcept nogil
    cdef (int64_t, int64_t) _box_if(
        self, Py_ssize_t c, Py_ssize_t j, int64_t gone, int64_t new
    ) noexcept nogil
    cdef double loss_if(self, Py_ssize_t c, int64_t gone, int64_t new) noexcept nogil
    cdef bint keeps_if(self, Py_ssize_t c, int64_t gone, int64_t new) noexcept nogil
    cdef void exchange(self, Py_ssize_t c, int64_t gone, int64_t new) noexcept nogil
    cdef void remove(self, Py_ssize_t c, int64_t cell) noexcept nogil
