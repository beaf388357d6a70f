"""One hop of neighbour sampling for some batches at once. Arguments were checked by neighbor.py."""

import numpy as np
from cython.parallel cimport parallel, prange, threadid
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

from fastimpl._buffers import empty
from fastimpl._graph cimport prefetch
from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped
from fastimpl._memory cimport allocate_zeros, give_back
from fastimpl._streams cimport FEW, absorb, floyd_few, floyd_many
from fastimpl._types cimport gnn_max_threads, ids_of, offsets_of
from fastimpl.samplers._labor cimport Variates, pick_below, pick_smallest
from fastimpl.samplers._relabelling cimport (
    Known, Relabelling, find_new, number_new, relabel
)
from fastimpl.samplers._walker cimport Walker

cdef enum:
    AHEAD = 16  # entries between the one looked up and the one being fetched
    ROWS = 64  # that a thread takes at a time

# The hop of one batch; pointers into arrays that Python holds.
ctypedef struct Hop:
    const int32_t* rows  # the nodes that draw
    int64_t count
    int64_t n_dst  # all destinations, those that drew before among them
    uint64_t key  # that of a row has one part more, its node
    Variates variates  # in the modes of LABOR, instead of the key
    int64_t* bounds  # count + 1
    int32_t* ids  # bounds[count], as are the positions
    int64_t* where
    Known* known  # of the batch's relabelling
    Walker* walker  # its memory for what is new
    int64_t new
    int32_t* src
    int64_t first_part  # parts of ROWS rows in the batches before


def threads():
    """Return how many threads a loop has."""
    return gnn_max_threads()


def hop(
    list known, const int64_t[::1] indptr, const int32_t[::1] indices, list dsts, list firsts,
    int64_t fanout, int64_t max_degree, list draws, const double[:, ::1] table
):
    """Return [(sources, (row bounds, local ids, positions))], of the rows dst[first:] of each.

    A batch's draws are its key, or its Variates with the `table` of their polynomials.
    """
    cdef int64_t batches = len(known), b, parts = 0, words = 0, heap = 0
    cdef const int64_t* offsets = offsets_of(indptr)
    cdef const int32_t* columns = ids_of(indices)
    cdef uint64_t* bits = NULL
    cdef double* values = NULL
    cdef int failed = 0
    cdef list arrays = []
    cdef Watch watch = new_watch()
    cdef Hop* hops = <Hop*>allocate_zeros(<size_t>batches, sizeof(Hop))
    if hops == NULL:
        raise MemoryError()
    try:
        for b in range(batches):
            begin(&hops[b], known[b], dsts[b], firsts[b], draws[b], table, arrays)
            hops[b].first_part = parts
            parts += (hops[b].count + ROWS - 1) // ROWS
        with nogil:
            count_parts(hops, batches, parts, offsets, columns, fanout, &watch)
            for b in prange(batches, schedule="dynamic", use_threads_if=batches > 1):
                if not stopped(&watch):  # otherwise not every length is there
                    bound_rows(&hops[b], offsets, fanout)
        raise_if_stopped(&watch)
        for b in range(batches):
            make_room(&hops[b], arrays[b])
        if hops[0].variates.exact and fanout < max_degree:
            heap = fanout
            values = <double*>allocate_zeros(<size_t>(heap * gnn_max_threads()), sizeof(double))
            if values == NULL:
                raise MemoryError()
        elif fanout > FEW and fanout < max_degree:
            words = (max_degree + 63) // 64
            bits = <uint64_t*>allocate_zeros(<size_t>(words * gnn_max_threads()), sizeof(uint64_t))
            if bits == NULL:
                raise MemoryError()
        with nogil:
            draw_parts(
                hops, batches, parts, offsets, columns, fanout, bits, words, values, heap, &watch
            )
            for b in prange(batches, schedule="dynamic", use_threads_if=batches > 1):
                hops[b].new = find_new(
                    hops[b].known, hops[b].walker, hops[b].ids, hops[b].bounds[hops[b].count],
                    &watch,
                )
                failed |= hops[b].new < 0
        raise_if_stopped(&watch)
        if failed:
            raise MemoryError()
        for b in range(batches):
            make_sources(&hops[b], arrays[b])
        with nogil:
            for b in prange(batches, schedule="dynamic", use_threads_if=batches > 1):
                number_new(hops[b].known, hops[b].walker, hops[b].n_dst, hops[b].src)
            relabel_parts(hops, batches, parts, &watch)
        raise_if_stopped(&watch)
    finally:
        give_back(bits)
        give_back(values)
        give_back(hops)
    return [(src, pattern) for _, src, pattern in arrays]


cdef object begin(
    Hop* self,  # INOUT
    Relabelling known,  # INOUT
    const int32_t[::1] dst, int64_t first, object draws, const double[:, ::1] table,  # IN
    list arrays  # INOUT
):
    """Describe the hop of a batch, and hold its arrays: [destinations, sources, pattern]."""
    cdef int64_t[::1] bounds = np.empty(dst.shape[0] - first + 1, np.int64)
    self.rows = ids_of(dst) + first
    self.count = dst.shape[0] - first
    self.n_dst = dst.shape[0]
    if isinstance(draws, tuple):
        now, later, cos, sin, exact, _ = draws
        self.variates = Variates(now, later, cos, sin, exact, &table[0, 0])
    else:
        self.key = draws
    self.bounds = &bounds[0]
    self.known = &known.known
    self.walker = &known.walker
    arrays.append([np.asarray(dst), None, np.asarray(bounds)])


