from libc.stdint cimport int32_t, int64_t
from tclose.kernels.base.memory cimport Doubles, Longs, Memory
from tclose.kernels.base.table cimport CodedTable, pair_loss

cdef enum:
    MASK_BITS = 63  # codes that `present` tells apart; of sets with more, growth may be a lower bound

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

cdef class GrowingBox:
    cdef readonly CodedTable table
    cdef Memory memory
    cdef Longs low, high      # by column: the lowest and highest code
    cdef Longs present        # by column: a bit for each code modulo MASK_BITS
    cdef Doubles width        # by column: what it loses
    cdef Doubles next_value   # by column: of a set, what one more value would add

    cdef void start(self, int64_t x) noexcept nogil
    cdef void add(self, int64_t x) noexcept nogil
    cdef double growth(self, int64_t x, double most) noexcept nogil

cdef class CurveBuckets:
    cdef Memory memory
    cdef readonly Py_ssize_t n_records, n_buckets
    # every bucket is a run of places in the order of the curve, and ends with one without a record
    cdef Longs first          # by bucket: its first place
    cdef Longs record         # by place; −1: none
    cdef Longs before, after  # by place: the last and next that still have their record; −1: none
    cdef Longs skip_to        # by place: one at or after it that may still have its record
    cdef Longs place, bucket, cell  # by record

    cdef int64_t first_at(self, int64_t place) noexcept nogil
    cdef int64_t place_of(self, int64_t record, int64_t bucket) noexcept nogil
    cdef int64_t end_of(self, int64_t bucket) noexcept nogil
    cdef void take(self, int64_t record) noexcept nogil
    cdef (int64_t, double, int64_t) pick(
        self, int64_t record, int64_t bucket, int64_t reach, GrowingBox box
    ) noexcept nogil
