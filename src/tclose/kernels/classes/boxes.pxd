from libc.stdint cimport int64_t
from tclose.kernels.base.memory cimport ConstLongs, Doubles, Longs, Memory

cdef double LEAST_GAP

cdef class ClassBoxes:
    cdef Memory memory
    cdef readonly Py_ssize_t n_classes, n_columns, n_values
    cdef Longs key          # [class, column]: the released value
    cdef Longs first_value  # by column: where its released values begin in `run_start`
    cdef Longs run_start    # by released value, one more for each column: where its runs begin
    cdef Longs run_low, run_high  # by run: its first place, and one past its last

cdef int64_t value_of(ClassBoxes boxes, int64_t c, Py_ssize_t q) noexcept nogil
cdef bint covers(ClassBoxes boxes, int64_t c, ConstLongs place) noexcept nogil

cdef class BoxGrid:
    cdef readonly ClassBoxes boxes
    cdef Memory memory
    cdef Py_ssize_t first, second  # the columns of the grid; a second of −1: none
    cdef int64_t n_second          # places of the second column
    cdef Longs start               # by place of the grid, and one more: where its classes begin
    cdef Longs classes

    cdef void _visit(self, bint listing, Longs target) noexcept nogil
    cdef int64_t place_of(self, ConstLongs place) noexcept nogil

cdef class BoxGaps:
    cdef readonly ClassBoxes boxes
    cdef Memory memory
    cdef Longs first_position  # by column: where its positions begin
    cdef Doubles position      # by place: where it lies on the column's line; none: NaN
    cdef Doubles ends          # [released value, 2]: the ends of what it covers; none: NaN

    cdef double _gap(self, ConstLongs place, int64_t c, double most) noexcept nogil
    cdef double _column_gap(self, Py_ssize_t q, int64_t place, int64_t value) noexcept nogil

cdef class Queries:
    cdef Memory memory
    cdef Py_ssize_t n_queries, n_columns
    cdef Longs low, high  # [query, column]: a half-open range of places
    cdef Longs attribute  # by query: the sensitive attribute that it asks for; −1: none
    cdef Longs part       # [query, 2]: a half-open range of that attribute's codes

    cdef bint _asks_for(self, Py_ssize_t query, ConstLongs codes) noexcept nogil
    cdef Py_ssize_t _cover_values(
        self, Py_ssize_t query, ClassBoxes boxes, Longs n_places, Doubles width,
        Longs asked, Doubles covered,
    ) noexcept nogil
