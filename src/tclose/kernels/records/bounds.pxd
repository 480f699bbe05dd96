from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t
from tclose.kernels.base.memory cimport Doubles, Longs, Memory, doubles

cdef class CutBounds(Memory):
    cdef Py_ssize_t n_attributes, n_tuples
    cdef bint own_width           # whether distances are shares of a fragment's own width
    cdef Longs rows               # by tuple
    cdef Longs node               # [attribute, tuple]
    cdef Longs first_node, is_line  # by attribute
    cdef Longs parent             # by node
    cdef Doubles length           # by node: of the edge to the parent
    cdef Doubles position         # by node, where an attribute's values lie on one line
    cdef Doubles left_rows, right_rows  # by node: rows of the half that is cut off, of the other
    cdef Doubles below, cost      # by node: rows below it, cost of moving everything there
    # by place in a fragment: sums and ends of what comes before it, or after
    cdef Doubles mass, moment, low, high, low_after, high_after
    # the fragment: its tuples and its cuts as `weigh` is given them
    cdef Longs order, cuts, starts, ends
    cdef Py_ssize_t count, n_cuts, along

    cdef void _weigh_on_line(self, Py_ssize_t b, Doubles result) noexcept nogil
    cdef void _weigh_on_tree(self, Py_ssize_t b, Doubles result) noexcept nogil
    cdef double _worst_node(self, Py_ssize_t b, const double* rows, double total) noexcept nogil
    cdef double _worst_end(self, double mass, double moment, double a, double b) noexcept nogil
