"""One hop of layer sampling. Arguments were checked by layer.py."""

import numpy as np
from cython.parallel cimport parallel, prange, threadid
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

from fastimpl._graph cimport prefetch
from fastimpl._interrupts cimport Watch, has_stopped, new_watch, raise_if_stopped, stopped
from fastimpl._memory cimport allocate_zeros, give_back
from fastimpl._streams cimport below, displaced_size, partial_shuffle
from fastimpl._types cimport gnn_max_threads, ids_of, offsets_of
from fastimpl.samplers._relabelling cimport Known, Relabelling, find_new, number_new, relabel
from fastimpl.samplers._walker cimport (
    FIRST, FOUND, SPARE, Walker, release_buffers, room, sort_unique
)

cdef enum:
    SHORT = 512  # neighbours at most that are shuffled whole: they stay in the L1 cache
    FEW = 64  # picks at most that are sorted by counting, for each, how many are smaller
    AHEAD = 16  # entries between the one looked up and the one being fetched
    ROWS = 64  # that a thread takes at a time


def hop(
    Relabelling known, const int64_t[::1] indptr, const int32_t[::1] indices,
    const int32_t[::1] dst, int64_t fanout, uint64_t key, uint64_t draws
):
    """Return (sources, row bounds, local ids, positions, draws so far) of the nodes `dst`."""
    cdef int64_t n_dst = dst.shape[0], entries, new
    cdef int64_t[::1] bounds = np.empty(n_dst + 1, np.int64)
    cdef int64_t[::1] first = np.empty(n_dst + 1, np.int64)  # draw of each row
    cdef int32_t[::1] ids, src
    cdef int64_t[::1] where
    cdef uint64_t after
    cdef int threads = gnn_max_threads()
    cdef Walker* walkers
    cdef const int64_t* offsets = offsets_of(indptr)
    cdef Watch watch = new_watch()
    with nogil:
        after = bound_rows(offsets, ids_of(dst), n_dst, fanout, draws, &bounds[0], &first[0])
    entries = bounds[n_dst]
    ids, where = np.empty(entries, np.int32), np.empty(entries, np.int64)
    walkers = <Walker*>allocate_zeros(<size_t>threads, sizeof(Walker))
    if walkers == NULL:
        raise MemoryError()
    with nogil:
        new = reserve(walkers, threads, fanout if after > draws else 0)
        if new == 0 and entries:
            draw_rows(
                walkers, offsets, ids_of(indices), ids_of(dst), n_dst, fanout, key, &bounds[0],
                &first[0], &ids[0], &where[0], &watch,
            )
            new = find_new(&known.known, &known.walker, ids_of(ids), entries, &watch)
        release(walkers, threads)
    raise_if_stopped(&watch)
    if new < 0:
        raise MemoryError()
    src = np.empty(n_dst + new, np.int32)
    with nogil:
        if entries:
            make_local(known, ids_of(dst), n_dst, &src[0], &ids[0], entries, &watch)
    raise_if_stopped(&watch)
    if entries == 0:
        src[:] = dst
    return np.asarray(src), np.asarray(bounds), np.asarray(ids), np.asarray(where), after


cdef int reserve(Walker* walkers, int count, int64_t fanout) noexcept nogil:
    """Have memory for `count` threads to draw up to `fanout` of a row; -1 when it runs out."""
    cdef int t
    cdef int64_t scratch = max(<int64_t>SHORT, displaced_size(fanout))
    for t in range(count):
        if not (
            room(&walkers[t], FIRST, <size_t>scratch * sizeof(int32_t))
            and room(&walkers[t], FOUND, <size_t>fanout * sizeof(int32_t))
            and room(&walkers[t], SPARE, <size_t>fanout * sizeof(int32_t))
        ):
            return -1
    return 0


cdef void release(Walker* walkers, int count) noexcept nogil:
    cdef int t
    for t in range(count):
        release_buffers(&walkers[t])
    give_back(walkers)


cdef uint64_t bound_rows(
    const int64_t* indptr, const int32_t* dst, int64_t n_dst, int64_t fanout, uint64_t draws,  # IN
    int64_t* bounds, int64_t* first  # OUT
) noexcept nogil:
    """Say where each row's entries and draws begin; return where the next row's draws would."""
    cdef int64_t i, degree
    bounds[0] = 0
    for i in range(n_dst):
        if i + AHEAD < n_dst:
            prefetch(indptr + dst[i + AHEAD])
        degree = indptr[dst[i] + 1] - indptr[dst[i]]
        bounds[i + 1] = bounds[i] + min(degree, fanout)
        first[i] = <int64_t>draws
        draws += <uint64_t>(fanout if degree > fanout else 0)
    return draws


