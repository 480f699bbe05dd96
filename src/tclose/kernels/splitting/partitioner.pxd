cimport cython
from libc.math cimport INFINITY, exp
from libc.stdint cimport int32_t, int64_t
from tclose.kernels.base.memory cimport (
    ConstLongs, Doubles, Ints, Longs, Memory, clear, divide_stably, longs, sort_ascending
)
from tclose.kernels.base.random cimport RandomStream, draw, draw_unit
from tclose.kernels.base.table cimport (
    FAR_CODE, SET, CodedTable, add_cell, count_bits, highest_bit, lowest_bit, pair_loss,
    range_loss, weight_of
)
from tclose.kernels.splitting.balance cimport HalfBalancer
from tclose.kernels.splitting.split cimport FREE, NodeWorkspace, codes_of, ranks_of

cdef enum:
    MAX_BINS = 4096       # steps in which keys are told apart, at most
    MANY_RUNS = 4         # so many draws of five are runs of cells, where attributes are several
    CELLS_TRIED = 2000000  # that the tries of one node may handle: large nodes are tried less often
    MIXED_CURVES = 4      # so many of five pools lie in an order that mixes all attributes
    STEPS_PER_PASS = 50  # that a pass over a node takes however few cells it has
    # what splitting takes in parts of a pass: loading a node, a column cut strictly, an order with
    # its plain split, the histogram of that, strata, and a split handed out by these
    PARTS_PER_PASS = 8
    PARTS_LOADED = 16
    PARTS_STRICT = 8
    PARTS_ORDERED = 4
    PARTS_COUNTED = 1
    PARTS_STRATA = 2
    PARTS_HANDED = 1
    WALKED_PER_STEP = 2   # slots, or nodes of a constraint's tree, when halves are judged

@cython.final
cdef class Partitioner(Memory):
    cdef readonly NodeWorkspace node
    cdef readonly CodedTable table
    cdef readonly RandomStream stream
    cdef HalfBalancer balancer

    # by position of the node's cells
    cdef Doubles key
    cdef Longs weight
    cdef Ints bin, stratum     # the key in steps, the number of the stratum
    cdef Ints by_key           # positions by key
    cdef Ints by_stratum       # positions by stratum, and by key within
    cdef Ints goes_left, best_goes_left  # −1 (all bits) for what goes left, else 0

    # by stratum
    cdef Py_ssize_t n_strata
    cdef Ints stratum_start, stratum_end  # its first place in `by_stratum`, and one past what goes left
    cdef Longs stratum_weight, plain_weight  # in all, and what the plain split sends left
    cdef Longs left_weight  # what goes left
    cdef Ints bin_end          # by step
    cdef Longs left_bits, right_bits  # by word of the node's codes: those that either half has
    cdef Doubles rank_distance  # by rank: to the seeds, in one column

    # the pool
    cdef object cells, ends, waiting  # arrays
    cdef Longs ids                 # the pool: cells, those of a node or class side by side
    cdef Longs class_end           # where each finished class ends in `ids`
    cdef Longs waiting_end         # where each node that waits ends, the next one last
    cdef Longs spare
    cdef readonly Py_ssize_t n_waiting, n_classes
    cdef Py_ssize_t next_start     # where the next node begins
    cdef Py_ssize_t curve          # the order that the pool lies in
    cdef readonly double loss      # of the finished classes
    cdef readonly double effort    # steps spent
    cdef int64_t parts             # of passes over the node so far
    cdef Py_ssize_t border         # positions by key before it go left plainly
    cdef int64_t left_rows         # of what goes left
    cdef int64_t whole_weight      # of the node
    cdef Py_ssize_t small          # cells of nodes that are not split any more
    cdef double tightness          # how much a used-up closeness counts against a split

    cdef void begin(self, Py_ssize_t n_cells) noexcept nogil
    cdef void split(
        self, double most_steps, int64_t tries, bint plainly, double tightness
    ) noexcept nogil
    cdef double _best_split(self, int64_t tries, bint plainly) noexcept nogil
    cdef bint _split_plainly(self) noexcept nogil
    cdef void _draw_strata(self) noexcept nogil
    cdef int64_t _draw_coarseness(self, ConstLongs fragment) noexcept nogil
    cdef void _key_by_column(self, Py_ssize_t j) noexcept nogil
    cdef void _key_by_seeds(self) noexcept nogil
    cdef void _sort_by_key(self) noexcept nogil
    cdef double _send_first_left(self, double share) noexcept nogil
    cdef (double, double) _try_split(self, bint is_strict, double share, double least) noexcept nogil
    cdef double _measure_saving(self) noexcept nogil
    cdef bint _keeps_halves(self) noexcept nogil
    cdef void _count_left(self) noexcept nogil
    cdef void _order_strata(self) noexcept nogil
    cdef void _hand_out(self, double share, double plainness) noexcept nogil
    cdef (double, double) _loss_of_halves(self) noexcept nogil
    cdef int64_t _count_codes(self, Py_ssize_t j, int32_t side) noexcept nogil
    cdef double _regret(self, int64_t left_rows) noexcept nogil
