"""What this build can do."""

cdef extern from *:
    """
    #ifdef _OPENMP
    #define GNN_OPENMP _OPENMP
    #else
    #define GNN_OPENMP 0
    #endif
    #if defined(__clang__)
    #define GNN_COMPILER "clang " __clang_version__
    #elif defined(__GNUC__)
    #define GNN_COMPILER "gcc " __VERSION__
    #elif defined(_MSC_VER)
    #define GNN_COMPILER "msvc"
    #else
    #define GNN_COMPILER "unknown"
    #endif
    #if defined(__AVX512F__)
    #define GNN_SIMD "avx512"
    #elif defined(__AVX2__)
    #define GNN_SIMD "avx2"
    #elif defined(__SSE2__) || defined(_M_X64)
    #define GNN_SIMD "sse2"
    #elif defined(__ARM_FEATURE_SVE)
    #define GNN_SIMD "sve"
    #elif defined(__ARM_NEON)
    #define GNN_SIMD "neon"
    #else
    #define GNN_SIMD "none"
    #endif
    """
    const int GNN_OPENMP
    const char* GNN_COMPILER
    const char* GNN_SIMD


from fastimpl._types cimport gnn_max_threads


def max_threads():
    """Return how many threads a parallel region has, of this Python thread, now."""
    return gnn_max_threads()


def build_info():
    """Return how the kernels were built, and on which BLAS they run.

    Returns
    -------
    dict
        'openmp': the OpenMP version as yyyymm, or 0; 'compiler'; 'simd': the widest vector
        instructions the compiler was allowed to use; 'level': which of several builds this is,
        "base" or a level of x86-64; 'because': why that one; 'blas': the library that dense
        products call in this process, and why it was chosen.
    """
    from fastimpl import _levels
    from fastimpl._blas_choice import chosen  # once the kernels are there

    return {
        "openmp": GNN_OPENMP,
        "compiler": GNN_COMPILER.decode(),
        "simd": GNN_SIMD.decode(),
        "level": _levels.chosen,
        "because": _levels.because,
        "blas": chosen(),
    }
