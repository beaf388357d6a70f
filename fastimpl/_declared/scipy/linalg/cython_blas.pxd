# The part of SciPy's declarations that the kernels use: so SciPy need not be installed to build.
# Importing a kernel compares these signatures with those of the SciPy that is there.

ctypedef float s
ctypedef double d

cdef void dgemm(
    char *transa, char *transb, int *m, int *n, int *k, d *alpha, d *a, int *lda, d *b, int *ldb,
    d *beta, d *c, int *ldc
) noexcept nogil
cdef void sgemm(
    char *transa, char *transb, int *m, int *n, int *k, s *alpha, s *a, int *lda, s *b, int *ldb,
    s *beta, s *c, int *ldc
) noexcept nogil
