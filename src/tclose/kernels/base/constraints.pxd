cimport cython
from libc.math cimport INFINITY, fabs, log, log2
from libc.stdint cimport int64_t
from libc.stdlib cimport llabs
from tclose.kernels.base.memory cimport ConstLongs, Doubles, Longs, clear, doubles, longs

cdef enum Kind:
    EMD, DISTINCT, SHARE, GAIN, BAND, ENTROPY, RECURSIVE, KL, JS

cdef enum TreeShape:
    ANY
    LINE  # every node has one value and the next node for its parent; the last, the root, may have any
    STAR  # every node has one value, and the last, the root, for its parent

cdef struct ConstraintRow:
    int64_t kind
    int64_t first_slot      # the slot of the attribute's first value
    int64_t n_values
    int64_t hidden_slot     # the slot of missing values that may be any value; −1: none
    int64_t first_value     # where its part of leaf_node, share_lower and share_upper begins
    int64_t first_node      # the first and one past the last node of its tree
    int64_t end_node
    int64_t numerator       # the threshold; of an earth mover's distance, times the diameter
    int64_t denominator
    int64_t largest_exact   # the largest class that 64 bits can judge
    int64_t l               # of recursive (c, l)-diversity
    int64_t ignores_absent  # whether values that a class lacks are ignored
    int64_t known_rows      # rows of the reference whose value is known
    int64_t superset_rows   # (n, t)-closeness: the least size of a superset; 0: the whole table
    int64_t whole_first     # the slots that add up to what a share is of;
    int64_t whole_end       # none: the rows of the class
    int64_t shape           # of its tree
    double threshold        # rounded

@cython.final
cdef class ConstraintSet:
    cdef readonly object arrays
    cdef readonly Py_ssize_t n_constraints, n_slots, n_nodes
    cdef readonly int64_t k
    cdef Longs least_rows                # one number: no class of fewer rows keeps the constraints
    cdef readonly int64_t person_slot    # the slot that counts persons; −1: rows are counted
    cdef readonly int64_t least_persons  # what a class must have there
    cdef readonly int64_t person_unit    # what a person adds up to there at most
    cdef ConstraintRow* rows
    cdef Doubles share_lower, share_upper  # by value: what a share must be above and below
    cdef Longs leaf_node                 # by value: its node
    cdef Longs node_slot                 # of a line or a star: the slot of its value; −1: the root
    cdef Longs node_parent               # −1 at a root; children come before parents
    cdef Longs node_length               # of the edge to the parent
    cdef Longs node_rows                 # rows of the reference below
    cdef Longs chain_end                 # by node: the last of the nodes that follow it, each the
                                         # parent of the one before
    cdef Longs length_up_to, moment_up_to  # by node: lengths, and lengths times rows, added up
    cdef Doubles node_relative_length    # the length over the diameter
    cdef Longs slot_rows                 # rows of the reference with each value

    cdef bint keeps(self, ConstLongs hist, int64_t rows, Longs scratch) noexcept nogil
    cdef bint keeps_one(
        self, ConstraintRow* row, ConstLongs hist, int64_t rows, Longs scratch
    ) noexcept nogil
    cdef bint is_near(
        self, ConstraintRow* row, ConstLongs hist, int64_t rows,
        ConstLongs reference, int64_t known, Longs scratch,
    ) noexcept nogil
    cdef double emd(self, ConstraintRow* row, ConstLongs hist, int64_t rows, Longs scratch) noexcept nogil
    cdef double slack(self, ConstLongs hist, int64_t rows, Longs scratch) noexcept nogil

    cdef int64_t _whole(self, ConstraintRow* row, ConstLongs hist, int64_t rows) noexcept nogil
    cdef void _sum_up(self, ConstraintRow* row, ConstLongs hist, Longs scratch) noexcept nogil
    cdef int64_t _worst_detour(
        self, ConstraintRow* row, int64_t hidden, int64_t rows,
        ConstLongs reference, int64_t known, Longs scratch,
    ) noexcept nogil
    cdef double _round_emd(
        self, ConstraintRow* row, int64_t hidden, int64_t rows,
        ConstLongs reference, int64_t known, Longs scratch,
    ) noexcept nogil
    cdef bint _has_distinct(self, ConstraintRow* row, ConstLongs hist) noexcept nogil
    cdef bint _keeps_share(self, ConstraintRow* row, ConstLongs hist, int64_t rows) noexcept nogil
    cdef bint _keeps_gain(self, ConstraintRow* row, ConstLongs hist, int64_t rows) noexcept nogil
    cdef bint _keeps_band(self, ConstraintRow* row, ConstLongs hist, int64_t rows) noexcept nogil
    cdef bint _keeps_entropy(self, ConstraintRow* row, ConstLongs hist, int64_t rows) noexcept nogil
    cdef bint _keeps_recursive(self, ConstraintRow* row, ConstLongs hist) noexcept nogil
    cdef bint _keeps_divergence(self, ConstraintRow* row, ConstLongs hist, int64_t rows) noexcept nogil

cdef inline int64_t hidden_rows(ConstraintRow* row, ConstLongs hist) noexcept nogil:
    """Missing values of a class that may be any value."""
    return hist[row.hidden_slot] if row.hidden_slot >= 0 else 0

cdef inline bint is_too_small(ConstraintSet given, ConstLongs hist, int64_t rows) noexcept nogil:
    """Whether a class has too few rows, or may have fewer than k persons."""
    return rows < given.least_rows[0] or (
        given.person_slot >= 0 and hist[given.person_slot] < given.least_persons
    )

cdef inline int64_t count_members(ConstraintSet given, ConstLongs hist, int64_t rows) noexcept nogil:
    """The rows of a class, or how many persons it has at least."""
    if given.person_slot < 0:
        return rows
    return (hist[given.person_slot] + given.person_unit - 1) // given.person_unit

cdef double divergence_term(int64_t kind, double p, double q) noexcept nogil
