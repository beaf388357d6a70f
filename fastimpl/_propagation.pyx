"""Kernels for sparse and dense products. Arguments were checked by the callers.

Matrices are row-major; a matrix may be some columns of a wider one, so rows have a distance.
Nothing here depends on the number of threads: a row of a sparse product is one thread's, and a
dense product is cut into blocks by its shape alone, each of which one thread gives to BLAS.
"""

import numpy as np
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from fastimpl._aggregate cimport (
    PART_BYTES,
    Sum,
    pack_f32,
    pack_f64,
    part_f32,
    part_f64,
    step_of,
    sum_row,
)
from fastimpl._bfloat16 cimport Rounded, multiply, multiply_pair, rounded_pair, rounded_right
from fastimpl._bfloat16 import in_tiles
from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped, stopped_at
from fastimpl._types cimport DENSE_TEAM, TEAM, gnn_seconds

cdef enum:
    ROWS = 512  # of a block at most: BLAS then runs at the speed of the whole product
    BLOCKS = 8  # of a product at least, if it has rows enough: smaller blocks slow BLAS down
    PART_ROWS = 1024  # of one part of the columns, between two looks for signals
    SUMS = 16  # of a product over many rows at most: each keeps a result of its own
    SUM_ROWS = 256  # of one of these sums at least: adding a result costs as much as a few rows
    WIDE = 512  # rows of a result from which on it is cut in two, and has half as many sums
    TILE_ROWS = 128  # of a block on AMX's tiles, which work on 32 rows at a time
    TILE_SUM_ROWS = 512  # of a sum there
    TILE_WIDE = 128  # rows of a result from which on it is cut in two there

part_bytes = PART_BYTES


