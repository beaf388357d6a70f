"""Alias tables of the rows of a graph. Arguments were checked by row_draws.py."""

from cython.parallel cimport parallel, prange, threadid
from libc.stdint cimport int32_t, int64_t

from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped
from fastimpl._memory cimport allocate_zeros, give_back
from fastimpl._types cimport gnn_max_threads
from fastimpl.samplers._alias cimport vose

cdef enum:
    ROWS = 64  # that a thread takes at a time


def alias_rows(
    const int64_t[::1] indptr, const double[::1] weights,  # IN
    double[::1] prob, int32_t[::1] alias,  # OUT
    int64_t max_degree  # IN
):
    """Fill the alias table of each row."""
    cdef int64_t part, parts = (indptr.shape[0] - 1 + ROWS - 1) // ROWS
    cdef size_t most = <size_t>max_degree
    cdef int threads = gnn_max_threads()
    cdef double* shares
    cdef int64_t* stacks
    cdef Watch watch = new_watch()
    if max_degree == 0:
        return
    shares = <double*>allocate_zeros(most * threads, sizeof(double))
    stacks = <int64_t*>allocate_zeros(most * threads, sizeof(int64_t))
    try:
        if shares == NULL or stacks == NULL:
            raise MemoryError()
        with nogil, parallel(use_threads_if=parts > 1):
            for part in prange(parts, schedule="dynamic"):
                if not stopped(&watch):
                    alias_part(
                        &indptr[0], indptr.shape[0] - 1, part, &weights[0], &prob[0], &alias[0],
                        shares + threadid() * most, stacks + threadid() * most, &watch,
                    )
        raise_if_stopped(&watch)
    finally:
        give_back(shares)
        give_back(stacks)


cdef void alias_part(
    const int64_t* indptr, int64_t n, int64_t part, const double* weights,  # IN
    double* prob, int32_t* alias,  # OUT
    double* shares, int64_t* stack,  # OUT
    Watch* watch  # INOUT
) noexcept nogil:
    cdef int64_t v, start, k, j
    cdef double total
    for v in range(part * ROWS, min(part * ROWS + ROWS, n)):
        start, k = indptr[v], indptr[v + 1] - indptr[v]
        total = 0
        for j in range(k):
            total += weights[start + j]
        if total > 0:
            for j in range(k):
                shares[j] = weights[start + j] / total * <double>k
            vose(shares, k, prob + start, alias + start, stack, watch)
            continue
        for j in range(k):
            prob[start + j], alias[start + j] = 1, 0
