"""The BLAS in use: SciPy's, until `use` is given another one's functions."""

from cython cimport floating
from libc.stdint cimport uint16_t
from scipy.linalg.cython_blas cimport dgemm, sgemm

from fastimpl._aggregate cimport step_of

# As Fortran calls them, with integers of 32 bits.
ctypedef void (*SGEMM)(
    char*, char*, int*, int*, int*, float*, float*, int*, float*, int*, float*, float*, int*
) noexcept nogil
ctypedef void (*DGEMM)(
    char*, char*, int*, int*, int*, double*, double*, int*, double*, int*, double*, double*, int*
) noexcept nogil
ctypedef void (*BGEMM)(
    char*, char*, int*, int*, int*, float*, uint16_t*, int*, uint16_t*, int*, float*, float*, int*
) noexcept nogil

cdef SGEMM in_float32 = <SGEMM>sgemm
cdef DGEMM in_float64 = <DGEMM>dgemm
cdef BGEMM in_bfloat16 = NULL


def use(size_t sgemm_at=0, size_t dgemm_at=0, size_t bgemm_at=0):
    """Call the functions at these addresses; no product may be running.

    At 0 they are SciPy's, which has none for bfloat16.
    """
    global in_float32, in_float64, in_bfloat16
    in_float32 = <SGEMM><void*>sgemm_at if sgemm_at else <SGEMM>sgemm
    in_float64 = <DGEMM><void*>dgemm_at if dgemm_at else <DGEMM>dgemm
    in_bfloat16 = <BGEMM><void*>bgemm_at


def multiplies_bfloat16():
    """Return whether this BLAS has products of bfloat16."""
    return in_bfloat16 != NULL


cdef void gemm(
    bint transpose_a, bint transpose_b, int rows, int cols, int inner, const floating* A,  # IN
    int lda, const floating* B, int ldb, floating beta,  # IN
    floating* C,  # INOUT
    int ldc  # IN
) noexcept nogil:
    """C = op(A) op(B) + beta C, all row-major; `ld` is the distance between rows.

    BLAS is column-major, so it is given C^T = op(B)^T op(A)^T.
    """
    cdef floating one = 1
    cdef char op_a = b"T" if transpose_a else b"N"
    cdef char op_b = b"T" if transpose_b else b"N"
    if floating is double:
        in_float64(
            &op_b, &op_a, &cols, &rows, &inner, &one, <double*>B, &ldb, <double*>A, &lda,
            &beta, C, &ldc
        )
    else:
        in_float32(
            &op_b, &op_a, &cols, &rows, &inner, &one, <float*>B, &ldb, <float*>A, &lda,
            &beta, C, &ldc
        )


cdef void gemm_bfloat16(
    bint transpose_a, bint transpose_b, int rows, int cols, int inner,  # IN
    const uint16_t* A, int lda, const uint16_t* B, int ldb, float beta,  # IN
    float* C,  # INOUT
    int ldc  # IN
) noexcept nogil:
    """As `gemm`, for factors in bfloat16; products are added in float32."""
    cdef float one = 1
    cdef char op_a = b"T" if transpose_a else b"N"
    cdef char op_b = b"T" if transpose_b else b"N"
    in_bfloat16(
        &op_b, &op_a, &cols, &rows, &inner, &one, <uint16_t*>B, &ldb, <uint16_t*>A, &lda,
        &beta, C, &ldc
    )


def product(
    const floating[:, :] A, const floating[:, :] B, floating[:, :] C,
    bint transpose_a=False, bint transpose_b=False, double beta=0
):
    """C = op(A) op(B) + beta C as one call of BLAS: what is timed to choose one."""
    cdef Py_ssize_t rows = A.shape[transpose_a], inner = A.shape[not transpose_a]
    cdef Py_ssize_t cols = B.shape[not transpose_b]
    if inner != B.shape[transpose_b] or rows != C.shape[0] or cols != C.shape[1]:
        raise ValueError("the shapes of a product do not fit")
    if not (rows and inner and cols):
        raise ValueError("a product that is timed needs rows and columns")
    gemm[floating](
        transpose_a, transpose_b, <int>rows, <int>cols, <int>inner, &A[0, 0], <int>step_of(A),
        &B[0, 0], <int>step_of(B), <floating>beta, &C[0, 0], <int>step_of(C)
    )
