from libc.stdint cimport int64_t
from tclose.kernels.base.memory cimport Longs, Memory
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
cdef Split median_split(
    NodeWorkspace node, Py_ssize_t j, SplitRule rule, Py_ssize_t depth
) noexcept nogil
cdef Split nearest_to_half(NodeWorkspace node, Py_ssize_t j, SplitRule rule) noexcept nogil
cdef Split top_split(NodeWorkspace node, Py_ssize_t j, SplitRule rule) noexcept nogil
cdef Py_ssize_t judge_cuts(
    NodeWorkspace node, Py_ssize_t j, SplitRule rule, Py_ssize_t depth, double least,
    bint only_best, Split* found,
) noexcept nogil
cdef double measure_saving(
    NodeWorkspace node, Py_ssize_t v, int64_t left_rows, int64_t right_rows
) noexcept nogil
cdef Py_ssize_t next_widest(NodeWorkspace node, Py_ssize_t last) noexcept nogil
cdef Py_ssize_t next_best(NodeWorkspace node, double least) noexcept nogil
cdef bint is_along_hierarchy(
    NodeWorkspace node, Py_ssize_t j, Py_ssize_t v, SplitRule rule
) noexcept nogil
cdef int64_t send_left(NodeWorkspace node, Py_ssize_t j, Py_ssize_t v) noexcept nogil
cdef int64_t send_more_left(NodeWorkspace node, Py_ssize_t first, Py_ssize_t end) noexcept nogil
cdef void set_code(NodeWorkspace node, Split* split) noexcept nogil

cdef struct TreeNode:
    int64_t start, end  # where its cells are in `cells`
    int64_t number
    int64_t depth

cdef class SplitTree:
    cdef readonly NodeWorkspace workspace
    cdef readonly object rule
    cdef readonly object cells, column, code, left, right, label  # arrays
    cdef Memory memory
    cdef readonly Py_ssize_t n_waiting, n_nodes, n_classes
    cdef SplitRule rule_number
    cdef TreeNode at_hand         # the node that was taken to be split
    cdef TreeNode* nodes_waiting  # nodes still to be split, in a ring
    cdef Py_ssize_t ring_size, oldest
    cdef Longs cell_order         # cells, those of a node side by side
    cdef Longs split_column       # by node: −1 for a leaf
    cdef Longs split_code         # by node: the largest code of the left half
    cdef Longs left_node          # by node: the left half's number; a leaf's class
    cdef Longs right_node
    cdef Longs class_of           # by cell

    cdef void _take_next(self) noexcept nogil
    cdef void _close(self) noexcept nogil
    cdef void _split(self, Split split) noexcept nogil
    cdef void _wait(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t number) noexcept nogil
    cdef Py_ssize_t _divide_cells(self, Py_ssize_t j, int64_t code) noexcept nogil
    cdef void _sort_cells(self, Py_ssize_t j) noexcept nogil
