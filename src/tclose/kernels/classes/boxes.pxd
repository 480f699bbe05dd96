from libc.math cimport INFINITY, fabs
from libc.stdint cimport int8_t, int64_t
from tclose.kernels.base.memory cimport ConstLongs, Doubles, Longs, Memory, bytes_of, doubles, longs

cdef class ClassBoxes(Memory):
    cdef readonly Py_ssize_t n_classes, n_columns, n_values
    cdef Longs key          # [class, column]: the released value
    cdef Longs first_value  # by column: where its released values begin in `run_start`
    cdef Longs run_start    # by released value, one more for each column: where its runs begin
    cdef Longs run_low, run_high  # by run: its first place, and one past its last

cdef int64_t value_of(ClassBoxes boxes, int64_t c, Py_ssize_t q) noexcept nogil
cdef bint covers(ClassBoxes boxes, int64_t c, ConstLongs place) noexcept nogil

cdef class BoxGrid(Memory):
    cdef readonly ClassBoxes boxes
    cdef Py_ssize_t first, second  # the columns of the grid; a second of −1: none
    cdef int64_t n_second          # places of the second column
    cdef Longs start, classes      # by place of the grid, and one more: where its classes begin

    cdef void _visit(self, bint listing, Longs target) noexcept nogil
    cdef int64_t place_of(self, ConstLongs place) noexcept nogil

cdef class BoxGaps(Memory):
    cdef readonly ClassBoxes boxes
    cdef Longs first_position  # by column: where its positions begin
    cdef Doubles position      # by place: where it lies on the column's line; none: NaN
    cdef Doubles ends          # [released value, 2]: the ends of what it covers; none: NaN

    cdef double _gap(self, ConstLongs place, int64_t c, double most) noexcept nogil
    cdef double _column_gap(self, Py_ssize_t q, int64_t place, int64_t value) noexcept nogil

cdef class Queries(Memory):
    cdef Py_ssize_t n_queries, n_columns
    cdef Longs low, high  # [query, column]: a half-open range of places
    cdef Longs attribute  # by query: the sensitive attribute that it asks for; −1: none
    cdef Longs part       # [query, 2]: a half-open range of that attribute's codes

    cdef bint _asks_for(self, Py_ssize_t query, ConstLongs codes) noexcept nogil
    cdef Py_ssize_t _cover_values(
        self, Py_ssize_t query, ClassBoxes boxes, Longs n_places, Doubles width,
        Longs asked, Doubles covered,
    ) noexcept nogil

cdef enum Shape:
    INTERVAL, TREE, SET

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
    # [class, column]
    cdef Longs low, high, n_values  # the codes that are covered; of a set how many
    cdef int8_t *has_missing, *is_anything
    cdef Doubles loss
    cdef Doubles positions
    cdef Longs ancestors      # by column: [code, level]
    cdef int8_t* members      # by column: [class, code]
    cdef Longs released       # [class, column]: the number of its released value
    cdef Longs released_class, released_column  # by released value: a class that has it, its column
    cdef Doubles gained, lost  # by released value: what a row adds to its loss, the loss then

    cdef (bint, double) _loss_with(self, Py_ssize_t c, Py_ssize_t q, int64_t v) noexcept nogil
    cdef void _find_nearest(
        self, Py_ssize_t most, Doubles best_gain, Doubles best_loss, Longs choice
    ) noexcept nogil
