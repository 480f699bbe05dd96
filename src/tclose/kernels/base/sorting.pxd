# Numbers put in order in place: sorted, or divided in two with their order kept.

from libc.stdint cimport int32_t, int64_t


cdef inline void sort_ascending(int64_t* numbers, Py_ssize_t count) noexcept nogil:
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
    int64_t* ids, Py_ssize_t lo, Py_ssize_t hi, const int32_t* goes_left, int64_t* spare
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
