"""Row-major dense products on the BLAS in use, called on one thread and without the GIL."""

from cython cimport floating


cdef void gemm(
    bint transpose_a, bint transpose_b, int rows, int cols, int inner,
    const floating* A, int lda, const floating* B, int ldb,
    floating beta, floating* C, int ldc
) noexcept nogil
