cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from tclose.kernels.base.memory cimport Doubles, Longs, Memory, longs
from tclose.kernels.base.table cimport FAR_CODE, SET, CodedTable, cell_distance, count_bits, range_loss

cdef enum:
    MASK_BITS = 63  # codes that `present` tells apart; of sets with more, growth may be a lower bound

cdef class GrowingBox(Memory):
    cdef readonly CodedTable table
    cdef Longs low, high      # by column: the lowest and highest code
    cdef Longs present        # by column: a bit for each code modulo MASK_BITS
    cdef Doubles width, next_value  # by column: what it loses; of a set, what one more value adds

    cdef void start(self, int64_t x) noexcept nogil
    cdef void add(self, int64_t x) noexcept nogil
    cdef double growth(self, int64_t x, double most) noexcept nogil

@cython.final
cdef class CurveBuckets(Memory):
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
    cpdef void remove(self, int64_t record) noexcept nogil
    cdef (int64_t, double, int64_t) pick(
        self, int64_t record, int64_t bucket, int64_t reach, GrowingBox box
    ) noexcept nogil

cdef class BucketFilling(Memory):
    cdef readonly object label         # int64 [records]: the class of each; −1: none yet
    cdef readonly CurveBuckets buckets, everyone
    cdef readonly GrowingBox box       # of a matching that of the seed alone: growth is distance
    cdef Longs record_class

    cdef void _put(self, int64_t record, int64_t c) noexcept nogil
    cdef int64_t _fill_class(self, int64_t c, int64_t reach) noexcept nogil

cdef class QuotaFilling(BucketFilling):
    cdef Longs counts, kind            # [kind, bucket]: records that a class takes; by class

cdef class Assignment(Memory):
    cdef readonly Py_ssize_t n
    cdef Doubles cost                  # [row, column]
    cdef Longs row_of                  # by column: what it is assigned to
    cdef Doubles row_potential, column_potential
    cdef Doubles distance              # by column: how far it is from the new row
    cdef Longs previous, is_on_path    # by column: the one before it on the path

    cdef void solve(self) noexcept nogil
    cdef Py_ssize_t _find_path(self, Py_ssize_t row) noexcept nogil

cdef class MatchingFilling(BucketFilling):
    cdef readonly Assignment assignment
    cdef Longs nearest                 # [bucket, bucket]: the record of each pair
