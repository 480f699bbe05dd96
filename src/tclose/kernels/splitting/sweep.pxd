# What every cut of a node along a column would lose.

from libc.stdint cimport int32_t, int64_t

from tclose.kernels.base.memory cimport ConstLongs, Longs
from tclose.kernels.splitting.node cimport NodeWorkspace

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static __inline int tclose_lowest_bit(unsigned long long word) {
        unsigned long at;
        _BitScanForward64(&at, word);
        return (int) at;
    }
    #else
    #define tclose_lowest_bit(word) __builtin_ctzll(word)
    #endif
    """
    int lowest_bit "tclose_lowest_bit"(int64_t word) noexcept nogil


cdef void set_bits(NodeWorkspace node) noexcept nogil
cdef bint weigh_cuts(NodeWorkspace node, Py_ssize_t j) noexcept nogil
cdef void order_along(NodeWorkspace node, Py_ssize_t j) noexcept nogil

cdef (Py_ssize_t, Py_ssize_t) allowed_ranks(
    ConstLongs rank_rows, Py_ssize_t n_ranks, int64_t k
) noexcept nogil
cdef void unite_bits(
    const int32_t* rank, ConstLongs bits, Py_ssize_t n_cells, Longs rank_bits, Py_ssize_t n_ranks
) noexcept nogil
cdef void sweep_bits(
    NodeWorkspace node, Py_ssize_t start, Py_ssize_t count, Py_ssize_t step, double* losses
) noexcept nogil
cdef void find_ends(NodeWorkspace node, Py_ssize_t j, Py_ssize_t i) noexcept nogil
cdef void sweep_column(
    NodeWorkspace node, Py_ssize_t j, Py_ssize_t i, const int32_t* occurs,
    Py_ssize_t start, Py_ssize_t count, Py_ssize_t step, double* losses,
) noexcept nogil
