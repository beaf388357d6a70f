"""The keyed generator of refimpl/streams.py, for other kernels to cimport."""

from libc.stdint cimport int32_t, int64_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>
    #define GNN_GOLD UINT64_C(0x9E3779B97F4A7C15)
    static inline uint64_t gnn_mix(uint64_t x) {
        x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
        return x ^ (x >> 31);
    }
    static inline double gnn_uniform(uint64_t k, uint64_t c) {
        return (double)(gnn_mix(k + GNN_GOLD * (c + 1)) >> 11) * 0x1p-53;
    }
    """
    uint64_t GOLD "GNN_GOLD"
    uint64_t mix "gnn_mix"(uint64_t x) noexcept nogil
    double uniform "gnn_uniform"(uint64_t k, uint64_t c) noexcept nogil


cdef inline int64_t below(uint64_t k, uint64_t c, int64_t n) noexcept nogil:
    """Draw number c of stream k, in [0, n)."""
    return <int64_t>(uniform(k, c) * <double>n)


cdef int64_t displaced_size(int64_t m) noexcept nogil
cdef void partial_shuffle(
    uint64_t k, uint64_t c, int64_t N, int64_t m, int32_t* picked, int32_t* displaced
) noexcept nogil
