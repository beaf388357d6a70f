"""Kernels for induced subgraphs and JPDC'21 Algorithm 6. Arguments were checked by graph.py."""

import numpy as np
from cython cimport view
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint32_t
from libc.string cimport memcpy, memset

from fastimpl._interrupts cimport Watch, has_stopped, new_watch, raise_if_stopped, stopped_at
from fastimpl._memory cimport allocate, allocate_zeros, give_back, resize
from fastimpl._types cimport ids_of, offsets_of

cdef extern from "fastimpl/_scan.h":
    int64_t scan_row "gnn_scan_row"(
        const int32_t* row, int64_t length, int64_t position, const Word* words,
        int32_t* local, int64_t* where
    ) noexcept nogil
    void transpose_narrow "gnn_transpose_narrow"(
        const int64_t* indptr, const int32_t* indices, int64_t n, int32_t* ptr, int64_t* perm,
        Watch* watch
    ) noexcept nogil
    void transpose_wide "gnn_transpose_wide"(
        const int64_t* indptr, const int32_t* indices, int64_t n, int64_t* ptr, int64_t* perm,
        Watch* watch
    ) noexcept nogil


cdef enum:
    LINES = 16  # cache lines to fetch ahead of a row: the hardware follows only longer ones
    AHEAD = 4  # rows between the one being scanned and the one being fetched


cdef int make_room(Rows* rows, int64_t size) noexcept nogil:
    """Have room for `size` entries, what is there kept; return -1 when memory runs out."""
    cdef void* memory
    if size <= rows.capacity:
        return 0
    size += size // 2
    memory = resize(rows.local, <size_t>size * sizeof(int32_t))
    if memory == NULL:
        return -1
    rows.local = <int32_t*>memory
    memory = resize(rows.where, <size_t>size * sizeof(int64_t))
    if memory == NULL:
        return -1
    rows.where = <int64_t*>memory
    rows.capacity = size
    return 0


cdef void forget(Word* words, const int32_t* nodes, int64_t s) noexcept nogil:
    """Make the set empty again, in time proportional to what was in it."""
    cdef int64_t i
    for i in range(s):
        words[nodes[i] >> 5].bits = 0


cdef int induce(
    const int64_t* indptr, const int32_t* indices, const int32_t* nodes, int64_t s,
    Word* words, Rows* rows, Induced* out, Watch* watch
) noexcept nogil:
    """Fill `out` with the subgraph on `nodes`; return -1 when memory runs out or it was stopped.

    Each row is scanned once: a bitmap says which neighbours are nodes of the subgraph, and the
    bitmap's ranks are their local ids. It takes n / 4 bytes, most of which stay in the L2 cache,
    and only the words of `nodes` are touched. `words` may hold the nodes, or nothing; the caller
    makes it forget them.
    """
    cdef int64_t i, j, k, length, e = 0
    for i in range(s):
        if i == 0 or nodes[i] >> 5 != nodes[i - 1] >> 5:
            words[nodes[i] >> 5].rank = <int32_t>i
        words[nodes[i] >> 5].bits |= <uint32_t>1 << (nodes[i] & 31)
    # one byte more than needed, because malloc(0) may return NULL
    out.s = s
    out.nodes = <int32_t*>allocate(<size_t>s * sizeof(int32_t) + 1)
    out.indptr = <int64_t*>allocate(<size_t>(s + 1) * sizeof(int64_t))
    if not (out.nodes and out.indptr):
        return -1
    if s:  # else `nodes` is NULL, which memcpy must not be given
        memcpy(out.nodes, nodes, <size_t>s * sizeof(int32_t))
    for i in range(s):
        if stopped_at(watch, i):
            return -1
        if i + 4 * AHEAD < s:
            prefetch(indptr + nodes[i + 4 * AHEAD])
        if i + AHEAD < s:
            j = indptr[nodes[i + AHEAD]]
            k = j
            while k < indptr[nodes[i + AHEAD] + 1] and k < j + 16 * LINES:
                prefetch(indices + k)
                k += 16
        j = indptr[nodes[i]]
        length = indptr[nodes[i] + 1] - j
        if make_room(rows, e + length + 16):
            return -1
        out.indptr[i] = e
        e += scan_row(indices + j, length, j, words, rows.local + e, rows.where + e)
    out.indptr[s] = e
    out.indices = <int32_t*>allocate(<size_t>e * sizeof(int32_t) + 1)
    out.edge_ids = <int64_t*>allocate(<size_t>e * sizeof(int64_t) + 1)
    out.perm = <int64_t*>allocate(<size_t>(e + s) * sizeof(int64_t) + 1)
    if not (out.indices and out.edge_ids and out.perm):
        return -1
    if e:
        memcpy(out.indices, rows.local, <size_t>e * sizeof(int32_t))
        memcpy(out.edge_ids, rows.where, <size_t>e * sizeof(int64_t))
        transpose(out.indptr, out.indices, s, out.perm + e, out.perm, watch)
    return -1 if has_stopped(watch) else 0


