# Records in buckets, each in the order of a curve, from which near ones are taken.

from libc.stdint cimport int64_t

from tclose.kernels.base.memory cimport Longs
from tclose.kernels.records.growing_box cimport GrowingBox


cdef class CurveBuckets:
    cdef object owners
    cdef readonly Py_ssize_t n_records, n_buckets
    # every bucket is a run of places in the order of the curve, and ends with one without a record
    cdef Longs first          # by bucket: its first place
    cdef Longs record         # by place; −1: none
    cdef Longs before         # by place: the last before it that still has its record; −1: none
    cdef Longs after          # by place: the next
    cdef Longs skip_to        # by place: one at or after it that may still have its record
    cdef Longs place          # by record
    cdef Longs bucket         # by record
    cdef Longs cell           # by record

    cdef int64_t first_at(self, int64_t place) noexcept nogil
    cdef int64_t place_of(self, int64_t record, int64_t bucket) noexcept nogil
    cdef int64_t end_of(self, int64_t bucket) noexcept nogil
    cdef void take(self, int64_t record) noexcept nogil
    cdef (int64_t, double, int64_t) pick(
        self, int64_t record, int64_t bucket, int64_t reach, GrowingBox box
    ) noexcept nogil
