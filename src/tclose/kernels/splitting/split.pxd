cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport llabs
from tclose.kernels.base.constraints cimport ConstraintSet, count_members, is_too_small
from tclose.kernels.base.memory cimport (
    ConstLongs, Doubles, Ints, Longs, Memory, clear, divide_stably, longs, sort_ascending
)
from tclose.kernels.base.support cimport Support
from tclose.kernels.base.table cimport (
    FORBIDDEN, INTERVAL, SET, CodedTable, add_cell, lowest_bit, range_loss
)

cdef enum:
    WORD_BITS = 62     # bits of a word that are used
    MAX_LEVELS = 1000  # ancestors that are kept at hand
    NO_RANK = 1 << 30  # beyond every rank

cdef enum SplitRule:
    GAIN     # the allowed cut that saves the most loss
    MEDIAN   # the median of the widest column that allows it
    RELAXED  # the same, but cells with equal codes may part
    FREE     # as GAIN, but a hierarchy may be cut anywhere

cdef struct Split:
    int64_t column  # −1: none
    int64_t rank    # the last rank that goes left
    int64_t where   # its code; of a relaxed cut how many cells go left
    double saved    # loss

cdef struct Span:
    # the ranks of a column that a sweep has come across, and what they lose
    int64_t low, high, n_ranks
    double loss

