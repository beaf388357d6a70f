"""Kernels for sparse and dense products. Arguments were checked by the callers.

Matrices are row-major; a matrix may be some columns of a wider one, so rows have a distance.
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t

from fastimpl._blas cimport gemm


cdef inline void aggregate(
    const int32_t* indices, const floating* data, int64_t begin, int64_t end,
    const floating* X, Py_ssize_t x_step, floating* y, Py_ssize_t f
) noexcept nogil:
    """y = the sum of data[j] X[indices[j]], entry after entry: one rounding an operation."""
    cdef int64_t j
    cdef Py_ssize_t k
    cdef const floating* x
    cdef floating a
    for k in range(f):
        y[k] = 0
    for j in range(begin, end):
        a = data[j]
        x = X + indices[j] * x_step
        for k in range(f):
            y[k] += a * x[k]


def spmm(
    const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] data,
    const floating[:, :] X, floating[:, :] Y
):
    """Y = A X. A thread owns each row of Y, so the result does not depend on their number."""
    cdef int64_t v, n = indptr.shape[0] - 1
    cdef Py_ssize_t f = X.shape[1]
    cdef Py_ssize_t x_step, y_step
    if n == 0 or f == 0:
        return
    if data.shape[0] == 0:
        Y[:, :] = 0
        return
    x_step = X.strides[0] // <Py_ssize_t>sizeof(floating)
    y_step = Y.strides[0] // <Py_ssize_t>sizeof(floating)
    for v in prange(n, nogil=True, schedule="dynamic", chunksize=64):
        aggregate(
            &indices[0], &data[0], indptr[v], indptr[v + 1], &X[0, 0], x_step,
            &Y[0, 0] + v * y_step, f
        )


def matmul(
    const floating[:, :] A, bint transpose_a, const floating[:, :] B, bint transpose_b,
    floating[:, :] C, bint add
):
    """C = op(A) op(B), added to C where `add`.

    BLAS runs on one thread for each block of 64 or 128 rows of C. The blocks depend on the
    shapes alone, so the bits of the result do not depend on the number of threads.
    """
    cdef Py_ssize_t rows = C.shape[0], cols = C.shape[1]
    cdef Py_ssize_t inner = A.shape[0] if transpose_a else A.shape[1]
    cdef Py_ssize_t block = 64 if transpose_a else 128
    cdef Py_ssize_t i, first
    cdef Py_ssize_t item = sizeof(floating)
    cdef int lda, ldb, ldc
    cdef floating beta = 1 if add else 0
    if rows == 0 or cols == 0:
        return
    if inner == 0:
        if not add:
            C[:, :] = 0
        return
    lda = <int>(A.strides[0] // item)
    ldb = <int>(B.strides[0] // item)
    ldc = <int>(C.strides[0] // item)
    for i in prange((rows + block - 1) // block, nogil=True, schedule="dynamic", chunksize=1):
        first = i * block
        gemm[floating](
            transpose_a, transpose_b, <int>min(block, rows - first), <int>cols, <int>inner,
            &A[0, 0] + (first if transpose_a else first * lda), lda, &B[0, 0], ldb,
            beta, &C[0, 0] + first * ldc, ldc
        )
