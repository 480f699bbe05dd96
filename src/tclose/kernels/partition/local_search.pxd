cimport cython
from libc.math cimport INFINITY, log
from libc.stdint cimport int64_t
from tclose.kernels.base.memory cimport ConstLongs, Longs, Memory, longs
from tclose.kernels.base.random cimport RandomStream, draw, draw_unit
from tclose.kernels.base.table cimport FAR_CODE, SET, add_cell, range_loss
from tclose.kernels.partition.state cimport NO_GAIN, PartitionState
from tclose.kernels.partition.swaps cimport CellSwaps
from tclose.kernels.splitting.partitioner cimport Partitioner

cdef enum:
    RIVALS = 2           # further classes drawn, of all of which the one that loses most is pooled
    MOST_POOLED = 4
    USUAL_POOL = 400     # cells in a pool, most of the time; now and then ten times as many
    LARGEST_POOL = 40000  # a single class of more cells is left as the first passes split it
    MOST_STEPS = 4000000  # between two looks at the clock
    WALKED_PER_STEP = 4  # members and values walked in the time of a step
    MOST_SWEEPS = 4      # over a pool that is polished
    POOL_REACH = 48      # cells of a pool on either side, along their values, that are tried
    EDGES = 4            # codes from either end of a column beyond which cells are tried together

cdef double PROMISING  # a pool split anew that loses so much more, as a share, may be worth polishing

cdef struct Operator:
    # one way of choosing a pool and of splitting it, and what it has lately saved and cost
    int64_t pooled   # classes to pool
    int64_t sampled  # classes sampled to find neighbours
    int64_t tries    # keys tried per node
    double saved
    double effort

cdef struct Neighbour:
    Py_ssize_t number
    double cost      # of merging it with the first

@cython.final
cdef class DestroyAndRepair(Memory):
    cdef readonly PartitionState state
    cdef readonly Partitioner partitioner
    cdef RandomStream stream
    cdef readonly object learned  # an array of operators
    cdef Operator* operators
    cdef Py_ssize_t n_operators
    cdef Neighbour[MOST_POOLED] pool
    cdef Py_ssize_t n_pooled
    cdef readonly CellSwaps swaps          # None: nothing is polished
    cdef Longs cells                       # of the pooled classes, one after another,
    cdef Py_ssize_t[MOST_POOLED] pool_end  # which end here
    cdef Longs by_value                    # the same along their sensitive values

    cdef bint may_polish
    cdef int64_t polishing                 # steps that it took

    cdef double _repair(
        self, Py_ssize_t n_cells, int64_t tries, double tightness, double temperature
    ) noexcept nogil
    cdef double _polish(self, Py_ssize_t n_cells) noexcept nogil
    cdef void _restore_pool(self) noexcept nogil
    cdef int64_t _choose_class(self) noexcept nogil
    cdef int64_t _draw_class(self) noexcept nogil
    cdef Py_ssize_t _choose_operator(self) noexcept nogil
    cdef int64_t _choose_pool(self, Py_ssize_t a, int64_t want, int64_t sampled) noexcept nogil
    cdef double _load_pool(self) noexcept nogil
    cdef void _replace_pool(self) noexcept nogil

cdef struct Edge:
    double saved
    Py_ssize_t column
    bint upper      # whether what lies above it goes, else what lies below
    int64_t code

@cython.final
cdef class CellSuppression:
    cdef readonly PartitionState state
    cdef readonly int64_t room      # rows that may still be suppressed
    # the class that is being trimmed, its cells, and the edge that is tried
    cdef Py_ssize_t number, n_cells
    cdef Longs cells
    cdef Edge edge

    cdef bint _trim_class(self) noexcept nogil
    cdef void _choose_edge(self) noexcept nogil
    cdef int64_t _next_code(self) noexcept nogil
    cdef (int64_t, double) _measure_without(self) noexcept nogil
    cdef bint _keeps_without(self) noexcept nogil

cdef bint is_beyond(CellSuppression suppression, int64_t cell) noexcept nogil
