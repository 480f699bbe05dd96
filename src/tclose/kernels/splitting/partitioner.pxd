# A pool of cells, partitioned into classes from the top down.

from libc.stdint cimport int64_t

from tclose.kernels.base.memory cimport Longs
from tclose.kernels.base.table cimport CodedTable
from tclose.kernels.splitting.stratified_split cimport StratifiedSplitter

cdef enum:
    MIXED_CURVES = 4      # so many of five pools lie in an order that mixes all attributes
    STEPS_PER_PASS = 100  # that a pass over a node takes however few cells it has


cdef class Partitioner:
    cdef readonly StratifiedSplitter splitter
    cdef readonly CodedTable table
    cdef object cells, ends, waiting, room  # arrays
    cdef Longs ids                 # the pool: cells, those of a node or class side by side
    cdef Longs class_end           # where each finished class ends in `ids`
    cdef Longs waiting_end         # where each node that waits ends, the next one last
    cdef Longs spare
    cdef readonly Py_ssize_t n_waiting, n_classes
    cdef Py_ssize_t next_start     # where the next node begins
    cdef Py_ssize_t curve          # the order that the pool lies in
    cdef readonly double loss      # of the finished classes
    cdef readonly double effort    # steps spent

    # Write `n_cells` cells into `ids`, `begin`, `split`; then read `loss`, `effort`, `n_classes`
    # and `class_end`.
    cdef void begin(self, Py_ssize_t n_cells) noexcept nogil
    cdef void split(
        self, int64_t most_cells, int64_t tries, bint plainly, double tightness
    ) noexcept nogil
