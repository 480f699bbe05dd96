# A node split by an order of its cells, plainly or stratum by stratum of sensitive values.

from libc.stdint cimport int32_t, int64_t

from tclose.kernels.base.memory cimport ConstLongs, Longs
from tclose.kernels.base.random cimport RandomStream
from tclose.kernels.base.table cimport CodedTable
from tclose.kernels.splitting.node cimport NodeWorkspace

cdef enum:
    MAX_BINS = 4096       # steps in which keys are told apart, at most
    MANY_RUNS = 4         # so many draws of five are runs of cells, where attributes are several
    CELLS_TRIED = 2000000 # that the tries of one node may handle: large nodes are tried less often

cdef double NEGLIGIBLE_LOSS


cdef struct SplitResult:
    double saved  # loss; −1: no split
    double loss   # of the node
    int64_t passes  # over its cells


cdef class StratifiedSplitter:
    cdef readonly NodeWorkspace node
    cdef readonly CodedTable table
    cdef readonly RandomStream stream
    cdef list memory

    # by position of the node's cells
    cdef double* key
    cdef int32_t* bin              # the key in steps
    cdef Longs weight
    cdef int32_t* by_key           # positions by key
    cdef int32_t* stratum
    cdef int32_t* by_stratum       # positions by stratum, and by key within
    cdef int32_t* goes_left        # −1 (all bits) for what goes left, else 0
    cdef int32_t* best_goes_left

    # by stratum
    cdef Py_ssize_t n_strata       # 0: `goes_left` stands already
    cdef int32_t* stratum_start    # its first place in `by_stratum`
    cdef int32_t* stratum_fill
    cdef Longs stratum_weight
    cdef Longs plain_weight        # what the plain split sends left

    cdef int32_t* bin_end          # by step
    cdef double* rank_distance     # by rank: to the seeds, in one column

    cdef SplitResult best_split(
        self, ConstLongs cells, Py_ssize_t n_cells, Py_ssize_t curve,
        int64_t tries, bint plainly, double tightness,
    ) noexcept nogil
    cdef bint _split_plainly(self) noexcept nogil
    cdef void _draw_split(self, Py_ssize_t curve, Py_ssize_t j, bint by_column) noexcept nogil
    cdef void _draw_strata(self, Py_ssize_t curve) noexcept nogil
    cdef int64_t _draw_coarseness(self, Py_ssize_t curve) noexcept nogil
    cdef void _key_by_column(self, Py_ssize_t j) noexcept nogil
    cdef void _key_by_seeds(self) noexcept nogil
    cdef void _sort_by_key(self) noexcept nogil
    cdef Py_ssize_t _plain_border(self, double left_weight) noexcept nogil
    cdef (double, double) _try_split(self, double share, double tightness) noexcept nogil
    cdef double _plain_share(self, double share) noexcept nogil
    cdef void _hand_out(self, double share, double plainness) noexcept nogil
    cdef int64_t _count_left(self) noexcept nogil
    cdef (double, double) _loss_of_halves(self) noexcept nogil
    cdef int64_t _count_codes(self, Py_ssize_t j, int32_t side) noexcept nogil
    cdef double _regret(self, int64_t left_rows, double tightness) noexcept nogil
