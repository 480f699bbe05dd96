from libc.stdint cimport int32_t, int64_t
from tclose.kernels.base.memory cimport ConstLongs, Doubles, Ints, Longs, Memory
from tclose.kernels.base.random cimport RandomStream
from tclose.kernels.base.table cimport CodedTable
from tclose.kernels.splitting.node cimport NodeWorkspace

cdef enum:
    MAX_BINS = 4096       # steps in which keys are told apart, at most
    MANY_RUNS = 4         # so many draws of five are runs of cells, where attributes are several
    CELLS_TRIED = 2000000  # that the tries of one node may handle: large nodes are tried less often
    MIXED_CURVES = 4      # so many of five pools lie in an order that mixes all attributes
    STEPS_PER_PASS = 100  # that a pass over a node takes however few cells it has

cdef double NEGLIGIBLE_LOSS

cdef struct SplitResult:
    double saved  # loss; −1: no split
    double loss   # of the node
    int64_t passes  # over its cells

cdef class StratifiedSplitter:
    cdef readonly NodeWorkspace node
    cdef readonly CodedTable table
    cdef readonly RandomStream stream
    cdef Memory memory

    # by position of the node's cells
    cdef Doubles key
    cdef Ints bin              # the key in steps
    cdef Longs weight
    cdef Ints by_key           # positions by key
    cdef Ints stratum
    cdef Ints by_stratum       # positions by stratum, and by key within
    cdef Ints goes_left, best_goes_left  # −1 (all bits) for what goes left, else 0

    # by stratum
    cdef Py_ssize_t n_strata       # 0: `goes_left` stands already
    cdef Ints stratum_start        # its first place in `by_stratum`
    cdef Ints stratum_fill
    cdef Longs stratum_weight, plain_weight  # in all, and what the plain split sends left

    cdef Ints bin_end          # by step
    cdef Doubles rank_distance  # by rank: to the seeds, in one column

    cdef SplitResult best_split(
        self, ConstLongs cells, Py_ssize_t n_cells, Py_ssize_t curve,
        int64_t tries, bint plainly, double tightness,
    ) noexcept nogil
    cdef bint _split_plainly(self) noexcept nogil
    cdef void _draw_strata(self, Py_ssize_t curve) noexcept nogil
    cdef int64_t _draw_coarseness(self, Py_ssize_t curve) noexcept nogil
    cdef void _key_by_column(self, Py_ssize_t j) noexcept nogil
    cdef void _key_by_seeds(self) noexcept nogil
    cdef void _sort_by_key(self) noexcept nogil
    cdef Py_ssize_t _plain_border(self, double left_weight) noexcept nogil
    cdef (double, double) _try_split(self, double share, double tightness) noexcept nogil
    cdef double _plain_share(self, double share) noexcept nogil
    cdef void _hand_out(self, double share, double plainness) noexcept nogil
    cdef (double, double) _loss_of_halves(self) noexcept nogil
    cdef int64_t _count_codes(self, Py_ssize_t j, int32_t side) noexcept nogil
    cdef double _regret(self, int64_t left_rows, double tightness) noexcept nogil

cdef class Partitioner:
    cdef readonly StratifiedSplitter splitter
    cdef readonly CodedTable table
    cdef object cells, ends, waiting  # arrays
    cdef Memory memory
    cdef Longs ids                 # the pool: cells, those of a node or class side by side
    cdef Longs class_end           # where each finished class ends in `ids`
    cdef Longs waiting_end         # where each node that waits ends, the next one last
    cdef Longs spare
    cdef readonly Py_ssize_t n_waiting, n_classes
    cdef Py_ssize_t next_start     # where the next node begins
    cdef Py_ssize_t curve          # the order that the pool lies in
    cdef readonly double loss      # of the finished classes
    cdef readonly double effort    # steps spent

    cdef void begin(self, Py_ssize_t n_cells) noexcept nogil
    cdef void split(
        self, int64_t most_cells, int64_t tries, bint plainly, double tightness
    ) noexcept nogil
