"""The transpose of a block. Arguments were checked by block.py."""

from cython.parallel cimport prange
from libc.stdint cimport INT32_MAX, int32_t, int64_t

from fastimpl._interrupts cimport Watch, has_stopped, new_watch, raise_if_stopped, stopped_at
from fastimpl._memory cimport allocate_zeros, give_back
from fastimpl._types cimport gnn_max_threads, ids_of, offsets_of

ctypedef fused counter:  # 32 bits wide where that suffices: the table has to stay in the cache
    int32_t
    int64_t

cdef enum:
    ENTRIES = 8192  # in a part, at least: less is not worth a thread


def transpose_block(
    const int64_t[::1] start, const int64_t[::1] end, const int32_t[::1] indices,
    int64_t[::1] indptr, int32_t[::1] destinations, int64_t[::1] perm
):
    """Fill the last three from the first three.

    Each thread sorts a part of the rows, into places that were counted before. There are no
    more parts than a source has entries on average, so that the counters never outnumber the
    entries.
    """
    cdef int64_t live = perm.shape[0], n_src = indptr.shape[0] - 1
    cdef int64_t parts = min(
        <int64_t>gnn_max_threads(), min(live // ENTRIES, live // max(n_src, <int64_t>1))
    )
    cdef int narrow = live <= INT32_MAX
    cdef int32_t* rows = &destinations[0] if live else NULL
    cdef int64_t* positions = &perm[0] if live else NULL
    cdef void* counters
    cdef Watch watch = new_watch()
    parts = max(parts, <int64_t>1)
    counters = allocate_zeros(
        <size_t>(parts * n_src + 1), sizeof(int32_t) if narrow else sizeof(int64_t)
    )
    if counters == NULL:
        raise MemoryError()
    with nogil:
        if narrow:
            sort(
                offsets_of(start), offsets_of(end), ids_of(indices), start.shape[0], n_src, parts,
                <int32_t*>counters, &indptr[0], rows, positions, &watch,
            )
        else:
            sort(
                offsets_of(start), offsets_of(end), ids_of(indices), start.shape[0], n_src, parts,
                <int64_t*>counters, &indptr[0], rows, positions, &watch,
            )
        give_back(counters)
    raise_if_stopped(&watch)


cdef void sort(
    const int64_t* start, const int64_t* end, const int32_t* indices, int64_t n_dst,  # IN
    int64_t n_src, int64_t parts,  # IN
    counter* ptr,  # INOUT
    int64_t* indptr, int32_t* destinations, int64_t* perm,  # OUT
    Watch* watch  # INOUT
) noexcept nogil:
    """Sort the entries by source, those of one source by destination.

    ``ptr[t * n_src + u]`` counts the entries of source u in part t, then is where the next one
    goes.
    """
    cdef int64_t t, u
    cdef counter total = 0, count
    for t in prange(parts, schedule="static", chunksize=1, use_threads_if=parts > 1):
        count_part(
            start, end, indices, n_dst * t // parts, n_dst * (t + 1) // parts, ptr + t * n_src,
            watch,
        )
    if has_stopped(watch):
        return
    for u in range(n_src):
        if stopped_at(watch, u):
            return
        indptr[u] = total
        for t in range(parts):
            count = ptr[t * n_src + u]
            ptr[t * n_src + u] = total
            total += count
    indptr[n_src] = total
    for t in prange(parts, schedule="static", chunksize=1, use_threads_if=parts > 1):
        place_part(
            start, end, indices, n_dst * t // parts, n_dst * (t + 1) // parts, ptr + t * n_src,
            destinations, perm, watch,
        )


cdef void count_part(
    const int64_t* start, const int64_t* end, const int32_t* indices, int64_t first,  # IN
    int64_t last,  # IN
    counter* ptr, Watch* watch  # INOUT
) noexcept nogil:
    cdef int64_t i, j
    for i in range(first, last):
        if stopped_at(watch, i):
            return
        for j in range(start[i], end[i]):
            ptr[indices[j]] += 1


cdef void place_part(
    const int64_t* start, const int64_t* end, const int32_t* indices, int64_t first,  # IN
    int64_t last,  # IN
    counter* ptr,  # INOUT
    int32_t* destinations, int64_t* perm,  # OUT
    Watch* watch  # INOUT
) noexcept nogil:
    cdef int64_t i, j
    cdef counter k
    for i in range(first, last):
        if stopped_at(watch, i):
            return
        for j in range(start[i], end[i]):
            k = ptr[indices[j]]
            ptr[indices[j]] = k + 1
            destinations[k] = <int32_t>i
            perm[k] = j