cdef Py_ssize_t block_rows(Py_ssize_t rows) noexcept nogil:
    """Return the rows of a block: a multiple of 64, the same for any number of threads."""
    return min(<Py_ssize_t>ROWS, max(<Py_ssize_t>1, (rows + 64 * BLOCKS - 1) // (64 * BLOCKS)) * 64)


cdef Py_ssize_t inner_rows(Py_ssize_t inner, Py_ssize_t rows, bint tiles) noexcept nogil:
    """Return how many of `inner` rows one partial sum of a result with `rows` rows covers."""
    cdef Py_ssize_t sums = SUMS if rows < WIDE else SUMS // 2
    cdef Py_ssize_t least = TILE_SUM_ROWS if tiles else SUM_ROWS
    return max(least, (inner + 64 * sums - 1) // (64 * sums) * 64)


cdef Py_ssize_t rows_of_a_cut(Py_ssize_t rows, bint tiles) noexcept nogil:
    """Return how many rows of its result a partial sum covers."""
    if tiles:
        return rows if rows < TILE_WIDE else (rows + 63) // 64 * 32
    return rows if rows < WIDE else (rows + 31) // 32 * 16


def rows_of_a_block(Py_ssize_t rows, bint tiles=False):
    """Return the rows of a block of a product with so many."""
    return min(block_rows(rows), <Py_ssize_t>TILE_ROWS) if tiles else block_rows(rows)


def partial_sums(Py_ssize_t inner, Py_ssize_t rows, bint tiles=False):
    """Return how many partial sums `matmul_t` needs room for, for a result with `rows` rows."""
    cdef Py_ssize_t covered = inner_rows(inner, rows, tiles)
    return (inner + covered - 1) // covered


def block_of_a_sum(Py_ssize_t inner, Py_ssize_t rows, bint tiles=False):
    """Return how many rows and columns of A a thread of `matmul_t` multiplies at a time."""
    return min(inner, inner_rows(inner, rows, tiles)), rows_of_a_cut(rows, tiles)


cdef inline void sum_part(
    const Sum* sums, const int64_t* start, const int64_t* end, int64_t rows, int64_t sources,  # IN
    const floating* X, Py_ssize_t x_step, Py_ssize_t part,  # IN
    floating* packed, floating* Y,  # OUT
    Py_ssize_t y_step,  # IN
    Watch* watch  # INOUT
) noexcept nogil:
    cdef int64_t i, first, count
    if floating is double:
        pack_f64(X, x_step, sources, part, packed)
    else:
        pack_f32(X, x_step, sources, part, packed)
    for i in range((rows + PART_ROWS - 1) // PART_ROWS):
        if stopped(watch):
            return
        first = i * PART_ROWS
        count = min(<int64_t>PART_ROWS, rows - first)
        if floating is double:
            part_f64(
                sums, start + first, end + first, count, packed, part, Y + first * y_step, y_step
            )
        else:
            part_f32(
                sums, start + first, end + first, count, packed, part, Y + first * y_step, y_step
            )


cdef inline void finish(
    floating* C, Py_ssize_t step, Py_ssize_t rows, Py_ssize_t cols, const floating* bias, bint relu
) noexcept nogil:
    """Add the bias, and take the ReLU, of a block that is still in cache; a NaN stays one."""
    cdef Py_ssize_t i, k
    cdef floating* row
    if bias == NULL and not relu:
        return
    for i in range(rows):
        row = C + i * step
        if bias != NULL:
            for k in range(cols):
                row[k] = row[k] + bias[k]
        if relu:
            for k in range(cols):
                row[k] = 0 if row[k] <= 0 else row[k]


def spmm(
    const int64_t[:] start, const int64_t[:] end, const int32_t[::1] indices,  # IN
    const floating[::1] data, const floating[:, :] X,  # IN
    floating[:, :] Y,  # OUT
    const floating[::1] bias, bint relu,  # IN
    floating[:, ::1] packed  # OUT
):
    """Y = A X + bias, or its ReLU; `bias` and `packed` may be None.

    With `packed`, memory of one part of X for each thread, the columns go part after part: a
    part stays in a core's cache while all rows take from it. Without, row after row.
    """
    cdef int64_t v, n = start.shape[0]
    cdef Py_ssize_t f = X.shape[1], width = PART_BYTES // <Py_ssize_t>sizeof(floating)
    cdef Py_ssize_t parts = 0, first, part, x_step, y_step
    cdef Sum sums, rest
    cdef const floating* x
    cdef floating* y
    cdef bint shared = (indices.shape[0] + n) * f > TEAM
    cdef Watch watch = new_watch()
    if n == 0 or f == 0:
        return
    x_step, y_step = step_of(X), step_of(Y)
    x = &X[0, 0] if X.shape[0] else NULL
    y = &Y[0, 0]
    sums.indices = &indices[0] if indices.shape[0] else NULL
    sums.data = &data[0] if data.shape[0] else NULL
    sums.bias = &bias[0] if bias is not None else NULL
    sums.relu = relu
    if packed is not None:
        parts = f // width
        for part in prange(parts, nogil=True, schedule="dynamic", chunksize=1):
            sum_part[floating](
                &sums, &start[0], &end[0], n, X.shape[0], x, x_step, part * width,
                &packed[threadid(), 0], y, y_step, &watch
            )
        raise_if_stopped(&watch)
    first = parts * width
    if first == f:
        return
    rest = sums
    if bias is not None:
        rest.bias = &bias[first]
    for v in prange(n, nogil=True, schedule="dynamic", chunksize=32, use_threads_if=shared):
        if stopped_at(&watch, v):
            continue
        sum_row[floating](
            &rest, start[v], end[v], x + first, x_step, y + v * y_step + first, f - first
        )
    raise_if_stopped(&watch)


def spmm_matmul(
    const int64_t[:] start, const int64_t[:] end, const int32_t[::1] indices,  # IN
    const floating[::1] data, const floating[:, :] X,  # IN
    floating[:, :] Y,  # OUT
    const floating[:, :] M, const floating[:, :] B, bint transpose_b,  # IN
    floating[:, :] C,  # OUT
    const floating[::1] bias, bint relu, low=None  # IN
):
    """Y = A X, and C = M op(B) + bias or its ReLU, where Y is M or some of its columns.

    Block after block: a block of Y is in cache when it is multiplied. Returns the seconds spent
    on each of the two, the threads' together.
    """
    cdef Py_ssize_t n = M.shape[0], cols = C.shape[1], rows = block_rows(M.shape[0])
    cdef Py_ssize_t blocks = (n + rows - 1) // rows, i, v, first, last
    cdef Py_ssize_t f = X.shape[1], x_step, y_step, c_step
    cdef int inner = <int>M.shape[1], lda, ldb, ldc
    cdef Sum sums
    cdef const floating* x
    cdef const floating* b
    cdef double begin, middle
    cdef double[:, ::1] seconds = np.zeros((blocks, 2))
    cdef bint large = indices.shape[0] * f > TEAM or n * cols * M.shape[1] > DENSE_TEAM
    cdef bint shared = blocks > 1 and large
    cdef Rounded in_low
    cdef Watch watch = new_watch()
    if n == 0 or cols == 0 or f == 0:
        raise ValueError("a fused product needs rows and columns")
    in_low = rounded_right[floating](low, B, transpose_b)
    x_step, y_step, c_step = step_of(X), step_of(Y), step_of(C)
    lda, ldb, ldc = <int>step_of(M), <int>step_of(B), <int>c_step
    x = &X[0, 0] if X.shape[0] else NULL
    b = &bias[0] if bias is not None else NULL
    sums.indices = &indices[0] if indices.shape[0] else NULL
    sums.data = &data[0] if data.shape[0] else NULL
    sums.bias = NULL
    sums.relu = False
    for i in prange(blocks, nogil=True, schedule="dynamic", chunksize=1, use_threads_if=shared):
        first = i * rows
        last = min(first + rows, n)
        begin = gnn_seconds()
        for v in range(first, last):
            if stopped_at(&watch, v):
                break
            sum_row[floating](&sums, start[v], end[v], x, x_step, &Y[0, 0] + v * y_step, f)
        if stopped(&watch):
            continue
        middle = gnn_seconds()
        multiply[floating](
            &in_low, threadid(), 0, False, transpose_b, <int>(last - first), <int>cols, inner,
            &M[0, 0] + first * lda, lda, &B[0, 0], ldb, 0, &C[0, 0] + first * ldc, ldc
        )
        finish[floating](&C[0, 0] + first * ldc, c_step, last - first, cols, b, relu)
        seconds[i, 0] = middle - begin
        seconds[i, 1] = gnn_seconds() - middle
    raise_if_stopped(&watch)
    return np.asarray(seconds).sum(axis=0).tolist()


def matmul(
    const floating[:, :] A, const floating[:, :] B, bint transpose_b,  # IN
    floating[:, :] C,  # INOUT
    bint add, const floating[::1] bias, bint relu, Py_ssize_t rows=0, low=None  # IN
):
    """C = A op(B) + bias, or its ReLU, or added to C where `add`; a block of rows at a time.

    A block has `rows` rows; 0: by the shape.
    """
    cdef Py_ssize_t n = C.shape[0], cols = C.shape[1], inner = A.shape[1]
    cdef Py_ssize_t blocks, i, first, last
    cdef int lda, ldb, ldc
    cdef floating beta = 1 if add else 0
    cdef bint shared
    cdef const floating* b
    cdef Rounded in_low
    cdef Watch watch = new_watch()
    if n == 0 or cols == 0:
        return
    b = &bias[0] if bias is not None else NULL
    lda, ldb, ldc = <int>step_of(A), <int>step_of(B), <int>step_of(C)
    if inner == 0:
        if not add:
            C[:, :] = 0
        finish[floating](&C[0, 0], ldc, n, cols, b, relu)
        return
    in_low = rounded_right[floating](low, B, transpose_b)
    rows = rows if rows else rows_of_a_block(n, in_low.tiles)
    blocks = (n + rows - 1) // rows
    shared = blocks > 1 and n * cols * inner > DENSE_TEAM
    for i in prange(blocks, nogil=True, schedule="dynamic", chunksize=1, use_threads_if=shared):
        if stopped(&watch):
            continue
        first = i * rows
        last = min(first + rows, n)
        multiply[floating](
            &in_low, threadid(), 0, False, transpose_b, <int>(last - first), <int>cols, <int>inner,
            &A[0, 0] + first * lda, lda, &B[0, 0], ldb, beta, &C[0, 0] + first * ldc, ldc
        )
        finish[floating](&C[0, 0] + first * ldc, ldc, last - first, cols, b, relu)
    raise_if_stopped(&watch)


def matmul_apart(
    const floating[:, :] A, const floating[:, :] B,  # IN
    floating[:, :] C, floating[:, :] D,  # OUT
    const floating[::1] bias, bint relu,  # IN
    floating[:, :, ::1] room,  # OUT
    low=None  # IN
):
    """C || D = A B, and D + bias or its ReLU for D; `room` has a block of both for each thread.

    One wide product runs faster than two, and a block that is still in cache is quickly taken
    apart.
    """
    cdef Py_ssize_t n = A.shape[0], rows = block_rows(A.shape[0]), c = C.shape[1], d = D.shape[1]
    cdef Py_ssize_t i, v, first, last
    cdef int inner = <int>A.shape[1], lda = <int>step_of(A), ldb = <int>step_of(B)
    cdef Py_ssize_t c_step = step_of(C), d_step = step_of(D)
    cdef const floating* b = &bias[0] if bias is not None else NULL
    cdef floating* block
    cdef int team = <int>room.shape[0]
    cdef bint shared = team > 1 and n * (c + d) * inner > DENSE_TEAM
    cdef Rounded in_low
    cdef Watch watch = new_watch()
    if n == 0 or c == 0 or d == 0 or inner == 0:
        raise ValueError("a product to be taken apart needs rows and columns")
    in_low = rounded_right[floating](low, B, False)
    for i in prange(
        (n + rows - 1) // rows, nogil=True, schedule="dynamic", chunksize=1, num_threads=team,
        use_threads_if=shared
    ):
        if stopped(&watch):
            continue
        first = i * rows
        last = min(first + rows, n)
        block = &room[threadid(), 0, 0]
        multiply[floating](
            &in_low, threadid(), 0, False, False, <int>(last - first), <int>(c + d), inner,
            &A[0, 0] + first * lda, lda, &B[0, 0], ldb, 0, block, <int>(c + d)
        )
        finish[floating](block + c, c + d, last - first, d, b, relu)
        for v in range(first, last):
            memcpy(&C[0, 0] + v * c_step, block, <size_t>c * sizeof(floating))
            memcpy(&D[0, 0] + v * d_step, block + c, <size_t>d * sizeof(floating))
            block = block + c + d
    raise_if_stopped(&watch)


def matmul_pair(
    const floating[:, :] A, const floating[:, :] B, const floating[:, :] S,  # IN
    floating[:, :] C, floating[:, :] D,  # OUT
    const floating[::1] bias, bint relu,  # IN
    low  # IN
):
    """C = A B and D = A S + bias, or its ReLU, on tiles: a row of A is rounded once for both."""
    cdef Py_ssize_t n = A.shape[0], rows = TILE_ROWS, c = C.shape[1], d = D.shape[1]
    cdef Py_ssize_t i, first, last
    cdef int inner = <int>A.shape[1], lda = <int>step_of(A)
    cdef Py_ssize_t c_step = step_of(C), d_step = step_of(D)
    cdef const floating* b = &bias[0] if bias is not None else NULL
    cdef Rounded in_low
    cdef Watch watch = new_watch()
    if n == 0 or c == 0 or d == 0 or inner == 0:
        raise ValueError("a pair of products needs rows and columns")
    in_low = rounded_pair[floating](low, B, S)
    for i in prange((n + rows - 1) // rows, nogil=True, schedule="dynamic", chunksize=1):
        if stopped(&watch):
            continue
        first = i * rows
        last = min(first + rows, n)
        multiply_pair[floating](
            &in_low, threadid(), <int>(last - first), inner, &A[0, 0] + first * lda, lda,
            &C[0, 0] + first * c_step, c_step, c, &D[0, 0] + first * d_step, d_step, d
        )
        finish[floating](&D[0, 0] + first * d_step, d_step, last - first, d, b, relu)
    raise_if_stopped(&watch)


def matmul_t(
    const floating[:, :] A, const floating[:, :] B,  # IN
    floating[:, :] C, floating[:, :, ::1] sums,  # OUT
    low=None  # IN
):
    """C = A^T B: a partial sum for each block of rows of A and B, then their sum in order."""
    cdef Py_ssize_t inner = A.shape[0], rows = C.shape[0], cols = C.shape[1]
    cdef bint tiles = low is not None and in_tiles()
    cdef Py_ssize_t block = inner_rows(inner, rows, tiles), blocks = sums.shape[0]
    cdef Py_ssize_t cut = rows_of_a_cut(rows, tiles)
    cdef Py_ssize_t cuts = (rows + cut - 1) // cut if rows else 0
    cdef Py_ssize_t i, j, k, r, first
    cdef int lda, ldb
    cdef floating* c
    cdef bint shared = inner * rows * cols > DENSE_TEAM
    cdef Rounded in_low
    cdef Watch watch = new_watch()
    if rows == 0 or cols == 0:
        return
    if inner == 0:
        C[:, :] = 0
        return
    in_low = rounded_right[floating](low, B, False)
    lda, ldb = <int>step_of(A), <int>step_of(B)
    if blocks == 1:  # few rows: cut the result instead
        for i in prange(
            (rows + 63) // 64, nogil=True, schedule="dynamic", chunksize=1, use_threads_if=shared
        ):
            if stopped(&watch):
                continue
            multiply[floating](
                &in_low, threadid(), 0, True, False, <int>min(64, rows - i * 64), <int>cols,
                <int>inner, &A[0, 0] + i * 64, lda, &B[0, 0], ldb, 0, &C[i * 64, 0], <int>step_of(C)
            )
        raise_if_stopped(&watch)
        return
    for k in prange(
        blocks * cuts, nogil=True, schedule="dynamic", chunksize=1, use_threads_if=shared
    ):
        if stopped(&watch):
            continue
        i, j = k // cuts, k % cuts * cut
        first = i * block
        multiply[floating](
            &in_low, threadid(), first, True, False, <int>min(cut, rows - j), <int>cols,
            <int>min(block, inner - first), &A[0, 0] + first * lda + j, lda,
            &B[0, 0] + first * ldb, ldb,
            0, &sums[i, j, 0], <int>cols
        )
    raise_if_stopped(&watch)
    shared = blocks * rows * cols > TEAM
    for r in prange(rows, nogil=True, schedule="static", use_threads_if=shared):
        if stopped_at(&watch, r):
            continue
        c = &C[r, 0]
        for k in range(cols):
            c[k] = sums[0, r, k]
        for i in range(1, blocks):
            for k in range(cols):
                c[k] = c[k] + sums[i, r, k]
    raise_if_stopped(&watch)
