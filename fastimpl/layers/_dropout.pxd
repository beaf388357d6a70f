"""Which draws keep an element; nothing depends on the order in which elements are visited."""

from cython cimport floating
from libc.stdint cimport uint64_t

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    /* x, or 0: by its bits, since a branch would be wrong each other time, and not be vectorised */
    static inline float gnn_or_zero_f32(float x, int keep) {
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        bits &= -(uint32_t)keep;
        memcpy(&x, &bits, sizeof bits);
        return x;
    }
    static inline double gnn_or_zero_f64(double x, int keep) {
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        bits &= -(uint64_t)keep;
        memcpy(&x, &bits, sizeof bits);
        return x;
    }
    """
    float or_zero_f32 "gnn_or_zero_f32"(float x, bint keep) noexcept nogil
    double or_zero_f64 "gnn_or_zero_f64"(double x, bint keep) noexcept nogil

from fastimpl._streams cimport GOLD, mix


cdef inline bint kept(uint64_t key, uint64_t c, uint64_t least) noexcept nogil:
    """Whether the 53 bits of draw c of the stream `key` are at least `least`."""
    return (mix(key + GOLD * (c + 1)) >> 11) >= least


cdef inline floating or_zero(floating x, bint keep) noexcept nogil:
    """Return x where it is kept, else 0."""
    if floating is float:
        return or_zero_f32(x, keep)
    return or_zero_f64(x, keep)