@cython.final
cdef class NodeWorkspace(Memory):
    cdef readonly CodedTable table
    cdef ConstraintSet constraints
    cdef Py_ssize_t n_columns, cell_stride, code_stride

    # the node
    cdef ConstLongs cells
    cdef Py_ssize_t n_cells, depth
    cdef SplitRule rule
    cdef int64_t rows
    cdef double loss             # per row
    cdef Doubles column_loss     # by column: its part of the loss
    cdef Longs cell_rows         # by position: rows of the cell
    cdef Ints rank               # [column, position]: the code, ranked among those of the node
    cdef Ints code               # [column, rank]
    cdef Longs n_ranks           # by column
    cdef Ints code_rank          # by code: its rank, while a column is ranked

    # every code of the node as a bit of a word, as many columns to a word as fit
    cdef Py_ssize_t n_words
    cdef Longs bits, bit_column  # [word, position]; [word, bit]
    cdef Longs word_of           # by column: −1 where it has too many codes
    cdef Longs first_bit         # by column

    # a sweep along one column
    cdef Longs rank_rows         # by rank: rows
    cdef Longs rank_bits         # [word, rank]: the bits that occur
    cdef Doubles left_loss, right_loss  # by rank: per row of the cells up to it, from it on
    cdef Longs rank_end          # by rank: one past its last position in `order`
    cdef Ints order              # positions by rank
    cdef Longs seen_bits         # by word
    cdef Span* spans             # by column
    cdef Span* rank_spans        # by rank: what is new at it in one other column
    cdef Ints first_rank, last_rank  # by rank of another column: where it occurs
    cdef Doubles best_saved      # by column: what its best cut would save
    cdef Longs best_rank, spare  # by column: that cut's rank; by position

    # histograms of the node and its halves, what judges them, and the node's ancestors
    cdef Longs whole_hist, left_hist, right_hist  # 0 beyond the support
    cdef readonly Support support
    cdef Py_ssize_t n_levels         # 0: no constraint is about supersets
    cdef Longs ancestor_nodes        # [level, node of the constraints' trees]: rows below
    cdef Longs ancestor_known        # [level, constraint]: rows whose value is known
    cdef Longs ancestor_members      # by level

    cdef void load(
        self, ConstLongs cells, Py_ssize_t n_cells, SplitRule rule, Py_ssize_t depth
    ) noexcept nogil
    cdef void rank_codes(self) noexcept nogil
    cdef Py_ssize_t _rank_by_marking(self, Ints rank, Ints code, int64_t n_codes) noexcept nogil
    cdef Py_ssize_t _rank_by_sorting(self, Ints rank, Ints code) noexcept nogil
    cdef void remember(self) noexcept nogil
    cdef bint keep_both_halves(self, int64_t left_rows) noexcept nogil
    cdef bint _keeps(self, ConstLongs hist, int64_t rows) noexcept nogil
    cdef bint _is_near_ancestor(self, Py_ssize_t at, ConstLongs hist, int64_t rows) noexcept nogil
    cdef Split choose_split(self) noexcept nogil
    cdef Split best_split(self) noexcept nogil
    cdef Split best_split_of(self, double least_loss) noexcept nogil
    cdef Py_ssize_t list_splits(self, Split* found) noexcept nogil
    cdef Split make_split(self, Py_ssize_t j, Py_ssize_t rank, double saved) noexcept nogil
    cdef Split median_split(self, Py_ssize_t j) noexcept nogil
    cdef void find_best_cut(self, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t judge_cuts(
        self, Py_ssize_t j, double least, bint only_best, Split* found
    ) noexcept nogil
    cdef double measure_saving(self, Py_ssize_t v, int64_t left_rows) noexcept nogil
    cdef Py_ssize_t next_widest(self, Py_ssize_t last) noexcept nogil
    cdef Py_ssize_t next_best(self, double least) noexcept nogil
    cdef bint is_along_hierarchy(self, Py_ssize_t j, Py_ssize_t v) noexcept nogil
    cdef int64_t send_left(self, Py_ssize_t j, Py_ssize_t v) noexcept nogil
    cdef int64_t send_more_left(self, Py_ssize_t first, Py_ssize_t end) noexcept nogil
    cdef void set_bits(self) noexcept nogil
    cdef bint weigh_cuts(self, Py_ssize_t j) noexcept nogil
    cdef void order_along(self, Py_ssize_t j) noexcept nogil
    cdef void sweep_bits(self, Py_ssize_t start, Py_ssize_t count) noexcept nogil
    cdef void sweep_column(
        self, Py_ssize_t j, Py_ssize_t i, Py_ssize_t start, Py_ssize_t count
    ) noexcept nogil

cdef inline Ints ranks_of(NodeWorkspace node, Py_ssize_t j) noexcept nogil:
    """By position: the rank of its code in column j."""
    return node.rank + j * node.cell_stride

cdef inline Ints codes_of(NodeWorkspace node, Py_ssize_t j) noexcept nogil:
    """By rank: its code in column j."""
    return node.code + j * node.code_stride

cdef inline double span_loss(NodeWorkspace node, Py_ssize_t j, Span* span) noexcept nogil:
    """What column j loses in a span of ranks."""
    cdef Ints code = node.code + j * node.code_stride
    if node.table.columns[j].form == SET:
        return range_loss(node.table, j, 0, span.n_ranks)
    return range_loss(node.table, j, code[span.low], code[span.high])

cdef inline void start_span(Span* span) noexcept nogil:
    span.low, span.high, span.n_ranks, span.loss = NO_RANK, -1, 0, 0.0

cdef inline void widen_span(Span* span, int64_t low, int64_t high, int64_t n_ranks) noexcept nogil:
    span.low, span.high = min(span.low, low), max(span.high, high)
    span.n_ranks += n_ranks

cdef struct TreeNode:
    int64_t start, end  # where its cells are in `cells`
    int64_t number
    int64_t depth

@cython.final
cdef class SplitTree(Memory):
    cdef readonly NodeWorkspace workspace
    cdef readonly object rule
    cdef readonly object cells, column, code, left, right, label  # arrays
    cdef readonly Py_ssize_t n_waiting, n_nodes, n_classes
    cdef SplitRule rule_number
    cdef TreeNode at_hand         # the node that was taken to be split
    cdef TreeNode* nodes_waiting  # nodes still to be split, in a ring
    cdef Py_ssize_t ring_size, oldest
    cdef Longs cell_order         # cells, those of a node side by side
    cdef Longs split_column       # by node: −1 for a leaf
    cdef Longs split_code         # by node: the largest code of the left half
    cdef Longs left_node, right_node  # by node: the halves' numbers; of a leaf, left: its class
    cdef Longs class_of           # by cell

    cdef void _take_next(self) noexcept nogil
    cpdef void close(self) noexcept nogil
    cpdef void split(self, Py_ssize_t column, int64_t where) noexcept nogil
    cdef void _wait(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t number) noexcept nogil
