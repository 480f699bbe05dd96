# Classes filled from buckets of records: by quotas, or by a matching of buckets.

from libc.stdint cimport int8_t, int64_t

from tclose.kernels.base.memory cimport Longs
from tclose.kernels.records.buckets cimport CurveBuckets
from tclose.kernels.records.growing_box cimport GrowingBox

cdef double NO_RECORD


cdef class QuotaFilling:
    cdef readonly object label         # int64 [records]: the class of each; −1: none yet
    cdef object owners
    cdef readonly CurveBuckets buckets
    cdef readonly CurveBuckets everyone
    cdef readonly GrowingBox box
    cdef Longs counts                  # [kind of class, bucket]: records that a class takes
    cdef Longs kind                    # by class
    cdef Longs record_class

    cdef int64_t _choose_seed(self, Longs quota) noexcept nogil
    cdef int64_t _fill_class(self, int64_t c, int64_t reach) noexcept nogil


cdef class Assignment:
    cdef object owners
    cdef readonly Py_ssize_t n
    cdef double* cost                  # [row, column]
    cdef Longs row_of                  # by column: what it is assigned to
    cdef double* row_potential
    cdef double* column_potential
    cdef double* distance              # by column: how far it is from the new row
    cdef Longs previous                # by column: the one before it on the path
    cdef int8_t* is_on_path

    cdef void solve(self) noexcept nogil
    cdef Py_ssize_t _find_path(self, Py_ssize_t row) noexcept nogil


cdef class MatchingFilling:
    cdef readonly object label
    cdef object owners
    cdef readonly CurveBuckets buckets
    cdef readonly CurveBuckets everyone
    cdef readonly GrowingBox box       # that of the seed alone: growth is the distance from it
    cdef readonly Assignment assignment
    cdef Longs nearest                 # [bucket, bucket]: the record of each pair
    cdef Longs record_class

    cdef int64_t _fill_class(self, int64_t c, int64_t reach) noexcept nogil
