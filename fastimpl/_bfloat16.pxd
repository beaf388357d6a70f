"""Dense products whose factors may be rounded to bfloat16 first; see _bfloat16.pyx."""

from cython cimport floating
from libc.stdint cimport uint16_t

cdef struct Rounded:
    const uint16_t* B  # the right factor in bfloat16; NULL: products of the factors as they are
    int ldb  # the distance between its rows, or how many tiles deep it is
    uint16_t* room  # of each thread, for a block of the left factor
    Py_ssize_t size  # of each thread's
    bint tiles  # whether it is packed for AMX

cdef Rounded rounded_right(memory, const floating[:, :] B, bint transpose_b)

cdef Rounded rounded_pair(memory, const floating[:, :] B, const floating[:, :] S)

cdef void multiply_pair(
    const Rounded* low, int thread, int rows, int inner, const floating* A, int lda,
    floating* C, Py_ssize_t c_step, Py_ssize_t c, floating* D, Py_ssize_t d_step, Py_ssize_t d
) noexcept nogil

cdef void multiply(
    const Rounded* low, int thread, Py_ssize_t first,
    bint transpose_a, bint transpose_b, int rows, int cols, int inner,
    const floating* A, int lda, const floating* B, int ldb,
    floating beta, floating* C, int ldc
) noexcept nogil
