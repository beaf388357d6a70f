"""Row-major dense products on the BLAS in use, called on one thread and without the GIL."""

from cython cimport floating
from libc.stdint cimport uint16_t


cdef void gemm(
    bint transpose_a, bint transpose_b, int rows, int cols, int inner,
    const floating* A, int lda, const floating* B, int ldb,
    floating beta, floating* C, int ldc
) noexcept nogil

cdef void gemm_bfloat16(
    bint transpose_a, bint transpose_b, int rows, int cols, int inner,
    const uint16_t* A, int lda, const uint16_t* B, int ldb,
    float beta, float* C, int ldc
) noexcept nogil
