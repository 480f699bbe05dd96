# Pointers into arrays of numpy, and numbers put in order in place. Whoever asks for a pointer keeps
# the array alive, mostly as a Memory. An array of another type, or not laid out row by row, is refused.

from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int8_t, int32_t, int64_t

ctypedef int64_t* Longs
ctypedef const int64_t* ConstLongs
ctypedef int32_t* Ints
ctypedef double* Doubles

cdef void* find_start(object array, str kinds, Py_ssize_t size) except? NULL

cdef class Memory:
    cdef list kept  # arrays

    cdef object keep(self, object array)
    cdef Longs longs(self, Py_ssize_t count) except? NULL
    cdef Ints ints(self, Py_ssize_t count) except? NULL
    cdef Doubles doubles(self, Py_ssize_t count) except? NULL
    cdef Longs longs_of(self, object array) except? NULL
    cdef Doubles doubles_of(self, object array) except? NULL

cdef inline Longs longs(object array) except? NULL:
    return <Longs> find_start(array, "lq", sizeof(int64_t))

cdef inline Ints ints(object array) except? NULL:
    return <Ints> find_start(array, "il", sizeof(int32_t))

cdef inline int8_t* bytes_of(object array) except? NULL:
    return <int8_t*> find_start(array, "b", sizeof(int8_t))

cdef inline Doubles doubles(object array) except? NULL:
    return <Doubles> find_start(array, "d", sizeof(double))

cdef inline void clear(Longs numbers, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t at
    for at in range(count):
        numbers[at] = 0

cdef inline void sort_ascending(Longs numbers, Py_ssize_t count) noexcept nogil:
    """Ascending order, in place (Shell's sort)."""
    cdef Py_ssize_t step = 1, p, q
    cdef int64_t number
    while step < count // 3:
        step = 3 * step + 1
    while step > 0:
        for p in range(step, count):
            number = numbers[p]
            q = p
            while q >= step and numbers[q - step] > number:
                numbers[q] = numbers[q - step]
                q -= step
            numbers[q] = number
        step //= 3

cdef inline Py_ssize_t divide_stably(
    Longs ids, Py_ssize_t lo, Py_ssize_t hi, const int32_t* goes_left, Longs spare
) noexcept nogil:
    """Ids that go left (`goes_left[p − lo]` is not 0) to the front, order kept; the border."""
    cdef Py_ssize_t a = lo, b = 0, p
    for p in range(lo, hi):
        if goes_left[p - lo] != 0:
            ids[a] = ids[p]
            a += 1
        else:
            spare[b] = ids[p]
            b += 1
    for p in range(b):
        ids[a + p] = spare[p]
    return a