cdef void transpose(
    const int64_t* indptr, const int32_t* indices, int64_t n, int64_t* ptr, int64_t* perm,
    Watch* watch
) noexcept nogil:
    """Algorithm 6; serial, because subgraphs run in parallel (JPDC'21 section 5.2)."""
    if indptr[n] <= INT32_MAX:
        transpose_narrow(indptr, indices, n, <int32_t*>ptr, perm, watch)
    else:
        transpose_wide(indptr, indices, n, ptr, perm, watch)


cdef void release_rows(Rows* rows) noexcept nogil:
    give_back(rows.local)
    give_back(rows.where)


cdef void release(Induced* out) noexcept nogil:
    give_back(out.nodes)
    give_back(out.indptr)
    give_back(out.indices)
    give_back(out.edge_ids)
    give_back(out.perm)


cdef object owned_int32(int32_t** p, int64_t length):
    """Hand memory over to a NumPy array, which gives it back; NULL stays where it was."""
    cdef view.array memory
    if length == 0:
        return np.empty(0, np.int32)
    memory = <int32_t[:length]>p[0]
    memory.callback_free_data = give_back
    p[0] = NULL
    return np.asarray(memory)


cdef object owned_int64(int64_t** p, int64_t length):
    cdef view.array memory
    if length == 0:
        return np.empty(0, np.int64)
    memory = <int64_t[:length]>p[0]
    memory.callback_free_data = give_back
    p[0] = NULL
    return np.asarray(memory)


cdef object as_arrays(Induced* out):
    """Return (nodes, indptr, indices, edge_ids, perm) as arrays that own their memory.

    What no array owns, after an error too, is left to `release`.
    """
    cdef int64_t s = out.s, e = out.indptr[out.s]
    return (
        owned_int32(&out.nodes, s),
        owned_int64(&out.indptr, s + 1),
        owned_int32(&out.indices, e),
        owned_int64(&out.edge_ids, e),
        owned_int64(&out.perm, e),
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
    const int32_t[::1] nodes
):
    """Return the arrays of `as_arrays`."""
    cdef Induced out
    cdef int status
    cdef const int64_t* offsets = offsets_of(indptr)
    cdef const int32_t* ids = ids_of(indices)
    cdef const int32_t* chosen = ids_of(nodes)
    cdef Watch watch = new_watch()
    memset(&out, 0, sizeof(Induced))
    with nogil:
        status = induce(
            offsets, ids, chosen, nodes.shape[0], members.words, &members.rows, &out, &watch
        )
        forget(members.words, chosen, nodes.shape[0])
    try:
        raise_if_stopped(&watch)
        if status:
            raise MemoryError()
        return as_arrays(&out)
    finally:
        release(&out)


def transpose_perm(
    const int64_t[::1] indptr, const int32_t[::1] indices, int64_t[::1] ptr, int64_t[::1] perm
):
    cdef int64_t n = indptr.shape[0] - 1
    cdef const int64_t* offsets = offsets_of(indptr)
    cdef const int32_t* ids = ids_of(indices)
    cdef Watch watch = new_watch()
    if indices.shape[0]:
        with nogil:
            transpose(offsets, ids, n, &ptr[0], &perm[0], &watch)
    raise_if_stopped(&watch)
