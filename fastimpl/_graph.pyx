"""Kernels for induced subgraphs and JPDC'21 Algorithm 6. Arguments were checked in graph/."""

from cython.parallel cimport prange
import numpy as np
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint32_t
from libc.string cimport memcpy, memset

from fastimpl._buffers cimport borrow, handed_over, put_back
from fastimpl._interrupts cimport Watch, has_stopped, new_watch, raise_if_stopped, stopped_at
from fastimpl._memory cimport allocate_pages, allocate_zeros, give_back, resize
from fastimpl._types cimport ids_of, offsets_of, position

cdef extern from "fastimpl/_scan.h":
    void find_members "gnn_find_members"(
        const int32_t* entries, int64_t length, const Word* words, int32_t row, Entries* found
    ) noexcept nogil
    int64_t find_positions "gnn_find_positions"(
        const int32_t* entries, int64_t length, int64_t position, const Word* words, int64_t* where
    ) noexcept nogil
    void make_local "gnn_make_local"(
        Entries* found, const Word* words, int32_t* counts, Watch* watch
    ) noexcept nogil
    void lay_out_narrow "gnn_lay_out_narrow"(
        const Entries* found, const int64_t* first, const int32_t* below, int64_t n, int32_t* next,
        int32_t* shift, void* entries, int64_t* indptr, int32_t* indices, int32_t* perm,
        Watch* watch
    ) noexcept nogil
    void lay_out_wide "gnn_lay_out_wide"(
        const Entries* found, const int64_t* first, const int32_t* below, int64_t n, int64_t* next,
        int64_t* shift, void* entries, int64_t* indptr, int32_t* indices, int64_t* perm,
        Watch* watch
    ) noexcept nogil
    void transpose_narrow "gnn_transpose_narrow"(
        const int64_t* indptr, const int32_t* indices, int64_t n, int32_t* ptr, int32_t* perm,
        Watch* watch
    ) noexcept nogil
    void transpose_wide "gnn_transpose_wide"(
        const int64_t* indptr, const int32_t* indices, int64_t n, int64_t* ptr, int64_t* perm,
        Watch* watch
    ) noexcept nogil


cdef enum:
    LINES = 16  # cache lines to fetch ahead of a row: the hardware follows only longer ones
    AHEAD = 4  # rows between the one being scanned and the one being fetched
    WHOLE = 16  # entries more than there are, which a vector may write


cdef int grow(void** memory, int64_t count, size_t size) noexcept nogil:
    """Have room for `count` numbers of `size` bytes, what is there kept; -1: no memory."""
    cdef void* grown = resize(memory[0], <size_t>count * size)
    if grown == NULL:
        return -1
    memory[0] = grown
    return 0


cdef int room_for_found(Rows* rows, int64_t count) noexcept nogil:
    count += WHOLE
    if count <= rows.length:
        return 0
    count += count // 2
    if grow(<void**>&rows.found.row, count, sizeof(int32_t)) or grow(
        <void**>&rows.found.column, count, sizeof(int32_t)
    ):
        return -1
    rows.length = count
    return 0