cdef void draw_rows(
    Walker* walkers,  # INOUT
    const int64_t* indptr, const int32_t* indices, const int32_t* dst, int64_t n_dst,  # IN
    int64_t fanout, uint64_t key, const int64_t* bounds, const int64_t* first,  # IN
    int32_t* ids, int64_t* where,  # OUT
    Watch* watch  # INOUT
) noexcept nogil:
    """Write the neighbours that each row draws, and where they stand."""
    cdef int64_t batch, batches = (n_dst + ROWS - 1) // ROWS
    with parallel(use_threads_if=batches > 1):
        for batch in prange(batches, schedule="dynamic"):
            if stopped(watch):
                continue
            draw_batch(
                indptr, indices, dst, batch * ROWS, min((batch + 1) * ROWS, n_dst), fanout, key,
                bounds, first, &walkers[threadid()], ids, where, watch,
            )


cdef void draw_batch(
    const int64_t* indptr, const int32_t* indices, const int32_t* dst, int64_t begin,  # IN
    int64_t end, int64_t fanout, uint64_t key, const int64_t* bounds, const int64_t* first,  # IN
    Walker* walker,  # INOUT
    int32_t* ids, int64_t* where,  # OUT
    Watch* watch  # INOUT
) noexcept nogil:
    """Choose for some rows, then read what was chosen: those reads wait for memory together."""
    cdef int64_t i, j, degree, row
    for i in range(begin, end):
        if i + AHEAD < end:
            prefetch(indptr + dst[i + AHEAD])
        row = indptr[dst[i]]
        degree = indptr[dst[i] + 1] - row
        if degree <= fanout:
            for j in range(degree):
                where[bounds[i] + j] = row + j
        else:
            draw_row(
                row, degree, fanout, key, <uint64_t>first[i], walker, where + bounds[i], watch
            )
    if has_stopped(watch):  # some rows may have drawn nothing
        return
    for j in range(bounds[begin], bounds[end]):
        ids[j] = indices[where[j]]


cdef void draw_row(
    int64_t row, int64_t degree, int64_t fanout, uint64_t key, uint64_t first,  # IN
    Walker* walker,  # INOUT
    int64_t* where,  # OUT
    Watch* watch  # INOUT
) noexcept nogil:
    """Draw `fanout` positions of a row, ascending, in the memory that `reserve` got."""
    cdef int64_t i, j
    cdef int32_t x, smaller
    cdef int32_t* picked = <int32_t*>walker.buffers[FOUND].memory
    cdef int32_t* scratch = <int32_t*>walker.buffers[FIRST].memory
    if degree <= SHORT:
        shuffle_whole(key, first, degree, fanout, picked, scratch)
    else:
        partial_shuffle(key, first, degree, fanout, picked, scratch, watch)
        if has_stopped(watch):
            return
    if fanout <= FEW:
        for i in range(fanout):
            x = picked[i]
            smaller = 0
            for j in range(fanout):
                smaller += picked[j] < x
            where[smaller] = row + x
    else:
        walker.found, walker.s = picked, fanout
        sort_unique(walker)
        for i in range(fanout):
            where[i] = row + picked[i]


cdef void shuffle_whole(
    uint64_t key, uint64_t first, int64_t N, int64_t m, int32_t* picked, int32_t* deck
) noexcept nogil:
    """`partial_shuffle` with all N numbers at hand."""
    cdef int64_t i, j
    for i in range(N):
        deck[i] = <int32_t>i
    for i in range(m):
        j = i + below(key, first + <uint64_t>i, N - i)
        picked[i] = deck[j]
        deck[j] = deck[i]


cdef void make_local(
    Relabelling relabelling,  # INOUT
    const int32_t* dst, int64_t n_dst,  # IN
    int32_t* src,  # OUT
    int32_t* ids,  # INOUT
    int64_t entries,  # IN
    Watch* watch  # INOUT
) noexcept nogil:
    """Fill `src`, and make `ids` local: new nodes come behind `dst`, ascending."""
    cdef int64_t first
    cdef Known* known = &relabelling.known
    if n_dst:
        memcpy(src, dst, <size_t>n_dst * sizeof(int32_t))
    number_new(known, &relabelling.walker, n_dst, src)
    for first in prange(
        0, entries, ROWS * ROWS, schedule="static", use_threads_if=entries > ROWS * ROWS
    ):
        if stopped(watch):
            continue
        relabel(known, ids, first, min(first + ROWS * ROWS, entries))
