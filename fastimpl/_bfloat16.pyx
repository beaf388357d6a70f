"""Dense products whose factors may be rounded to bfloat16 first.

A bfloat16 is the upper half of a float32: 8 bits of precision instead of 24. A rounded number is
the nearest one, of two as near the one whose last bit is 0; a NaN stays a NaN.
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport uint16_t

from fastimpl._aggregate cimport step_of
from fastimpl._blas cimport gemm, gemm_bfloat16
from fastimpl._blas import multiplies_bfloat16
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

cdef extern from "fastimpl/_tiles.h":
    cdef enum:
        TILE "GNN_TILE"
    ctypedef struct Packed "gnn_packed":
        const uint16_t* tiles
        Py_ssize_t depth
    ctypedef struct Result "gnn_result":
        float* C
        Py_ssize_t step
        Py_ssize_t cols
    bint has_tiles "gnn_has_tiles"() noexcept nogil
    Py_ssize_t tile_size "gnn_tile_size"(Py_ssize_t inner, Py_ssize_t cols) noexcept nogil
    Py_ssize_t tile_room "gnn_tile_room"(
        bint transpose, Py_ssize_t rows, Py_ssize_t inner
    ) noexcept nogil
    void pack_right "gnn_pack_right"(
        bint transpose, Py_ssize_t inner, Py_ssize_t cols, const float* B, Py_ssize_t step,
        Py_ssize_t row, uint16_t* tiles
    ) noexcept nogil
    void tile_product "gnn_tile_product"(
        bint transpose, Py_ssize_t rows, Py_ssize_t inner, const float* A, Py_ssize_t step,
        Packed B, bint add, const Result* results, int count, uint16_t* room
    ) noexcept nogil


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


cdef bint on_tiles = has_tiles()


def use_tiles(bint on=True):
    """Multiply on AMX's tiles, where this processor has them, or with False not: for tests.

    Returns whether products are on tiles now; no product may be running.
    """
    global on_tiles
    on_tiles = on and has_tiles()
    return on_tiles


def in_tiles():
    """Return whether products are on tiles: a row of them then has the same bits anywhere."""
    return on_tiles


def fast():
    """Return whether products of bfloat16 are faster than of float32: on tiles, or by the BLAS."""
    return on_tiles or multiplies_bfloat16()


cdef Py_ssize_t whole_lines(Py_ssize_t width) noexcept nogil:
    """Return how many numbers there are from one row in bfloat16 to the next: cache lines of 32."""
    return (width + 31) // 32 * 32


def right_size(Py_ssize_t inner, Py_ssize_t cols, bint transpose_b=False):
    """Return how many numbers a right factor of inner x cols numbers takes in bfloat16."""
    if on_tiles:
        return tile_size(inner, cols)
    return cols * whole_lines(inner) if transpose_b else inner * whole_lines(cols)


def left_size(Py_ssize_t rows, Py_ssize_t inner, bint transpose_a=False):
    """Return how many numbers a thread needs room for that multiplies so much at a time."""
    if on_tiles:
        return tile_room(transpose_a, rows, inner)
    return inner * whole_lines(rows) if transpose_a else rows * whole_lines(inner)


cdef Rounded no_rounding() noexcept nogil:
    """Return what lets `multiply` multiply the factors as they are."""
    cdef Rounded low
    low.B, low.ldb, low.room, low.size, low.tiles = NULL, 0, NULL, 0, False
    return low


cdef Rounded rounded_right(memory, const floating[:, :] B, bint transpose_b):
    """Round a right factor into `memory`, unless that is None; return what `multiply` needs."""
    cdef Rounded low = no_rounding()
    cdef uint16_t[::1] to
    cdef uint16_t[:, ::1] room
    if floating is float:
        if memory is not None:
            to, room = memory
            low.B, low.room, low.size, low.tiles = &to[0], &room[0, 0], room.shape[1], on_tiles
            low.ldb = <int>whole_lines(B.shape[1])
            if on_tiles:
                low.ldb = <int>((B.shape[transpose_b] + 31) // 32)
            pack(&low, B, transpose_b, &to[0])
    return low


cdef void pack(const Rounded* low, const float[:, :] B, bint transpose_b, uint16_t* to):
    """Write a right factor to where `multiply` looks for it."""
    cdef Py_ssize_t i, step = step_of(B), inner = B.shape[transpose_b]
    cdef Py_ssize_t rows = B.shape[0], cols = B.shape[1]
    cdef const float* first = &B[0, 0]
    if low.tiles:
        for i in prange((inner + 31) // 32, nogil=True, schedule="static"):
            pack_right(
                transpose_b, inner, rows if transpose_b else cols, first, step, 32 * i, to
            )
    else:
        for i in prange(rows, nogil=True, schedule="static"):
            to_bfloat16(first + i * step, to + i * low.ldb, cols)


cdef Rounded rounded_pair(memory, const floating[:, :] B, const floating[:, :] S):
    """The same for two right factors on tiles, which `multiply_pair` multiplies."""
    cdef Rounded low = rounded_right(memory, B, False)
    cdef uint16_t[::1] to
    if floating is float:
        to = memory[0]
        pack(&low, S, False, &to[tile_size(B.shape[0], B.shape[1])])
    return low


cdef void multiply_pair(
    const Rounded* low, int thread, int rows, int inner, const floating* A, int lda,  # IN
    floating* C,  # OUT
    Py_ssize_t c_step, Py_ssize_t c,  # IN
    floating* D,  # OUT
    Py_ssize_t d_step, Py_ssize_t d  # IN
) noexcept nogil:
    """C = A B and D = A S on tiles, c and d columns wide, for what `rounded_pair` rounded."""
    cdef Packed packed
    cdef Result[2] results
    if floating is float:
        packed.tiles, packed.depth = low.B, low.ldb
        results[0].C, results[0].step, results[0].cols = C, c_step, c
        results[1].C, results[1].step, results[1].cols = D, d_step, d
        tile_product(
            False, rows, inner, A, lda, packed, False, results, 2, low.room + thread * low.size
        )


cdef void multiply(
    const Rounded* low, int thread, Py_ssize_t first,  # IN
    bint transpose_a, bint transpose_b, int rows, int cols, int inner,  # IN
    const floating* A, int lda, const floating* B, int ldb, floating beta,  # IN
    floating* C,  # INOUT
    int ldc  # IN
) noexcept nogil:
    """As `gemm`; with `low`, A is rounded and B is replaced by rows of it from `first` on.

    On tiles, `first` is a multiple of 32, and beta 0 or 1.
    """
    cdef Py_ssize_t lines = inner if transpose_a else rows
    cdef Py_ssize_t width = rows if transpose_a else inner
    cdef Py_ssize_t i, step = whole_lines(width)
    cdef uint16_t* room
    cdef Packed packed
    cdef Result result
    if floating is float and low.B != NULL:
        room = low.room + thread * low.size
        if low.tiles:
            packed.tiles, packed.depth = low.B + first // 32 * 2 * TILE, low.ldb
            result.C, result.step, result.cols = C, ldc, cols
            tile_product(
                transpose_a, rows, inner, A, lda, packed, beta != 0, &result, 1, room
            )
            return
        for i in range(lines):
            to_bfloat16(A + i * lda, room + i * step, width)
        gemm_bfloat16(
            transpose_a, transpose_b, rows, cols, inner, room, <int>step,
            low.B + first * low.ldb, low.ldb, beta, C, ldc
        )
        return
    gemm[floating](transpose_a, transpose_b, rows, cols, inner, A, lda, B, ldb, beta, C, ldc)
