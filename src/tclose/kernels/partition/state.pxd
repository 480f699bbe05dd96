cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from tclose.kernels.base.memory cimport ConstLongs, Doubles, Ints, Longs, Memory, longs
from tclose.kernels.base.support cimport Support
from tclose.kernels.base.table cimport FAR_CODE, SET, CodedTable, add_cell, count_bits, range_loss

cdef double NO_GAIN  # a loss that is not worth a change

cdef enum:
    NO_MEMBER = -2   # before a cell that no class lists
    NARROW = 62      # codes of a column that a bit each stands for
    PER_CHECK = 40   # values walked in the time that a check takes beside them

@cython.final
cdef class PartitionState(Memory):
    cdef readonly CodedTable table
    cdef readonly object label       # int64 [cells]: the class of each cell; −1: suppressed
    cdef readonly Py_ssize_t capacity
    cdef Longs cell_class
    cdef Longs rows, n_cells         # by class
    cdef Longs low                   # [class, column]: the lowest code; of a set 0
    cdef Longs high                  # [class, column]: the highest code; of a set the number of values
    cdef Longs present               # [class, column]: a bit for each code modulo 64
    cdef Doubles loss                # by class: loss per row, all columns together
    cdef Doubles column_loss         # [class, column]: its part of that
    cdef object owner                # an array by class: itself, or the class that took it in
    cdef Longs merged_into           # the same
    cdef Longs seen, scratch         # room: to count values, to judge a class
    # histograms, where asked for
    cdef Longs histograms            # [class, slot]
    cdef Longs probe                 # [slot]: room for the histogram of a change
    # cells per code, where asked for
    cdef Ints code_cells             # [class, code of the columns with not too many]
    cdef Longs column_start          # −1: of too many
    cdef Py_ssize_t n_codes          # of all those columns
    # members, where they are walked
    cdef Longs first_cell            # by class
    cdef Longs next_cell, previous_cell  # by cell; −1: none, and NO_MEMBER
    cdef readonly Support support
    cdef Longs ids                   # room for the cells of a class
    cdef readonly int64_t walked     # members and slots so far, to count the work
    # classes that come and go, where asked for
    cdef Longs live, free            # the classes in use, the numbers not in use
    cdef Longs live_position         # by class: where it stands among those in use
    cdef readonly Py_ssize_t n_live, n_free

    cdef Longs histogram(self, Py_ssize_t c) noexcept nogil
    cdef void _empty(self, Py_ssize_t c) noexcept nogil
    cdef void _add(self, Py_ssize_t c, int64_t cell) noexcept nogil
    cdef void _count(self, Py_ssize_t c, int64_t cell, int64_t times) noexcept nogil
    cdef void _link(self, Py_ssize_t c, int64_t cell) noexcept nogil
    cdef void _unlink(self, int64_t cell) noexcept nogil
    cdef void _describe(self, Py_ssize_t c) noexcept nogil
    cdef int64_t _count_member_values(self, Py_ssize_t c, Py_ssize_t j) noexcept nogil
    cdef void create(self, ConstLongs cells, Py_ssize_t lo, Py_ssize_t hi) noexcept nogil
    cdef void dissolve(self, Py_ssize_t c) noexcept nogil
    cdef bint keeps(self, Py_ssize_t c) noexcept nogil
    cdef double union_loss(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef double union_cost(self, Py_ssize_t a, Py_ssize_t b, double most) noexcept nogil
    cdef bint union_keeps(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef void merge(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef double loss_if(self, Py_ssize_t c, int64_t gone, int64_t new) noexcept nogil
    cdef bint keeps_if(self, Py_ssize_t c, int64_t gone, int64_t new) noexcept nogil
    cdef bint _members_keep(self, Py_ssize_t c, int64_t gone, int64_t new) noexcept nogil
    cdef bint keep_cells(self, Py_ssize_t count) noexcept nogil
    cdef void exchange(self, Py_ssize_t c, int64_t gone, int64_t new) noexcept nogil
    cdef void remove(self, Py_ssize_t c, int64_t cell) noexcept nogil
    cdef int64_t _count_values(self, Py_ssize_t a, Py_ssize_t b, Py_ssize_t j) noexcept nogil
    cdef (int64_t, int64_t) _range_of_both(
        self, Py_ssize_t a, Py_ssize_t b, Py_ssize_t j
    ) noexcept nogil
    cdef (int64_t, int64_t) _range_if(
        self, Py_ssize_t c, Py_ssize_t j, int64_t gone, int64_t new
    ) noexcept nogil
    cdef (int64_t, int64_t) _range_of_members(
        self, Py_ssize_t c, Py_ssize_t j, int64_t gone, int64_t v
    ) noexcept nogil

@cython.final
cdef class ClassMerger(Memory):
    cdef readonly PartitionState state
    cdef Longs ahead, behind   # the next class along the curve, and the one before; −1: none
    # a tournament for the class that is farthest from the table
    cdef Py_ssize_t n_leaves
    cdef Doubles distance      # by class: EMD over t, the worst of its attributes; KEEPS or GONE
    cdef Longs winner          # by node of the tournament: the farthest class below it

    cdef (Py_ssize_t, int64_t) _choose_partner(
        self, Py_ssize_t c, int64_t neighbours, bint prefer_keeping
    ) noexcept nogil
    cdef void _merge(self, Py_ssize_t c, Py_ssize_t b) noexcept nogil
    cdef void _measure(self, Py_ssize_t c) noexcept nogil
    cdef void _play(self, Py_ssize_t node) noexcept nogil
    cdef void _replay(self, Py_ssize_t c) noexcept nogil

cdef inline bint has_code(PartitionState state, Py_ssize_t c, Py_ssize_t j, int64_t code) noexcept nogil:
    """Whether a class has a code of a column of which cells per code are kept."""
    if state.table.columns[j].n_codes <= NARROW:
        return (state.present[c * state.table.n_columns + j] >> code) & 1
    return state.code_cells[c * state.n_codes + state.column_start[j] + code] > 0