cdef int room_for_entries(Rows* rows, int64_t e) noexcept nogil:
    """Have room for e entries; what was there is lost."""
    cdef int64_t size = 2 * e * <int64_t>width(e)
    if size <= rows.size:
        return 0
    give_back(rows.entries)
    rows.size = 0
    rows.entries = allocate_pages(<size_t>(size + size // 2))
    if rows.entries == NULL:
        return -1
    rows.size = size + size // 2
    return 0


cdef int room_for_nodes(Rows* rows, int64_t count) noexcept nogil:
    if count <= rows.nodes:
        return 0
    count += count // 2
    if (
        grow(<void**>&rows.first, count, sizeof(int64_t))
        or grow(<void**>&rows.below, count, sizeof(int32_t))
        or grow(<void**>&rows.next, count, sizeof(int64_t))
        or grow(<void**>&rows.shift, count, sizeof(int64_t))
    ):
        return -1
    rows.nodes = count
    return 0


cdef int64_t most_narrow = INT32_MAX  # entries of a subgraph whose positions have 32 bits


def narrow_up_to(int64_t e):
    """Let positions have 32 bits up to so many entries, at most 2^31 - 1. For tests."""
    global most_narrow
    most_narrow = min(e, INT32_MAX)


cdef void forget(Word* words, const int32_t* nodes, int64_t s) noexcept nogil:
    """Make the set empty again, in time proportional to what was in it."""
    cdef int64_t i
    for i in range(s):
        words[nodes[i] >> 5].bits = 0


cdef void remember(Word* words, const int32_t* nodes, int64_t s) noexcept nogil:
    """Make the set that of `nodes`; it may hold them, or nothing."""
    cdef int64_t i
    for i in range(s):
        if i == 0 or nodes[i] >> 5 != nodes[i - 1] >> 5:
            words[nodes[i] >> 5].rank = <int32_t>i
        words[nodes[i] >> 5].bits |= <uint32_t>1 << (nodes[i] & 31)


cdef int induce(
    const int64_t* indptr, const int32_t* indices, const int32_t* diagonal,  # IN
    const int32_t* nodes, int64_t s,  # IN
    Word* words, Rows* rows,  # INOUT
    Induced* out,  # OUT
    Watch* watch  # INOUT
) noexcept nogil:
    """Fill `out` with the subgraph on `nodes`; return -1 when memory runs out or it was stopped.

    Each row is read from the diagonal on; what stands before it is in the rows of lower nodes. A
    bitmap says which neighbours are nodes of the subgraph, and the bitmap's ranks are their local
    ids. It takes n / 4 bytes, most of which stay in the L2 cache, and only the words of `nodes` are
    touched. `words` may hold the nodes, or nothing; the caller makes it forget them.
    """
    cdef int64_t e
    remember(words, nodes, s)
    if room_for_nodes(rows, s + 1):
        return -1
    e = scan_rows(indptr, indices, diagonal, nodes, s, words, rows, watch)
    if e < 0:
        return -1
    out.s, out.e = s, e
    out.nodes = <int32_t*>borrow(<size_t>s * sizeof(int32_t))
    out.indptr = <int64_t*>borrow(<size_t>(s + 1) * sizeof(int64_t))
    out.entries = borrow(<size_t>e * (width(e) + sizeof(int32_t)))
    if not (out.nodes and out.indptr and out.entries) or room_for_entries(rows, e):
        return -1
    if s:  # else `nodes` is NULL, which memcpy must not be given
        memcpy(out.nodes, nodes, <size_t>s * sizeof(int32_t))
    if e <= most_narrow:
        lay_out_narrow(
            &rows.found, rows.first, rows.below, s, <int32_t*>rows.next, <int32_t*>rows.shift,
            rows.entries, out.indptr, <int32_t*>out.entries + e, <int32_t*>out.entries, watch,
        )
    else:
        lay_out_wide(
            &rows.found, rows.first, rows.below, s, rows.next, rows.shift, rows.entries,
            out.indptr, <int32_t*>(<int64_t*>out.entries + e), <int64_t*>out.entries, watch,
        )
    return -1 if has_stopped(watch) else 0


cdef int64_t scan_rows(
    const int64_t* indptr, const int32_t* indices, const int32_t* diagonal,  # IN
    const int32_t* nodes, int64_t s, const Word* words,  # IN
    Rows* rows, Watch* watch  # INOUT
) noexcept nogil:
    """Fill found, first and below of `rows`; return the number of entries of whole rows, or -1."""
    cdef int64_t i, j, end, loops = 0
    cdef bint loop
    rows.found.count = 0
    for i in range(s):
        if stopped_at(watch, i):
            return -1
        if i + 4 * AHEAD < s:
            prefetch(indptr + nodes[i + 4 * AHEAD])
            prefetch(diagonal + nodes[i + 4 * AHEAD])
        if i + AHEAD < s:
            j = indptr[nodes[i + AHEAD]] + diagonal[nodes[i + AHEAD]]
            end = min(indptr[nodes[i + AHEAD] + 1], j + 16 * LINES)
            while j < end:
                prefetch(indices + j)
                j += 16
        j = indptr[nodes[i]] + diagonal[nodes[i]]
        end = indptr[nodes[i] + 1]
        if room_for_found(rows, rows.found.count + end - j):
            return -1
        rows.first[i] = rows.found.count
        loop = j < end and indices[j] == nodes[i]
        rows.below[i] = -<int32_t>loop  # which is to be counted, and does not stand below
        loops += loop
        find_members(indices + j, end - j, words, <int32_t>i, &rows.found)
    rows.first[s] = rows.found.count
    make_local(&rows.found, words, rows.below, watch)
    if has_stopped(watch):
        return -1
    return 2 * rows.found.count - loops


cdef size_t width(int64_t e) noexcept nogil:
    """Return the bytes of a position among e entries."""
    return sizeof(int32_t) if e <= most_narrow else sizeof(int64_t)


cdef void release_rows(Rows* rows) noexcept nogil:
    give_back(rows.found.row)
    give_back(rows.found.column)
    give_back(rows.entries)
    give_back(rows.first)
    give_back(rows.below)
    give_back(rows.next)
    give_back(rows.shift)


cdef void release(Induced* out) noexcept nogil:
    put_back(out.nodes, <size_t>out.s * sizeof(int32_t))
    put_back(out.indptr, <size_t>(out.s + 1) * sizeof(int64_t))
    put_back(out.entries, <size_t>out.e * (width(out.e) + sizeof(int32_t)))


cdef object as_arrays(Induced* out):
    """Return (nodes, indptr, indices, perm) as arrays that own their memory.

    What no array owns, after an error too, is left to `release`.
    """
    nodes = handed_over(<void**>&out.nodes, <size_t>out.s * sizeof(int32_t))
    indptr = handed_over(<void**>&out.indptr, <size_t>(out.s + 1) * sizeof(int64_t))
    entries = handed_over(&out.entries, <size_t>out.e * (width(out.e) + sizeof(int32_t)))
    return (
        np.frombuffer(nodes, np.int32, out.s),
        np.frombuffer(indptr, np.int64, out.s + 1),
        np.frombuffer(entries, np.int32, out.e, out.e * width(out.e)),
        np.frombuffer(entries, np.int32 if out.e <= most_narrow else np.int64, out.e),
    )


cdef class NodeSet:
    """Memory for `induced_subgraph`: a set of nodes of one graph, empty between calls, and rows."""

    def __cinit__(self, int64_t graph_nodes):
        memset(&self.rows, 0, sizeof(Rows))
        self.words = <Word*>allocate_zeros(<size_t>(graph_nodes // 32 + 1), sizeof(Word))
        if self.words == NULL:
            raise MemoryError()

    def __dealloc__(self):
        release_rows(&self.rows)
        give_back(self.words)


def induced_subgraph(
    NodeSet members, const int64_t[::1] indptr, const int32_t[::1] indices,
    const int32_t[::1] diagonal, const int32_t[::1] nodes
):
    """Return the arrays of `as_arrays`."""
    cdef Induced out
    cdef int status
    cdef const int64_t* offsets = offsets_of(indptr)
    cdef const int32_t* ids = ids_of(indices)
    cdef const int32_t* middle = ids_of(diagonal)
    cdef const int32_t* chosen = ids_of(nodes)
    cdef Watch watch = new_watch()
    memset(&out, 0, sizeof(Induced))
    with nogil:
        status = induce(
            offsets, ids, middle, chosen, nodes.shape[0], members.words, &members.rows, &out,
            &watch,
        )
        forget(members.words, chosen, nodes.shape[0])
    try:
        raise_if_stopped(&watch)
        if status:
            raise MemoryError()
        return as_arrays(&out)
    finally:
        release(&out)


def edge_ids(
    NodeSet members, const int64_t[::1] indptr, const int32_t[::1] indices,
    const int32_t[::1] nodes, int64_t[::1] where
):
    """Write where the entries of the subgraph on `nodes` stand to `where`, which has 16 more."""
    cdef int64_t i, j, found = 0, s = nodes.shape[0]
    cdef const int64_t* offsets = offsets_of(indptr)
    cdef const int32_t* ids = ids_of(indices)
    cdef const int32_t* chosen = ids_of(nodes)
    cdef Watch watch = new_watch()
    with nogil:
        remember(members.words, chosen, s)
        for i in range(s):
            if stopped_at(&watch, i):
                break
            j = offsets[chosen[i]]
            found += find_positions(
                ids + j, offsets[chosen[i] + 1] - j, j, members.words, &where[found]
            )
        forget(members.words, chosen, s)
    raise_if_stopped(&watch)


def diagonal(const int64_t[::1] indptr, const int32_t[::1] indices, int32_t[::1] out):
    """Write to `out` how many entries of each row are below its node."""
    cdef int64_t v, low, high, middle, n = indptr.shape[0] - 1
    cdef const int32_t* ids = ids_of(indices)
    cdef Watch watch = new_watch()
    for v in prange(n, nogil=True, schedule="dynamic", chunksize=1 << 14):
        if stopped_at(&watch, v):
            continue
        low, high = indptr[v], indptr[v + 1]
        while low < high:
            middle = low + (high - low) // 2
            if ids[middle] < v:
                low = middle + 1
            else:
                high = middle
        out[v] = <int32_t>(low - indptr[v])
    raise_if_stopped(&watch)


def transpose_perm(
    const int64_t[::1] indptr, const int32_t[::1] indices, position[::1] ptr, position[::1] perm
):
    """Algorithm 6; serial, because subgraphs run in parallel (JPDC'21 section 5.2)."""
    cdef int64_t n = indptr.shape[0] - 1
    cdef const int64_t* offsets = offsets_of(indptr)
    cdef const int32_t* ids = ids_of(indices)
    cdef Watch watch = new_watch()
    if indices.shape[0]:
        with nogil:
            if position is int32_t:
                transpose_narrow(offsets, ids, n, &ptr[0], &perm[0], &watch)
            else:
                transpose_wide(offsets, ids, n, &ptr[0], &perm[0], &watch)
    raise_if_stopped(&watch)
