# The box of a class that grows cell by cell, and how far two cells are apart.

from libc.stdint cimport int32_t, int64_t

from tclose.kernels.base.memory cimport Longs
from tclose.kernels.base.table cimport CodedTable, pair_loss


cdef enum:
    MASK_BITS = 63  # codes that `present` tells apart; of sets with more, growth may be a lower bound


cdef inline double cell_distance(
    CodedTable table, int64_t x, int64_t y, double most
) noexcept nogil:
    """What two cells lose together, from 0 to the number of columns; beyond `most` not counted on."""
    cdef Py_ssize_t j
    cdef const int32_t* u = table.codes + x * table.n_columns
    cdef const int32_t* v = table.codes + y * table.n_columns
    cdef double total = 0.0
    for j in range(table.n_columns):
        total += pair_loss(table, j, u[j], v[j])
        if total >= most:
            break
    return total


cdef class GrowingBox:
    cdef readonly CodedTable table
    cdef object owners
    cdef Longs low            # by column: the lowest code
    cdef Longs high
    cdef Longs present        # by column: a bit for each code modulo MASK_BITS
    cdef double* width        # by column: what it loses
    cdef double* next_value   # by column: of a set, what one more value would add

    cdef void start(self, int64_t x) noexcept nogil
    cdef void add(self, int64_t x) noexcept nogil
    cdef double growth(self, int64_t x, double most) noexcept nogil
    cdef void _measure(self, Py_ssize_t j) noexcept nogil
