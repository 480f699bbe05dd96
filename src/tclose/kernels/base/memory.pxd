# Pointers into arrays of numpy. Whoever asks for one keeps the array alive; an array that is not
# laid out row by row is refused, since a copy of it would be gone before it is read.

from libc.stdint cimport int8_t, int32_t, int64_t

ctypedef int64_t* Longs
ctypedef const int64_t* ConstLongs


cdef inline Longs longs(const int64_t[::1] array) noexcept:
    return <Longs> &array[0] if array.shape[0] > 0 else NULL


cdef inline Longs long_rows(const int64_t[:, ::1] array) noexcept:
    return <Longs> &array[0, 0] if array.shape[0] > 0 and array.shape[1] > 0 else NULL


cdef inline int32_t* int_rows(const int32_t[:, ::1] array) noexcept:
    return <int32_t*> &array[0, 0] if array.shape[0] > 0 and array.shape[1] > 0 else NULL


cdef inline int32_t* ints(const int32_t[::1] array) noexcept:
    return <int32_t*> &array[0] if array.shape[0] > 0 else NULL


cdef inline int8_t* bytes_of(const int8_t[::1] array) noexcept:
    return <int8_t*> &array[0] if array.shape[0] > 0 else NULL


cdef inline double* doubles(const double[::1] array) noexcept:
    return <double*> &array[0] if array.shape[0] > 0 else NULL


cdef inline void clear(Longs numbers, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t at
    for at in range(count):
        numbers[at] = 0
