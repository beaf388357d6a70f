"""The keyed generator of refimpl/streams.py, for other kernels to cimport."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from fastimpl._interrupts cimport Watch

cdef extern from "fastimpl/_streams.h":
    uint64_t GOLD "GNN_GOLD"
    uint64_t mix "gnn_mix"(uint64_t x) noexcept nogil
    double uniform "gnn_uniform"(uint64_t k, uint64_t c) noexcept nogil
    # draw number c of stream k, in [0, n)
    int64_t below "gnn_below"(uint64_t k, uint64_t c, int64_t n) noexcept nogil
    int lowest_bit "gnn_lowest_bit"(uint64_t x) noexcept nogil


cdef inline uint64_t absorb(uint64_t k, uint64_t part) noexcept nogil:
    """The key that has one part more than k."""
    return mix(k + GOLD + part)


cdef int64_t displaced_size(int64_t m) noexcept nogil
cdef void partial_shuffle(
    uint64_t k, uint64_t c, int64_t N, int64_t m, int32_t* picked, int32_t* displaced,
    Watch* watch
) noexcept nogil

cdef extern from "fastimpl/_floyd.h":
    void picks "gnn_picks"(
        const int32_t* drawn, int64_t n, int64_t f, int words, int32_t* chosen, int32_t* place
    ) noexcept nogil

cdef enum:
    FEW = 64  # picks at most that are compared with each other, one by one


cdef inline void floyd_few(
    uint64_t k, int64_t n, int64_t f, int64_t first, int64_t* where
) noexcept nogil:
    """Floyd's f of n integers, ascending, each plus `first`; f is at most FEW and at most n."""
    if f <= 16:
        floyd_lanes(k, n, f, first, 16, where)
    elif f <= 32:
        floyd_lanes(k, n, f, first, 32, where)
    else:
        floyd_lanes(k, n, f, first, FEW, where)


cdef inline void floyd_lanes(
    uint64_t k, int64_t n, int64_t f, int64_t first, const int32_t lanes, int64_t* where
) noexcept nogil:
    """The same for at most `lanes` of them, a multiple of 16 that the compiler knows."""
    cdef int32_t[FEW] drawn, chosen, place
    cdef int64_t c
    cdef int32_t i
    for i in range(lanes):
        drawn[i] = <int32_t>below(k, <uint64_t>i, n - f + i + 1)
    picks(drawn, n, f, lanes // 16, chosen, place)
    for c in range(f):
        where[place[c]] = first + chosen[c]


cdef inline void floyd_many(
    uint64_t k, int64_t n, int64_t f, int64_t first, uint64_t* bits, int64_t* where
) noexcept nogil:
    """The same for any f, in O(f + n / 64); `bits` is a set of n numbers, empty, left empty."""
    cdef int64_t c, x, word
    cdef uint64_t left
    for c in range(f):
        x = below(k, <uint64_t>c, n - f + c + 1)
        if bits[x >> 6] >> (x & 63) & 1:
            x = n - f + c
        bits[x >> 6] |= <uint64_t>1 << (x & 63)
    c = 0
    for word in range((n + 63) // 64):
        left = bits[word]
        bits[word] = 0
        while left:
            where[c] = first + 64 * word + lowest_bit(left)
            left &= left - 1
            c += 1
