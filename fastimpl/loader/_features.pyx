"""Gathering rows. Arguments were checked by features.py and gathering.py.

A page of a memory-mapped file is read when a row in it is touched: here, where other Python
threads may run, and by several threads of this loop at once.
"""

from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint8_t, uint16_t
from libc.string cimport memcpy

from fastimpl._graph cimport prefetch
from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped
from fastimpl._types cimport offsets_of

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    /* The values of halves in single precision, exactly; a NaN keeps its bits. There is no choice
       in it, so that compilers make vector instructions of it. A subnormal half is the difference
       of two normal numbers. */
    static inline void gnn_widen(const uint16_t* half, float* single, int64_t d)
    {
        for (int64_t k = 0; k < d; k++) {
            const uint32_t h = half[k], exponent = h & 0x7c00u;
            const uint32_t sign = (h & 0x8000u) << 16, shifted = (h & 0x7fffu) << 13;
            const uint32_t bias = 0x38000000u + (exponent == 0x7c00u) * 0x38000000u;
            const uint32_t tiny = -(uint32_t)(exponent == 0);  /* all ones, or none */
            uint32_t bits = shifted + 0x38800000u, small;  /* 2**-14 (1 + fraction) */
            float value;
            memcpy(&value, &bits, 4);
            value -= 6.103515625e-05f;  /* 2**-14 fraction: exact */
            memcpy(&small, &value, 4);
            bits = ((shifted + bias) & ~tiny) | (small & tiny) | sign;
            memcpy(single + k, &bits, 4);
        }
    }
    """
    void widen "gnn_widen"(const uint16_t* half, float* single, int64_t d) noexcept nogil

ctypedef fused number:
    float
    double

ctypedef fused result:
    float
    double

cdef enum:
    ROWS = 64  # that a thread takes at a time
    AHEAD = 8  # rows between the one copied and the one being fetched


def copy_rows(
    const uint8_t[:, ::1] X, const int64_t[::1] rows, const int64_t[::1] positions,
    uint8_t[:, ::1] out
):
    """Copy rows of bytes; `rows` or `positions` None are those in turn."""
    cdef int64_t n = _count(X.shape[0], rows), begin
    cdef int64_t size = X.shape[1]
    cdef const int64_t* source = NULL
    cdef const int64_t* target = NULL
    cdef Watch watch = new_watch()
    if n == 0:
        return
    if rows is not None:
        source = offsets_of(rows)
    if positions is not None:
        target = offsets_of(positions)
    cdef const uint8_t* first = &X[0, 0]
    cdef uint8_t* result = &out[0, 0]
    for begin in prange(0, n, ROWS, nogil=True, schedule="dynamic", use_threads_if=n > ROWS):
        if stopped(&watch):
            continue
        copy_batch(first, source, target, result, begin, min(begin + ROWS, n), size)
    raise_if_stopped(&watch)


def widen_rows(
    const uint16_t[:, ::1] X, const int64_t[::1] rows, const int64_t[::1] positions,
    float[:, ::1] out
):
    """Copy rows of halves as single precision; `rows` or `positions` None are those in turn."""
    cdef int64_t n = _count(X.shape[0], rows), begin
    cdef int64_t d = X.shape[1]
    cdef const int64_t* source = NULL
    cdef const int64_t* target = NULL
    cdef Watch watch = new_watch()
    if n == 0:
        return
    if rows is not None:
        source = offsets_of(rows)
    if positions is not None:
        target = offsets_of(positions)
    cdef const uint16_t* first = &X[0, 0]
    cdef float* result = &out[0, 0]
    for begin in prange(0, n, ROWS, nogil=True, schedule="dynamic", use_threads_if=n > ROWS):
        if stopped(&watch):
            continue
        widen_batch(first, source, target, result, begin, min(begin + ROWS, n), d)
    raise_if_stopped(&watch)


def scale_rows(
    number[:, ::1] X, const double[::1] mean, const double[::1] std, result[:, ::1] out
):
    """Put (X - mean) / std in `out`, which may be X."""
    cdef int64_t n = X.shape[0], d = X.shape[1], begin
    cdef Watch watch = new_watch()
    if n == 0 or d == 0:
        return
    for begin in prange(0, n, ROWS, nogil=True, schedule="dynamic", use_threads_if=n > ROWS):
        if stopped(&watch):
            continue
        scale_batch(&X[0, 0], &mean[0], &std[0], &out[0, 0], begin, min(begin + ROWS, n), d)
    raise_if_stopped(&watch)


cdef void scale_batch(
    const number* X, const double* mean, const double* std,  # IN
    result* out,  # OUT
    int64_t begin, int64_t end, int64_t d  # IN
) noexcept nogil:
    cdef int64_t i, k
    for i in range(begin, end):
        for k in range(d):
            out[i * d + k] = <result>((<double>X[i * d + k] - mean[k]) / std[k])


cdef int64_t _count(int64_t all_rows, const int64_t[::1] rows):
    return all_rows if rows is None else rows.shape[0]


cdef inline int64_t place(const int64_t* places, int64_t k) noexcept nogil:
    return k if places == NULL else places[k]


cdef void copy_batch(
    const uint8_t* X, const int64_t* rows, const int64_t* positions,  # IN
    uint8_t* out,  # OUT
    int64_t begin, int64_t end, int64_t size  # IN
) noexcept nogil:
    cdef int64_t k
    for k in range(begin, end):
        if k + AHEAD < end:
            prefetch(X + place(rows, k + AHEAD) * size)
        memcpy(out + place(positions, k) * size, X + place(rows, k) * size, <size_t>size)


cdef void widen_batch(
    const uint16_t* X, const int64_t* rows, const int64_t* positions,  # IN
    float* out,  # OUT
    int64_t begin, int64_t end, int64_t d  # IN
) noexcept nogil:
    cdef int64_t k
    for k in range(begin, end):
        if k + AHEAD < end:
            prefetch(X + place(rows, k + AHEAD) * d)
        widen(X + place(rows, k) * d, out + place(positions, k) * d, d)
