"""Pruning of blocks with CSR2 rows. Arguments were checked by pruning.py."""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t

from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped, stopped_at
from fastimpl._types cimport bytes_of, ids_of, numbers_of, offsets_of

cdef extern from *:
    """
    /* Several threads may need the same node: all of them store the same number. */
    #if defined(__GNUC__)
    #define gnn_mark(address) __atomic_store_n((address), 1, __ATOMIC_RELAXED)
    #else
    #define gnn_mark(address) (*(volatile unsigned char *)(address) = 1)
    #endif
    """
    void mark "gnn_mark"(uint8_t* address) noexcept nogil

cdef enum:
    ROWS = 512  # that a thread takes at a time
    MARKED = 1 << 17  # entries at most whose sources one thread marks before another is awake
    FEW_ROWS = 4096  # stores at most that are not worth a second thread


def prune_block(
    const int64_t[::1] start, const int64_t[::1] end, const int32_t[::1] indices,  # IN
    const uint8_t[::1] live, const uint8_t[::1] cached,  # IN
    uint8_t[::1] computed,  # OUT
    uint8_t[::1] needed,  # INOUT
    bint uses_self,  # IN
    int64_t[::1] new_end  # OUT
):
    """Fill `computed` and `new_end`, mark `needed`; return how many rows became empty."""
    cdef int64_t n_dst = start.shape[0], batch, batches = (n_dst + ROWS - 1) // ROWS, emptied = 0
    cdef const int64_t* starts = offsets_of(start)
    cdef const int64_t* ends = offsets_of(end)
    cdef const int32_t* sources = ids_of(indices)
    cdef const uint8_t* alive = &live[0] if n_dst else NULL
    cdef const uint8_t* hit = &cached[0] if n_dst else NULL
    cdef uint8_t* chosen = bytes_of(computed)
    cdef uint8_t* marked = bytes_of(needed)
    cdef int64_t* new_ends = numbers_of(new_end)
    cdef Watch watch = new_watch()
    for batch in prange(
        batches, schedule="dynamic", nogil=True, use_threads_if=indices.shape[0] > MARKED
    ):
        if stopped(&watch):
            continue
        emptied += prune_rows(
            starts, ends, sources, alive, hit, chosen, marked, uses_self, new_ends, batch * ROWS,
            min((batch + 1) * ROWS, n_dst),
        )
    raise_if_stopped(&watch)
    return emptied


cdef int64_t prune_rows(
    const int64_t* start, const int64_t* end, const int32_t* indices, const uint8_t* live,  # IN
    const uint8_t* cached,  # IN
    uint8_t* computed,  # OUT
    uint8_t* needed,  # INOUT
    bint uses_self,  # IN
    int64_t* new_end,  # OUT
    int64_t first, int64_t last  # IN
) noexcept nogil:
    """Do what `prune_block` does, for some rows."""
    cdef int64_t i, j, emptied = 0
    for i in range(first, last):
        computed[i] = live[i] & (cached[i] ^ 1)  # V1:9
        if computed[i]:
            new_end[i] = end[i]
            for j in range(start[i], end[i]):
                mark(needed + indices[j])
            if uses_self:
                mark(needed + i)
        else:
            new_end[i] = start[i]  # V1:8
            emptied += end[i] > start[i]
    return emptied


def empty_csr2(const int64_t[::1] start, int64_t[::1] end, const int64_t[::1] rows):
    """Let each of the rows end where it starts."""
    cdef int64_t k, m = rows.shape[0]
    cdef const int64_t* starts = offsets_of(start)
    cdef const int64_t* chosen = offsets_of(rows)
    cdef int64_t* ends = numbers_of(end)
    cdef Watch watch = new_watch()
    for k in prange(m, schedule="static", nogil=True, use_threads_if=m > FEW_ROWS):
        if stopped_at(&watch, k):
            continue
        ends[chosen[k]] = starts[chosen[k]]
    raise_if_stopped(&watch)
