from libc.stdint cimport int32_t, int64_t
from tclose.kernels.base.constraints cimport ConstraintSet
from tclose.kernels.base.memory cimport ConstLongs, Doubles, Ints, Longs, Memory
from tclose.kernels.base.table cimport SET, CodedTable, lowest_bit, range_loss

cdef enum:
    WORD_BITS = 62     # bits of a word that are used
    MAX_LEVELS = 1000  # ancestors that are kept at hand
    NO_RANK = 1 << 30  # beyond every rank

cdef struct Span:
    # the ranks of a column that a sweep has come across, and what they lose
    int64_t low, high, n_ranks
    double loss

cdef class NodeWorkspace:
    cdef readonly CodedTable table
    cdef ConstraintSet constraints
    cdef Memory memory
    cdef Py_ssize_t n_columns, cell_stride, code_stride

    # the node
    cdef ConstLongs cells
    cdef Py_ssize_t n_cells
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
    cdef Doubles best_saved      # by column: what its best cut would save, and that cut's rank
    cdef Longs best_rank
    cdef Longs spare             # by position

    # histograms of the node and its halves, room to judge them, and the node's ancestors
    cdef Longs whole_hist, left_hist, right_hist, scratch
    cdef Py_ssize_t n_levels         # 0: no constraint is about supersets
    cdef Longs ancestor_nodes        # [level, node of the constraints' trees]: rows below
    cdef Longs ancestor_known        # [level, constraint]: rows whose value is known
    cdef Longs ancestor_members      # by level

    cdef void load(self, ConstLongs cells, Py_ssize_t n_cells) noexcept nogil
    cdef void rank_codes(self) noexcept nogil
    cdef Py_ssize_t _rank_by_marking(self, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t _rank_by_sorting(self, Py_ssize_t j) noexcept nogil
    cdef void remember(self, Py_ssize_t depth) noexcept nogil
    cdef bint keep_both_halves(self, int64_t left_rows, Py_ssize_t depth) noexcept nogil
    cdef bint _keeps(self, ConstLongs hist, int64_t rows, Py_ssize_t depth) noexcept nogil
    cdef bint _is_near_ancestor(
        self, Py_ssize_t constraint, ConstLongs hist, int64_t rows, Py_ssize_t depth
    ) noexcept nogil

cdef inline double loss_between(
    NodeWorkspace node, Py_ssize_t j, Py_ssize_t low, Py_ssize_t high, Py_ssize_t n_ranks
) noexcept nogil:
    """What column j loses from one rank to another, with so many ranks in all."""
    cdef Ints code = node.code + j * node.code_stride
    if node.table.columns[j].form == SET:
        return range_loss(node.table, j, 0, n_ranks)
    return range_loss(node.table, j, code[low], code[high])

cdef void set_bits(NodeWorkspace node) noexcept nogil
cdef bint weigh_cuts(NodeWorkspace node, Py_ssize_t j) noexcept nogil
cdef void order_along(NodeWorkspace node, Py_ssize_t j) noexcept nogil
cdef void sweep_bits(
    NodeWorkspace node, Py_ssize_t start, Py_ssize_t count, Py_ssize_t step, Doubles losses
) noexcept nogil
cdef void sweep_column(
    NodeWorkspace node, Py_ssize_t j, Py_ssize_t i, const int32_t* occurs,
    Py_ssize_t start, Py_ssize_t count, Py_ssize_t step, Doubles losses,
) noexcept nogil
