# The classes of a release as boxes, and a grid that leaves few of them to try for a row.

from libc.stdint cimport int64_t

from tclose.kernels.base.memory cimport ConstLongs, Longs


cdef class ClassBoxes:
    cdef readonly object arrays
    cdef readonly Py_ssize_t n_classes, n_columns, n_values
    cdef Longs key          # [class, column]: the released value
    cdef Longs first_value  # by column: where its released values begin in `run_start`
    cdef Longs run_start    # by released value, one more for each column: where its runs begin
    cdef Longs run_low      # by run: its first place
    cdef Longs run_high     # by run: one past its last place


cdef class BoxGrid:
    cdef readonly ClassBoxes boxes
    cdef readonly object arrays
    cdef Py_ssize_t first, second  # the columns of the grid; a second of −1: none
    cdef int64_t n_second          # places of the second column
    cdef Longs start               # by place of the grid, and one more: where its classes begin
    cdef Longs classes

    cdef void _visit(self, ClassBoxes boxes, bint listing, Longs target) noexcept nogil


cdef inline bint covers(ClassBoxes boxes, int64_t c, ConstLongs place) noexcept nogil:
    """Whether class c covers a row: some run of its value in every column does."""
    cdef Py_ssize_t q
    cdef int64_t at, run
    cdef bint hit
    for q in range(boxes.n_columns):
        at = boxes.first_value[q] + boxes.key[c * boxes.n_columns + q]
        hit = False
        for run in range(boxes.run_start[at], boxes.run_start[at + 1]):
            if boxes.run_low[run] <= place[q] < boxes.run_high[run]:
                hit = True
                break
        if not hit:
            return False
    return True


cdef inline int64_t grid_place(BoxGrid grid, ConstLongs place) noexcept nogil:
    """Where in the grid a row lies."""
    cdef int64_t at = place[grid.first] * grid.n_second
    return at + place[grid.second] if grid.second >= 0 else at
