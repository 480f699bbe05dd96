from libc.math cimport fabs
from libc.stdint cimport int64_t
from libc.stdlib cimport llabs
from tclose.kernels.base.memory cimport Longs, Memory, doubles, longs

cdef class ClassWork(Memory):
    cdef Py_ssize_t n_classes, n_edges
    cdef Longs start      # by class, and one more: where its entries begin
    cdef Longs place      # by entry: the value's code; along chains its edge, −1: the root
    cdef Longs count      # by entry
    cdef Longs size, reference  # by class: its rows, the number of its reference
    cdef Longs below      # [reference, edge]: rows below
    cdef Longs total, idle  # by reference: its rows, and Σ length · below
    # of chains
    cdef Longs chain_end  # by edge: one past the last edge of its chain
    cdef Longs reach      # by edge, and one more: the lengths of all edges before
    cdef Longs moment     # [reference, edge and one more]: Σ length · below of all edges before

    cdef int64_t _measure_on_chains(self, Py_ssize_t c) noexcept nogil

cdef class Transport(Memory):
    cdef readonly object flow      # [source, sink]
    cdef readonly int64_t work     # what the flow costs
    cdef Py_ssize_t n_sources, n_sinks, n_nodes
    cdef Longs supply, demand, cost, carried
    cdef Longs potential, distance, previous, settled  # by node: sources, then sinks

    cdef Py_ssize_t _nearest_sink(self, Py_ssize_t source) noexcept nogil
    cdef void _relax(self, Py_ssize_t u, Py_ssize_t v, int64_t cost) noexcept nogil
    cdef void _augment(self, Py_ssize_t source, Py_ssize_t target) noexcept nogil
