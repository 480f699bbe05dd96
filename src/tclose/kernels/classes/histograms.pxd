from libc.stdint cimport int64_t
from tclose.kernels.base.memory cimport Longs, Memory

cdef class SparseHistograms:
    cdef Memory memory
    cdef readonly Py_ssize_t n_classes
    cdef Longs start      # by class, and one more: where its entries begin
    cdef Longs place      # by entry: the value's code, or its edge
    cdef Longs count      # by entry
    cdef Longs size       # by class
    cdef Longs reference  # by class: the number of its reference

cdef class TreeReferences:
    cdef Memory memory
    cdef Py_ssize_t n_nodes
    cdef Longs leaf       # by value: its node
    cdef Longs parent, length  # by node: −1 at the root, and of the edge to the parent
    cdef Longs below      # [reference, node]: rows below
    cdef Longs total, idle  # by reference: its rows, and Σ length · below

cdef class ChainReferences:
    cdef Memory memory
    cdef Py_ssize_t n_edges
    cdef Longs chain_end  # by edge: one past the last edge of its chain
    cdef Longs reach      # by edge, and one more: the lengths of all edges before
    cdef Longs below      # [reference, edge]: rows below
    cdef Longs moment     # [reference, edge and one more]: Σ length · below of all edges before
    cdef Longs total, idle  # by reference: its rows, and Σ length · below

    cdef int64_t _measure_class(self, SparseHistograms classes, Py_ssize_t c) noexcept nogil

cdef class Transport:
    cdef readonly object flow      # [source, sink]
    cdef readonly int64_t work     # what the flow costs
    cdef Memory memory
    cdef Py_ssize_t n_sources, n_sinks, n_nodes
    cdef Longs supply, demand, cost, carried
    cdef Longs potential, distance, previous, settled  # by node: sources, then sinks

    cdef Py_ssize_t _nearest_sink(self, Py_ssize_t source) noexcept nogil
    cdef void _relax(self, Py_ssize_t u, Py_ssize_t v, int64_t cost) noexcept nogil
    cdef void _augment(self, Py_ssize_t source, Py_ssize_t target) noexcept nogil
