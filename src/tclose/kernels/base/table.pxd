cimport cython
from libc.stdint cimport int32_t, int64_t, uint64_t
from tclose.kernels.base.constraints cimport ConstraintSet
from tclose.kernels.base.memory cimport Doubles, Ints, Longs, doubles, ints, longs

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    #define tclose_count_bits(word) ((int) __popcnt64(word))
    static __inline int tclose_lowest_bit(unsigned long long word) {
        unsigned long at;
        _BitScanForward64(&at, word);
        return (int) at;
    }
    static __inline int tclose_highest_bit(unsigned long long word) {
        unsigned long at;
        _BitScanReverse64(&at, word);
        return (int) at;
    }
    #else
    #define tclose_count_bits(word) __builtin_popcountll(word)
    #define tclose_lowest_bit(word) __builtin_ctzll(word)
    #define tclose_highest_bit(word) (63 - __builtin_clzll(word))
    #endif
    """
    int count_bits "tclose_count_bits"(uint64_t word) noexcept nogil
    int lowest_bit "tclose_lowest_bit"(uint64_t word) noexcept nogil
    int highest_bit "tclose_highest_bit"(uint64_t word) noexcept nogil

cdef enum LossForm:
    INTERVAL    # the distance of two positions
    TREE_TABLE  # a small hierarchy: a table by lowest and highest code
    TREE_CLIMB  # a large hierarchy: climbed from the lowest code
    SET         # by the number of values

cdef enum:
    FAR_CODE = 1 << 30   # beyond every code
    FORBIDDEN = 10_000   # a loss beyond any: of values that may not be released together

cdef struct Column:
    int64_t form
    int64_t n_codes
    int64_t missing_code  # FAR_CODE where there is none
    int64_t first_loss    # where its part of `losses` begins
    int64_t first_node    # where its parts of `tree_leaf`, `tree_parent`, `tree_last_code` begin
    int64_t is_limited    # an interval that may not be of any width

@cython.final
cdef class CodedTable:
    cdef readonly object arrays
    cdef readonly ConstraintSet constraints
    cdef readonly Py_ssize_t n_cells, n_columns, n_fields, n_orders, n_codes, widest_column
    cdef readonly Py_ssize_t steps_per_cell  # of a pass over all columns and the
                                             # sensitive values; a climb takes five
    cdef Py_ssize_t weight_stride  # n_cells where each field has weights of its own, else 0
    cdef Py_ssize_t n_weights
    cdef Ints codes                # [cell, column]
    cdef Column* columns
    cdef Doubles losses
    cdef Longs tree_leaf           # by code: its node
    cdef Longs tree_parent         # by node
    cdef Longs tree_last_code      # by node: the last code below it; of a limited interval by code:
                                   # the highest that may be released with it
    cdef Longs rows                # by cell
    cdef Longs weights             # [1 or field, cell]: what a cell adds to a histogram
    cdef Longs slots               # [cell, field]: where it adds it
    cdef Longs order_rank          # [order, cell]: near in rank is near in sensitive value
    cdef Longs order_tie           # [order, cell]: equal for equal sensitive values
    cdef Longs order_fragment      # [order, cell]: grows along the order; coarser by its last bits

cdef inline int64_t weight_of(CodedTable table, int64_t cell, Py_ssize_t field) noexcept nogil:
    """What a cell adds to a field of a class's histogram: mostly its rows."""
    return table.weights[field * table.weight_stride + cell]

cdef inline int64_t add_cell(CodedTable table, int64_t cell, int64_t times, Longs hist) noexcept nogil:
    """Adds a cell to a histogram so many times, −1 takes it out; the rows added. Cell −1: none."""
    cdef Py_ssize_t field
    if cell < 0:
        return 0
    for field in range(table.n_fields):
        hist[table.slots[cell * table.n_fields + field]] += times * weight_of(table, cell, field)
    return times * table.rows[cell]

cdef inline bint count_alike(CodedTable table, int64_t x, int64_t y) noexcept nogil:
    """Whether two cells have the same rows and weights."""
    cdef Py_ssize_t at
    if table.rows[x] != table.rows[y]:
        return False
    for at in range(table.n_weights):
        if table.weights[at * table.n_cells + x] != table.weights[at * table.n_cells + y]:
            return False
    return True

cdef inline double range_loss(
    CodedTable table, Py_ssize_t j, int64_t low, int64_t high
) noexcept nogil:
    """What column j loses where codes run from low to high (a set: where there are high values)."""
    cdef Column* column = &table.columns[j]
    cdef double* losses = table.losses + column.first_loss
    cdef int64_t node
    cdef double loss
    if column.form == SET:
        return losses[high]
    if column.form == TREE_TABLE:
        return losses[low * column.n_codes + high]
    if low == high:
        return 0.0
    if column.form == INTERVAL:
        loss = losses[high] - losses[low] if high != column.missing_code else losses[high]
        if column.is_limited and high > table.tree_last_code[column.first_node + low]:
            loss = FORBIDDEN * (1.0 + loss)
        return loss
    node = table.tree_leaf[column.first_node + low]
    while table.tree_last_code[node] < high:
        node = table.tree_parent[node]
    return losses[node - column.first_node]

cdef inline double pair_loss(CodedTable table, Py_ssize_t j, int64_t u, int64_t v) noexcept nogil:
    """What column j loses where two values are released together: their natural distance."""
    if u == v:
        return 0.0
    if table.columns[j].form == SET:
        return table.losses[table.columns[j].first_loss + 2]
    return range_loss(table, j, u if u < v else v, v if u < v else u)

cdef inline double cell_distance(CodedTable table, int64_t x, int64_t y, double most) noexcept nogil:
    """What two cells lose together, from 0 to the number of columns; beyond `most` not counted on."""
    cdef Py_ssize_t j
    cdef const int32_t* u = table.codes + x * table.n_columns
    cdef const int32_t* v = table.codes + y * table.n_columns
    cdef double total = 0.0
    for j in range(table.n_columns):
        total += pair_loss(table, j, u[j], v[j])
        if total >= most:
            break
    return total
