"""Dense products whose factors may be rounded to bfloat16 first.

A bfloat16 is the upper half of a float32: 8 bits of precision instead of 24. A rounded number is
the nearest one, of two as near the one whose last bit is 0; a NaN stays a NaN.
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport uint16_t

from fastimpl._aggregate cimport step_of
from fastimpl._blas cimport gemm, gemm_bfloat16
from fastimpl._types cimport TEAM

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>
    #include "fastimpl/_clones.h"
    static inline uint32_t gnn_nearest(uint32_t bits)
    {
        const uint32_t nan = -(uint32_t)((bits & 0x7fffffffu) > 0x7f800000u); /* all 1, or 0 */
        return ((bits + 0x7fffu + (bits >> 16 & 1)) & ~nan) | ((bits | 0x400000u) & nan);
    }
    GNN_CLONES static void gnn_to_bfloat16(const float* x, uint16_t* y, ptrdiff_t d)
    {
        for (ptrdiff_t k = 0; k < d; k++) {
            uint32_t bits;
            memcpy(&bits, x + k, 4);
            y[k] = (uint16_t)(gnn_nearest(bits) >> 16);
        }
    }
    GNN_CLONES static void gnn_rounded(const float* x, float* y, ptrdiff_t d)
    {
        for (ptrdiff_t k = 0; k < d; k++) {
            uint32_t bits;
            memcpy(&bits, x + k, 4);
            bits = gnn_nearest(bits) & 0xffff0000u;
            memcpy(y + k, &bits, 4);
        }
    }
    """
    void to_bfloat16 "gnn_to_bfloat16"(const float* x, uint16_t* y, Py_ssize_t d) noexcept nogil
    void round_row "gnn_rounded"(const float* x, float* y, Py_ssize_t d) noexcept nogil


def rounded(const float[:, :] X, float[:, ::1] Y):
    """Write the nearest bfloat16 numbers to Y, as float32."""
    cdef Py_ssize_t v, n = X.shape[0], f = X.shape[1], step
    if n == 0 or f == 0:
        return
    step = step_of(X)
    for v in prange(n, nogil=True, schedule="static", use_threads_if=n * f > TEAM):
        round_row(&X[0, 0] + v * step, &Y[v, 0], f)


def lowered(const float[:, :] X, uint16_t[:, ::1] Y):
    """Write the nearest bfloat16 numbers to Y, as bits."""
    cdef Py_ssize_t v, n = X.shape[0], f = X.shape[1], step
    if n == 0 or f == 0:
        return
    step = step_of(X)
    for v in prange(n, nogil=True, schedule="static", use_threads_if=n * f > TEAM):
        to_bfloat16(&X[0, 0] + v * step, &Y[v, 0], f)


cpdef Py_ssize_t whole_lines(Py_ssize_t width) noexcept nogil:
    """Return how many numbers there are from one row in bfloat16 to the next: cache lines of 32."""
    return (width + 31) // 32 * 32


cdef Rounded rounded_of(low):
    """Return the addresses in a right factor in bfloat16 and the threads' room, or in None."""
    cdef Rounded found
    cdef const uint16_t[:, ::1] B
    cdef uint16_t[:, ::1] room
    found.B, found.room, found.ldb, found.size = NULL, NULL, 0, 0
    if low is not None:
        B, room = low
        found.B, found.room = &B[0, 0], &room[0, 0]
        found.ldb, found.size = <int>B.shape[1], room.shape[1]
    return found


cdef void multiply(
    const Rounded* low, int thread, Py_ssize_t first,  # IN
    bint transpose_a, bint transpose_b, int rows, int cols, int inner,  # IN
    const floating* A, int lda, const floating* B, int ldb, floating beta,  # IN
    floating* C,  # INOUT
    int ldc  # IN
) noexcept nogil:
    """As `gemm`; with `low`, A is rounded and B is replaced by rows of it from `first` on."""
    cdef Py_ssize_t lines = inner if transpose_a else rows
    cdef Py_ssize_t width = rows if transpose_a else inner
    cdef Py_ssize_t i, step = whole_lines(width)
    cdef uint16_t* room
    if floating is float and low.B != NULL:
        room = low.room + thread * low.size
        for i in range(lines):
            to_bfloat16(A + i * lda, room + i * step, width)
        gemm_bfloat16(
            transpose_a, transpose_b, rows, cols, inner, room, <int>step,
            low.B + first * low.ldb, low.ldb, beta, C, ldc
        )
        return
    gemm[floating](transpose_a, transpose_b, rows, cols, inner, A, lda, B, ldb, beta, C, ldc)
