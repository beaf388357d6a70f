"""Row-major dense products on SciPy's BLAS, called on one thread and without the GIL."""

from cython cimport floating
from scipy.linalg.cython_blas cimport dgemm, sgemm


cdef inline void gemm(
    bint transpose_a, bint transpose_b, int rows, int cols, int inner,
    const floating* A, int lda, const floating* B, int ldb,
    floating beta, floating* C, int ldc
) noexcept nogil:
    """C = op(A) op(B) + beta C, all row-major; `ld` is the distance between rows.

    BLAS is column-major, so it is given C^T = op(B)^T op(A)^T.
    """
    cdef floating one = 1
    cdef char op_a = b"T" if transpose_a else b"N"
    cdef char op_b = b"T" if transpose_b else b"N"
    if floating is double:
        dgemm(
            &op_b, &op_a, &cols, &rows, &inner, &one, <double*>B, &ldb, <double*>A, &lda,
            &beta, C, &ldc
        )
    else:
        sgemm(
            &op_b, &op_a, &cols, &rows, &inner, &one, <float*>B, &ldb, <float*>A, &lda,
            &beta, C, &ldc
        )
