from libc.stdint cimport int8_t, int64_t
from tclose.kernels.base.memory cimport Doubles, Longs

cdef enum Shape:
    INTERVAL
    TREE
    SET

cdef struct ShapeColumn:
    int64_t form
    int64_t n_codes         # of known values; that of a missing value comes after them
    int64_t first_position  # where its part of `positions` begins: positions, losses of nodes, or
                            # what one value of a set loses
    int64_t first_ancestor  # where its part of `ancestors` begins
    int64_t n_levels
    int64_t first_member    # where its part of `members` begins

cdef class ClassShapes:
    cdef object owners
    cdef readonly Py_ssize_t n_classes, n_columns, n_released
    cdef ShapeColumn* columns
    cdef Longs low, high      # [class, column]
    cdef Longs n_values       # [class, column]: of a set
    cdef int8_t* has_missing  # [class, column]
    cdef int8_t* is_anything  # [class, column]
    cdef Doubles loss         # [class, column]
    cdef Doubles positions
    cdef Longs ancestors      # by column: [code, level]
    cdef int8_t* members      # by column: [class, code]
    cdef Longs released       # [class, column]: the number of its released value
    cdef Longs released_class  # by released value: a class that has it, and
    cdef Longs released_column  # its column
    cdef Doubles gained, lost  # by released value: what a row adds to its loss, the loss then

    cdef (bint, double) _loss_with(self, Py_ssize_t c, Py_ssize_t q, int64_t v) noexcept nogil
    cdef void _find_nearest(
        self, Py_ssize_t most, Doubles best_gain, Doubles best_loss, Longs choice
    ) noexcept nogil
