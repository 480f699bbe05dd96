from libc.stdint cimport int64_t
from tclose.kernels.base.memory cimport Doubles, Longs, Memory
from tclose.kernels.records.nearness cimport CurveBuckets, GrowingBox

cdef double NO_RECORD

cdef class BucketFilling:
    cdef readonly object label         # int64 [records]: the class of each; −1: none yet
    cdef Memory memory
    cdef readonly CurveBuckets buckets, everyone
    cdef readonly GrowingBox box       # of a matching that of the seed alone: growth is distance
    cdef Longs record_class

    cdef void _put(self, int64_t record, int64_t c) noexcept nogil
    cdef int64_t _fill_class(self, int64_t c, int64_t reach) noexcept nogil

cdef class QuotaFilling(BucketFilling):
    cdef Longs counts                  # [kind of class, bucket]: records that a class takes
    cdef Longs kind                    # by class

cdef class Assignment:
    cdef Memory memory
    cdef readonly Py_ssize_t n
    cdef Doubles cost                  # [row, column]
    cdef Longs row_of                  # by column: what it is assigned to
    cdef Doubles row_potential, column_potential
    cdef Doubles distance              # by column: how far it is from the new row
    cdef Longs previous                # by column: the one before it on the path
    cdef Longs is_on_path              # by column

    cdef void solve(self) noexcept nogil
    cdef Py_ssize_t _find_path(self, Py_ssize_t row) noexcept nogil

cdef class MatchingFilling(BucketFilling):
    cdef readonly Assignment assignment
    cdef Longs nearest                 # [bucket, bucket]: the record of each pair
