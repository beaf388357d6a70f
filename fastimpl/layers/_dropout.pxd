"""Which draws keep an element; nothing depends on the order in which elements are visited."""

from cython cimport floating
from libc.stdint cimport int64_t, uint64_t

cdef extern from "fastimpl/_draws.h":
    # whether the 53 bits of draw c of the stream `key` are at least `least`
    bint kept "gnn_kept"(uint64_t key, uint64_t c, uint64_t least) noexcept nogil
    void keep_f32 "gnn_keep_f32"(
        const float* x, uint64_t key, uint64_t c, int64_t count, uint64_t least, float scale,
        float* y
    ) noexcept nogil
    void keep_f64 "gnn_keep_f64"(
        const double* x, uint64_t key, uint64_t c, int64_t count, uint64_t least, double scale,
        double* y
    ) noexcept nogil


cdef inline void keep(
    const floating* x, uint64_t key, uint64_t c, int64_t count, uint64_t least,  # IN
    floating scale,  # IN
    floating* y  # OUT
) noexcept nogil:
    """y = scale x where draws c, c + 1, .. of the stream `key` are kept, else 0."""
    if floating is float:
        keep_f32(x, key, c, count, least, scale, y)
    else:
        keep_f64(x, key, c, count, least, scale, y)
