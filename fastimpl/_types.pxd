"""C types and the small helpers that every kernel may use."""

from libc.stdint cimport int32_t, int64_t, uint8_t

ctypedef fused position:  # of an entry: of 32 bits where they suffice
    int32_t
    int64_t

# A loop with more work than this takes several threads. To wake one takes up to 45 microseconds.
# Results do not depend on the number of threads.
cdef enum:
    TEAM = 1 << 16  # numbers read or written, or multiply-adds of a sparse product
    DENSE_TEAM = 16 * TEAM  # multiply-adds of a dense product: 16 take as long
    COSTLY_TEAM = TEAM // 16  # exponentials, square roots, searches

cdef extern from *:
    """
    #ifdef _OPENMP
    #include <omp.h>
    static inline int gnn_max_threads(void) { return omp_get_max_threads(); }
    static inline double gnn_seconds(void) { return omp_get_wtime(); }
    #else
    #include <time.h>
    static inline int gnn_max_threads(void) { return 1; }
    static inline double gnn_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }
    #endif
    """
    int gnn_max_threads() noexcept nogil
    double gnn_seconds() noexcept nogil


cdef inline const int64_t* offsets_of(const int64_t[::1] array) noexcept nogil:
    """Return the address of the first element; NULL for an empty array."""
    return &array[0] if array.shape[0] else NULL


cdef inline const int32_t* ids_of(const int32_t[::1] array) noexcept nogil:
    """Return the address of the first element; NULL for an empty array."""
    return &array[0] if array.shape[0] else NULL


cdef inline uint8_t* bytes_of(uint8_t[::1] array) noexcept nogil:
    """Return the address of the first element; NULL for an empty array."""
    return &array[0] if array.shape[0] else NULL


cdef inline int64_t* numbers_of(int64_t[::1] array) noexcept nogil:
    """Return the address of the first element; NULL for an empty array."""
    return &array[0] if array.shape[0] else NULL
