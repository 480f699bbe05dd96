# Pointers into arrays of numpy. Whoever asks for one keeps the array alive. An array that is not
# laid out row by row, or of another type, is refused.

from libc.stdint cimport int8_t, int32_t, int64_t

ctypedef int64_t* Longs
ctypedef const int64_t* ConstLongs

cdef void* find_start(object array, str kinds, Py_ssize_t size) except? NULL


cdef inline Longs longs(object array) except? NULL:
    return <Longs> find_start(array, "lq", sizeof(int64_t))


cdef inline int32_t* ints(object array) except? NULL:
    return <int32_t*> find_start(array, "il", sizeof(int32_t))


cdef inline int8_t* bytes_of(object array) except? NULL:
    return <int8_t*> find_start(array, "b", sizeof(int8_t))


cdef inline double* doubles(object array) except? NULL:
    return <double*> find_start(array, "d", sizeof(double))


cdef inline void clear(Longs numbers, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t at
    for at in range(count):
        numbers[at] = 0
