"""Dense products whose factors may be rounded to bfloat16 first; see _bfloat16.pyx."""

from cython cimport floating
from libc.stdint cimport uint16_t

cdef struct Rounded:
    const uint16_t* B  # the right factor in bfloat16; NULL: products of the factors as they are
    int ldb  # the distance between its rows
    uint16_t* room  # of each thread, for a block of the left factor
    Py_ssize_t size  # of each thread's

cdef Rounded rounded_of(low)

cdef void multiply(
    const Rounded* low, int thread, Py_ssize_t first,
    bint transpose_a, bint transpose_b, int rows, int cols, int inner,
    const floating* A, int lda, const floating* B, int ldb,
    floating beta, floating* C, int ldc
) noexcept nogil
