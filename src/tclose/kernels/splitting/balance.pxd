cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport llabs
from tclose.kernels.base.constraints cimport EMD, ConstraintRow, ConstraintSet
from tclose.kernels.base.memory cimport Doubles, Ints, Longs, Memory
from tclose.kernels.base.table cimport CodedTable, add_cell, weight_of
from tclose.kernels.splitting.split cimport NodeWorkspace

cdef enum:
    MOST_NODES = 64        # of trees; with more, looking at them again and again costs too much
    MOST_CELLS = 400       # of a node; more are shared out well enough by strata
    MOST_CHANGED = 6       # one of so many cells may change sides
    MOST_FAILURES = 4      # cells that do not help after all, before more are looked at
    WALKED_PER_CELL = 2    # slots walked in the time that a cell is looked at

cdef double LEAST_HELP     # a smaller decrease of the excess is rounding

@cython.final
cdef class HalfBalancer(Memory):
    cdef readonly NodeWorkspace node
    cdef CodedTable table
    cdef ConstraintSet constraints
    cdef readonly bint applies       # whether closeness is all that is asked for
    # by half, the left one first: how much nearer it is without a row, by the slot of its value, and
    # how much farther whatever that is
    cdef Doubles relief
    cdef double[2] each
    cdef Doubles change              # by slot: relief of the right half less that of the left
    cdef Longs below                 # by half and node of the trees: rows
    cdef Longs pull, above           # by node: its length with the sign of its excess, and the sum
                                     # of these up to the root
    cdef int64_t left_rows
    cdef double expected             # how much the excess changes with the cell found, to first order
    # by place along the key
    cdef Ints slot                   # [field, place]: of its cell
    cdef Doubles turn                # rows that its cell would take out of the left half, those
                                     # that it would bring in as negative; 0: it has changed sides

    cdef bint balance(
        self, Ints goes_left, const int32_t* by_key, Py_ssize_t border, int64_t left_rows
    ) noexcept nogil
    cdef void _list_cells(self, const int32_t* goes_left, const int32_t* by_key) noexcept nogil
    cdef Py_ssize_t _find_best(self, Py_ssize_t lo, Py_ssize_t hi) noexcept nogil
    cdef double _measure(self) noexcept nogil
    cdef double _measure_half(self, Py_ssize_t side) noexcept nogil
    cdef void _change_side(self, Py_ssize_t p, Ints goes_left) noexcept nogil
