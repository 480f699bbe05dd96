from libc.stdint cimport int64_t, int8_t, uint64_t
from tclose.kernels.base.constraints cimport EMD, ConstraintSet
from tclose.kernels.base.memory cimport Ints, Longs, Memory, bytes_of, clear, doubles, ints, longs

cdef enum ClassState:
    KEPT          # the class keeps the constraints
    FAILS         # it breaks them
    TOO_CLOSE     # it breaks them, but so closely that rounding may be why

cdef struct KeyColumn:
    int64_t word         # the word of the key that holds the column's code
    int64_t shift        # its place in there
    int64_t mask
    int64_t n_codes
    int64_t first_group  # where its tables begin in `group`

cdef class KeyLayout:
    cdef readonly object arrays
    cdef readonly Py_ssize_t n_columns, n_words
    cdef KeyColumn* columns
    cdef Longs group     # level after level of column after column: the group of each code

cdef class Grouping:
    cdef readonly object arrays
    cdef readonly Py_ssize_t n_words, n_classes, n_entries
    cdef Py_ssize_t capacity  # classes that there is room for
    cdef Longs key            # [word, class]
    cdef Longs size           # by class: rows
    cdef Longs start          # by class, and one more: where its entries begin
    cdef Ints slot            # by entry
    cdef Longs count          # by entry

cdef class NodeGrouping(Memory):
    cdef readonly KeyLayout layout
    cdef readonly ConstraintSet strict   # what they accept is kept
    cdef readonly ConstraintSet lenient  # what they refuse is broken; none where strict ones decide
    cdef readonly Grouping made          # the classes of the node
    cdef readonly object owner           # by source class: its class
    cdef readonly object state           # by class: a ClassState
    cdef readonly int64_t small_rows     # rows in classes of fewer than k
    cdef readonly int64_t sum_of_squares  # of all sizes
    cdef readonly int64_t failed_rows, n_failed
    cdef readonly int64_t n_unsure       # classes too near a threshold for the constraints
    cdef readonly double lost_rows       # surely lost at the node and at every finer one
    cdef Longs owners, first_member, next_member, table
    cdef int8_t* states
    cdef Longs hist, touched, scratch

    cdef Py_ssize_t _add_members(self, Grouping source, Py_ssize_t g) noexcept nogil
    cdef void _judge(self, Py_ssize_t g, int64_t size) noexcept nogil
    cdef double _surely_lost(self, int64_t size) noexcept nogil
    cdef void _add_histogram(self, Py_ssize_t g, int64_t times, Longs hist) noexcept nogil
