"""What this build can do, and whether this processor can run it.

This module is compiled for any processor, so that it can say that the others are not.
"""

cdef extern from *:
    """
    #ifdef _OPENMP
    #define GNN_OPENMP _OPENMP
    #else
    #define GNN_OPENMP 0
    #endif
    #if defined(GNN_CLONED)
    #define GNN_HAS_CLONES 1
    #else
    #define GNN_HAS_CLONES 0
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
    /* setup.py defines GNN_NEEDS: the widest vectors of x86-64 that the other modules may use */
    #if !defined(GNN_ARCH)
    #define GNN_ARCH ""
    #endif
    #if defined(GNN_NEEDS)
    #define GNN_SIMD GNN_NEEDS
    #define GNN_RUNS (__builtin_cpu_init(), __builtin_cpu_supports(GNN_NEEDS) != 0)
    #elif defined(__SSE2__) || defined(_M_X64)
    #define GNN_SIMD "sse2"
    #elif defined(__ARM_FEATURE_SVE)
    #define GNN_SIMD "sve"
    #elif defined(__ARM_NEON)
    #define GNN_SIMD "neon"
    #else
    #define GNN_SIMD "none"
    #endif
    #if !defined(GNN_RUNS)
    #define GNN_RUNS 1
    #endif
    """
    const int GNN_OPENMP
    const char* GNN_COMPILER
    const char* GNN_SIMD
    const char* GNN_ARCH
    const bint GNN_RUNS
    const bint GNN_HAS_CLONES


from fastimpl._types cimport gnn_max_threads


def max_threads():
    """Return how many threads a parallel region has, of this Python thread, now."""
    return gnn_max_threads()


def check_processor():
    """Raise ImportError where the processor lacks instructions that the kernels may use."""
    if not GNN_RUNS:
        raise ImportError(
            f"the kernels of fastimpl were compiled with -march={GNN_ARCH.decode()}, for "
            f"processors that have {GNN_SIMD.decode()}, which this one has not; install from "
            "source on this machine, or use refimpl, which needs no kernels (--impl refimpl on "
            "the command line)"
        )


def build_info():
    """Return how the kernels were built, and on which BLAS they run.

    Returns
    -------
    dict
        'openmp': the OpenMP version as yyyymm, or 0; 'compiler'; 'simd': the widest vector
        instructions that every kernel may use; 'arch': the compiler's ``-march``; 'clones':
        whether random draws and dropout have code for wider vectors too, which the processor
        chooses; 'blas': the library that dense products call in this process, and why it was
        chosen; 'bfloat16': whether the processor has instructions for products of bfloat16 that
        are used: those of AMX, or others through the library.
    """
    from fastimpl._bfloat16 import fast
    from fastimpl._blas_choice import chosen  # once the kernels are there

    return {
        "openmp": GNN_OPENMP,
        "compiler": GNN_COMPILER.decode(),
        "simd": GNN_SIMD.decode(),
        "arch": GNN_ARCH.decode(),
        "clones": bool(GNN_HAS_CLONES),
        "blas": chosen(),
        "bfloat16": fast(),
    }