cdef object make_room(Hop* self, list held):
    """Allocate what a hop draws, once the rows' lengths are known."""
    cdef int64_t entries = self.bounds[self.count]
    cdef int32_t[::1] ids = empty((entries,), np.int32)
    cdef int64_t[::1] where = empty((entries,), np.int64)
    self.ids = &ids[0] if entries else NULL
    self.where = &where[0] if entries else NULL
    held[2] = held[2], np.asarray(ids), np.asarray(where)


cdef object make_sources(Hop* self, list held):
    """Allocate the sources: the destinations, and behind them what is new."""
    cdef int32_t[::1] src = empty((self.n_dst + self.new,), np.int32)
    cdef const int32_t[::1] dst = held[0]
    if src.shape[0]:
        self.src = &src[0]
    if self.n_dst:
        memcpy(self.src, ids_of(dst), <size_t>self.n_dst * sizeof(int32_t))
    held[1] = np.asarray(src)


cdef void bound_rows(Hop* self, const int64_t* indptr, int64_t fanout) noexcept nogil:
    """Say where the entries of each row begin: behind those of the rows above."""
    cdef int64_t i
    self.bounds[0] = 0
    if counts_first(self):
        for i in range(self.count):
            self.bounds[i + 1] += self.bounds[i]
        return
    for i in range(self.count):
        if i + AHEAD < self.count:
            prefetch(indptr + self.rows[i + AHEAD])
        self.bounds[i + 1] = self.bounds[i] + min(
            indptr[self.rows[i] + 1] - indptr[self.rows[i]], fanout
        )


cdef inline bint counts_first(const Hop* self) noexcept nogil:
    """Does only a draw say how many neighbours a row has?"""
    return self.variates.table != NULL and not self.variates.exact


cdef void count_parts(
    Hop* hops,  # INOUT
    int64_t batches, int64_t parts, const int64_t* indptr, const int32_t* indices,  # IN
    int64_t fanout,  # IN
    Watch* watch  # INOUT
) noexcept nogil:
    """Write each row's length behind its bound, where only a draw says it."""
    cdef int64_t part
    if not counts_first(hops):
        return
    for part in prange(parts, schedule="dynamic", use_threads_if=parts > 1):
        if not stopped(watch):
            count_part(hop_of(hops, batches, part), part, indptr, indices, fanout)


cdef void count_part(
    const Hop* self, int64_t part, const int64_t* indptr, const int32_t* indices, int64_t fanout
) noexcept nogil:
    cdef int64_t i, row, degree, begin = (part - self.first_part) * ROWS
    for i in range(begin, min(begin + ROWS, self.count)):
        row = indptr[self.rows[i]]
        degree = indptr[self.rows[i] + 1] - row
        if degree > fanout:
            degree = pick_below(&self.variates, indices + row, degree, fanout, row, NULL)
        self.bounds[i + 1] = degree


cdef void draw_parts(
    Hop* hops,  # INOUT
    int64_t batches, int64_t parts, const int64_t* indptr, const int32_t* indices,  # IN
    int64_t fanout,  # IN
    uint64_t* bits,  # INOUT
    int64_t words,  # IN
    double* values,  # INOUT
    int64_t heap,  # IN
    Watch* watch  # INOUT
) noexcept nogil:
    """Let all rows of all batches draw, a part at a time."""
    cdef int64_t part
    with parallel(use_threads_if=parts > 1):
        for part in prange(parts, schedule="dynamic"):
            if stopped(watch):
                continue
            draw_part(
                hop_of(hops, batches, part), part, indptr, indices, fanout,
                bits + threadid() * words, values + threadid() * heap,
            )


cdef Hop* hop_of(Hop* hops, int64_t batches, int64_t part) noexcept nogil:
    """The hop that a part belongs to: the last that does not begin behind it."""
    cdef int64_t b = batches - 1
    while hops[b].first_part > part:
        b -= 1
    return &hops[b]


cdef void draw_part(
    const Hop* self,  # IN
    int64_t part, const int64_t* indptr, const int32_t* indices, int64_t fanout,  # IN
    uint64_t* bits, double* values  # INOUT
) noexcept nogil:
    """Choose for some rows, then read what was chosen: those reads wait for memory together."""
    cdef int64_t begin = (part - self.first_part) * ROWS
    cdef int64_t end = min(begin + ROWS, self.count)
    cdef int64_t i, j, degree, row
    cdef int64_t* where
    cdef uint64_t key
    for i in range(begin, end):
        row = indptr[self.rows[i]]
        degree = indptr[self.rows[i] + 1] - row
        where = self.where + self.bounds[i]
        if degree <= fanout:
            for j in range(degree):
                where[j] = row + j
            continue
        if self.variates.exact:
            pick_smallest(
                &self.variates, indices + row, degree, fanout, row, values, where
            )
            continue
        if self.variates.table != NULL:
            pick_below(&self.variates, indices + row, degree, fanout, row, where)
            continue
        key = absorb(self.key, <uint64_t>self.rows[i])
        if fanout <= FEW:
            floyd_few(key, degree, fanout, row, where)
        else:
            floyd_many(key, degree, fanout, row, bits, where)
        for j in range(fanout):
            prefetch(indices + where[j])
    for j in range(self.bounds[begin], self.bounds[end]):
        self.ids[j] = indices[self.where[j]]  # V1:5


cdef void relabel_parts(
    Hop* hops, int64_t batches, int64_t parts, Watch* watch
) noexcept nogil:
    """Make the ids of all rows local."""
    cdef int64_t part
    for part in prange(parts, schedule="static", use_threads_if=parts > 1):
        if stopped(watch):
            continue
        relabel_part(hop_of(hops, batches, part), part)


cdef void relabel_part(const Hop* self, int64_t part) noexcept nogil:
    cdef int64_t begin = (part - self.first_part) * ROWS
    cdef int64_t end = min(begin + ROWS, self.count)
    relabel(self.known, self.ids, self.bounds[begin], self.bounds[end])
