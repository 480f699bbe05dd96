# Which cut a node takes.

from libc.stdint cimport int64_t

from tclose.kernels.splitting.node cimport NodeWorkspace

cdef enum SplitRule:
    GAIN     # the allowed cut that saves the most loss
    MEDIAN   # the median of the widest column that allows it
    RELAXED  # the same, but cells with equal codes may part
    FREE     # as GAIN, but a hierarchy may be cut anywhere


cdef struct Split:
    int64_t column  # −1: none
    int64_t rank    # the last rank that goes left, and
    int64_t code    # its code
    int64_t n_left  # how many cells go left, where the rule is a median
    double saved    # loss


cdef Split choose_split(NodeWorkspace node, SplitRule rule, Py_ssize_t depth) noexcept nogil
cdef Split best_split(NodeWorkspace node, SplitRule rule, Py_ssize_t depth) noexcept nogil
cdef Py_ssize_t list_splits(
    NodeWorkspace node, SplitRule rule, Py_ssize_t depth, Split* found
) noexcept nogil

cdef Split no_split() noexcept nogil
cdef Split widest_median(NodeWorkspace node, SplitRule rule, Py_ssize_t depth) noexcept nogil
cdef Split median_split(
    NodeWorkspace node, Py_ssize_t j, SplitRule rule, Py_ssize_t depth
) noexcept nogil
cdef Split nearest_to_half(NodeWorkspace node, Py_ssize_t j, SplitRule rule) noexcept nogil
cdef Split top_split(NodeWorkspace node, Py_ssize_t j, SplitRule rule) noexcept nogil
cdef Split other_split(
    NodeWorkspace node, Py_ssize_t j, SplitRule rule, Py_ssize_t depth, double least
) noexcept nogil
cdef double saved_by(
    NodeWorkspace node, Py_ssize_t v, int64_t left_rows, int64_t right_rows
) noexcept nogil
cdef Py_ssize_t next_widest(NodeWorkspace node, Py_ssize_t last) noexcept nogil
cdef Py_ssize_t next_best(NodeWorkspace node, double least) noexcept nogil
cdef bint is_along_hierarchy(
    NodeWorkspace node, Py_ssize_t j, Py_ssize_t v, SplitRule rule
) noexcept nogil
cdef int64_t send_left(NodeWorkspace node, Py_ssize_t j, Py_ssize_t v) noexcept nogil
cdef int64_t send_more_left(NodeWorkspace node, Py_ssize_t first, Py_ssize_t end) noexcept nogil
cdef Py_ssize_t list_cuts(
    NodeWorkspace node, Py_ssize_t j, SplitRule rule, Py_ssize_t depth, Split* found
) noexcept nogil
cdef void set_code(NodeWorkspace node, Split* split) noexcept nogil
