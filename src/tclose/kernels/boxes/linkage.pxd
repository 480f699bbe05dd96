# How near people come to the boxes of classes.

from libc.stdint cimport int64_t

from tclose.kernels.base.memory cimport ConstLongs, Longs
from tclose.kernels.boxes.covering cimport BoxGrid, ClassBoxes

cdef double LEAST_GAP


cdef class BoxGaps:
    cdef readonly ClassBoxes boxes
    cdef readonly object arrays
    cdef Longs first_position  # by column: where its positions begin
    cdef double* position      # by place: where it lies on the column's line; none: NaN
    cdef double* ends          # [released value, 2]: the ends of what it covers; none: NaN

    cdef double _gap(self, ConstLongs place, int64_t c, double most) noexcept nogil
    cdef double _column_gap(
        self, Py_ssize_t q, int64_t place, int64_t value
    ) noexcept nogil
