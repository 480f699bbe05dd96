cimport cython
from libc.stdint cimport int64_t, uint64_t

@cython.final
cdef class RandomStream:
    cdef uint64_t state

cdef inline int64_t draw(RandomStream stream, int64_t m) noexcept nogil:
    """A whole number from 0 to m − 1 (xorshift64*)."""
    cdef uint64_t x = stream.state
    x ^= x >> 12
    x ^= x << 25
    x ^= x >> 27
    stream.state = x
    return <int64_t> ((x * <uint64_t> 2685821657736338717) >> 33) % m

cdef inline double draw_unit(RandomStream stream) noexcept nogil:
    """A number in [0, 1)."""
    return <double> draw(stream, 1 << 30) / (1 << 30)
