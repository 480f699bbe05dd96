cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from tclose.kernels.base.memory cimport ConstLongs, Doubles, Longs, Memory
from tclose.kernels.base.random cimport RandomStream, draw
from tclose.kernels.base.table cimport FAR_CODE, SET, cell_distance, count_alike, range_loss
from tclose.kernels.partition.state cimport NO_GAIN, PartitionState, has_code

cdef enum:
    MOST_LEAVING = 6     # cells that may hold a border together and leave it
    WAYS = 8             # so many visits try once to dissolve a class, and once to gather one,
    SMALL_CLASS = 10     # of at most so many cells,
    MOST_GATHERED = 24   # from so many cells near one
    MOST_NEAR = 6        # classes whose cells a leaving cell is tried in the place of,
    NEAR_CELLS = 40      # and how many cells of them
    WALKED_PER_STEP = 4  # members and values walked in the time of a step

cdef struct NearClass:
    Py_ssize_t number
    double cost  # of a cell that enters it

@cython.final
cdef class CellSwaps(Memory):
    cdef readonly PartitionState state
    cdef readonly RandomStream stream
    cdef Longs tie                # by cell: a number for its sensitive values
    cdef Longs peers, first_peer  # the cells by their sensitive values, and where each tie begins
    cdef Longs suppressed, first_suppressed  # the suppressed cells likewise
    cdef Longs position           # by cell: where it stands among the suppressed

    cdef Longs place              # by cell: where it stands among all by their sensitive values
    cdef Longs numbers            # the classes in use, where the state does not keep them
    cdef Py_ssize_t n_numbers
    cdef bint has_wide_sets
    cdef readonly int64_t work    # steps
    # the cells of a class that leave it, where those went that have left, and whom they were
    # exchanged for (−1: nobody), what filled their places (−1: nothing), and the class it came
    # from; the box and the loss per row without those still to leave
    cdef int64_t[SMALL_CLASS] leaving, entered, taken, filling, source
    cdef Py_ssize_t next_leaving, n_leaving
    cdef Longs low, high
    cdef Doubles width            # by column: what each loses, all together `loss_without`
    cdef double loss_without
    cdef double before            # what the class loses, less what the places so far have cost
    # the best place for the next: a class, and a cell to be exchanged for (−1: none)
    cdef double best_saved
    cdef int64_t best_cell, best_filler
    cdef Py_ssize_t best_class, best_source
    # the best cell to fill its place (−1: none), what that saves here and in the class it leaves
    cdef double filled
    cdef int64_t filler
    cdef Py_ssize_t filler_class
    # the classes, of those looked at, that lose least more with it, and room for their cells
    cdef NearClass[MOST_NEAR] near
    cdef Py_ssize_t n_near, near_room
    # and near cells that their classes can spare, and how far they are
    cdef Longs near_cells
    cdef double[MOST_GATHERED] far
    cdef Py_ssize_t n_near_cells
    cdef int64_t chosen           # the class or cell that was found best

    cdef double _improve_place(self, int64_t x, int64_t reach) noexcept nogil
    cdef bint _can_leave(self, int64_t x) noexcept nogil
    cdef void _forget_places(self) noexcept nogil
    cdef double _clear_border(self, int64_t x, int64_t reach) noexcept nogil
    cdef double _dissolve(self, Py_ssize_t a) noexcept nogil
    cdef double _choose_class(
        self, int64_t x, Py_ssize_t a, double most, bint must_keep
    ) noexcept nogil
    cdef double _gather(self, int64_t x) noexcept nogil
    cdef double _choose_cell(self, Py_ssize_t c) noexcept nogil
    cdef void _find_near_cells(self, int64_t x) noexcept nogil
    cdef bint _find_holders(self, int64_t x) noexcept nogil
    cdef void _measure_without(self, Py_ssize_t a) noexcept nogil
    cdef bint _is_leaving(self, int64_t cell) noexcept nogil
    cdef bint _is_last_of_value(self, Py_ssize_t a, Py_ssize_t j, Py_ssize_t q) noexcept nogil
    cdef bint _has_value_without(self, Py_ssize_t a, Py_ssize_t j, int64_t code) noexcept nogil
    cdef void _return_all(self, Py_ssize_t a) noexcept nogil
    cdef void _look_anywhere(self, int64_t x, int64_t reach) noexcept nogil
    cdef void _look_nearby(self, int64_t x) noexcept nogil
    cdef void _note_near(self, Py_ssize_t b, double cost) noexcept nogil
    cdef void _look_at_cells(
        self, int64_t x, ConstLongs cells, Py_ssize_t lo, Py_ssize_t hi
    ) noexcept nogil
    cdef double _loss_with(
        self, Py_ssize_t a, int64_t x, int64_t y, double most
    ) noexcept nogil
    cdef void _look_at_classes(
        self, int64_t x, ConstLongs numbers, Py_ssize_t lo, Py_ssize_t hi
    ) noexcept nogil
    cdef double _loss_of_both(self, Py_ssize_t b, int64_t x, double most) noexcept nogil
    cdef double _relocate(self, int64_t x) noexcept nogil
    cdef double _try_reinstating(self, int64_t x, int64_t tries) noexcept nogil
