cimport cython
from libc.stdint cimport int64_t
from libc.stdlib cimport llabs
from tclose.kernels.base.constraints cimport (
    EMD, ConstraintRow, ConstraintSet, hidden_rows, is_too_small
)
from tclose.kernels.base.memory cimport ConstLongs, Longs, Memory, clear, longs, sort_ascending
from tclose.kernels.base.table cimport CodedTable, add_cell

cdef enum:
    SPARSE = 4  # so many times more slots, or nodes, than are met: only those that are met are walked
    STEPS_PER_ENTRY = 12  # to find an entry, or to judge it, in slots walked

@cython.final
cdef class Support(Memory):
    cdef readonly CodedTable table
    cdef ConstraintSet constraints
    cdef readonly bint is_sparse      # else every slot may be met
    cdef readonly int64_t walked      # slots and nodes so far, to count the work
    cdef Longs slots, slot_mark       # those that are met; by slot: the mark of the last time it was
    cdef Py_ssize_t n_slots
    cdef int64_t mark
    cdef Longs scratch
    # by constraint
    cdef Longs first_entry, end_entry  # its part of the entries; none: its whole tree is walked
    # by entry: a node where rows enter a chain of nodes, those of a constraint ascending
    cdef Longs entry, node_mark
    cdef Longs stop                    # one past the last node that has no other rows below
    cdef Longs into                    # the entry that its rows go on to; −1: none

    cdef void find(self, ConstLongs cells, Py_ssize_t count) noexcept nogil
    cdef Py_ssize_t _find_entries(self, ConstraintRow* row, Py_ssize_t first) noexcept nogil
    cdef void clear(self, Longs hist) noexcept nogil
    cdef void subtract(self, ConstLongs whole, ConstLongs part, Longs rest) noexcept nogil
    cdef int64_t add_up(self, ConstLongs cells, Py_ssize_t count, Longs hist) noexcept nogil
    cdef bint keeps(self, ConstLongs hist, int64_t rows) noexcept nogil
    cdef bint keeps_one(self, Py_ssize_t at, ConstLongs hist, int64_t rows) noexcept nogil
    cdef double slack(self, ConstLongs hist, int64_t rows) noexcept nogil
    cdef bint _is_exact(
        self, Py_ssize_t at, ConstLongs hist, int64_t rows
    ) noexcept nogil
    cdef int64_t _whole(self, ConstraintRow* row, ConstLongs hist, int64_t rows) noexcept nogil
    cdef int64_t _work(self, Py_ssize_t at, ConstLongs hist, int64_t rows) noexcept nogil
    cdef bint keep_cells(self, ConstLongs cells, Py_ssize_t count, Longs hist) noexcept nogil
