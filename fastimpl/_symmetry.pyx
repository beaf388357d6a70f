"""Whether a pattern is symmetric: one pass, as Algorithm 6 would transpose it."""

from cython.parallel cimport prange
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t

from fastimpl._graph cimport prefetch
from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped_at
from fastimpl._memory cimport allocate, give_back
from fastimpl._types cimport gnn_max_threads, ids_of, offsets_of

cdef extern from "fastimpl/_interrupts.h" nogil:
    int gnn_load(int* address)
    void gnn_set(int* address, int value)

cdef enum:
    NEAR = 8  # entries ahead whose counterpart is fetched
    FAR = 16  # and where it will be found


def is_symmetric(const int64_t[::1] indptr, const int32_t[::1] indices):
    """Return whether every entry (v, u) has its (u, v).

    A thread has the columns of a range. It meets their entries on and above the diagonal row by
    row, so that their counterparts below it are each column's next ones.
    """
    cdef int64_t n = indptr.shape[0] - 1, part, parts = gnn_max_threads()
    cdef const int64_t* offsets = offsets_of(indptr)
    cdef const int32_t* ids = ids_of(indices)
    cdef int differs = 0
    cdef Watch watch = new_watch()
    cdef int64_t* ptr
    if indices.shape[0] == 0:
        return True
    ptr = <int64_t*>allocate(<size_t>n * sizeof(int64_t))
    if ptr == NULL:
        raise MemoryError()
    with nogil:
        for part in prange(parts, schedule="static", chunksize=1, use_threads_if=parts > 1):
            match(
                offsets, ids, n, border(offsets, n, part, parts),
                border(offsets, n, part + 1, parts), ptr, &differs, &watch,
            )
    give_back(ptr)
    raise_if_stopped(&watch)
    return not differs


cdef int64_t border(
    const int64_t* indptr, int64_t n, int64_t part, int64_t parts
) noexcept nogil:
    """Return the first column of a part, so that all have about as many entries below the diagonal.

    Their share grows with the column, from none to all.
    """
    cdef int64_t low = 0, high = n, middle
    cdef double wanted = <double>indptr[n] * sqrt(<double>part / <double>parts)
    if part == parts:
        return n
    while low < high:
        middle = (low + high) // 2
        if <double>indptr[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


cdef void match(
    const int64_t* indptr, const int32_t* indices, int64_t n, int64_t first, int64_t last,  # IN
    int64_t* ptr,  # OUT
    int* differs, Watch* watch  # INOUT
) noexcept nogil:
    """Match the columns from `first` up to `last`; ptr[u] is the entry of row u to be met next."""
    cdef int64_t v, u, j, k, end, e = indptr[n]
    for u in range(first, last):
        if stopped_at(watch, u):
            return
        ptr[u] = indptr[u]
    for v in range(last):
        if stopped_at(watch, v) or gnn_load(differs):  # which another thread sets
            return
        end = indptr[v + 1]
        if v < first:
            j = first_from(indices, indptr[v], end, first)
        else:
            j = ptr[v]
            if j > end or (j < end and indices[j] < v):  # too many have come, or too few
                gnn_set(differs, 1)
                return
        while j < end and indices[j] < last:
            if j + FAR < e:
                prefetch(ptr + indices[j + FAR])
                u = indices[j + NEAR]
                if first <= u < last:  # else another thread's
                    prefetch(indices + ptr[u])
            u = indices[j]
            k = ptr[u]
            if k >= e or indices[k] != v:
                gnn_set(differs, 1)
                return
            ptr[u] = k + 1
            j += 1


cdef inline int64_t first_from(
    const int32_t* indices, int64_t low, int64_t high, int64_t first
) noexcept nogil:
    """Return the first of the entries from `low` up to `high` that is not below `first`."""
    cdef int64_t middle
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < first:
            low = middle + 1
        else:
            high = middle
    return low
