# A tree of splits, grown node by node.

from libc.stdint cimport int64_t

from tclose.kernels.base.memory cimport Longs
from tclose.kernels.splitting.node cimport NodeWorkspace
from tclose.kernels.splitting.split cimport Split, SplitRule


cdef struct TreeNode:
    int64_t start, end  # where its cells are in `cells`
    int64_t number
    int64_t depth


cdef class SplitTree:
    cdef readonly NodeWorkspace workspace
    cdef readonly object rule
    cdef readonly object cells, column, code, left, right, label, waiting
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

    cdef int64_t _grow(self, int64_t effort) noexcept nogil
    cdef void _take_next(self) noexcept nogil
    cdef void _close(self) noexcept nogil
    cdef void _split(self, Split split) noexcept nogil
    cdef void _wait(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t number) noexcept nogil
    cdef Py_ssize_t _divide_cells(self, Py_ssize_t j, int64_t code) noexcept nogil
    cdef void _sort_cells(self, Py_ssize_t j) noexcept nogil
    cdef tuple _describe(self, Split split)
