# How far classes can be at most: by their counts, or after a fragment is cut.

from libc.stdint cimport int8_t, int64_t

from tclose.kernels.base.memory cimport Longs


cdef class CutBounds:
    cdef object owners
    cdef Py_ssize_t n_attributes, n_tuples
    cdef bint own_width           # whether distances are shares of a fragment's own width
    cdef Longs rows               # by tuple
    cdef Longs node               # [attribute, tuple]
    cdef Longs first_node         # by attribute
    cdef Longs parent             # by node
    cdef double* length           # by node: of the edge to the parent
    cdef double* position         # by node, where an attribute's values lie on one line
    cdef int8_t* is_line          # by attribute
    cdef double* left_rows        # by node: rows of the half that is cut off
    cdef double* right_rows
    cdef double* below            # by node: rows below it
    cdef double* cost             # by node: of moving everything there
    # by place in a fragment: sums and ends of what comes before it
    cdef double* mass
    cdef double* moment
    cdef double* low
    cdef double* high
    cdef double* low_after
    cdef double* high_after

    cdef void _weigh_on_line(
        self, Py_ssize_t b, Py_ssize_t along, Longs order, Py_ssize_t count, Longs cuts,
        Longs starts, Py_ssize_t n_cuts, Longs ends, double* result,
    ) noexcept nogil
    cdef void _weigh_on_tree(
        self, Py_ssize_t b, Longs order, Py_ssize_t count, Longs cuts, Py_ssize_t n_cuts,
        double* result,
    ) noexcept nogil
    cdef double _worst_node(
        self, Py_ssize_t b, const double* rows, double total
    ) noexcept nogil
    cdef double _worst_end(self, double mass, double moment, double a, double b) noexcept nogil
