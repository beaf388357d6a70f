"""Kernels for induced subgraphs and JPDC'21 Algorithm 6. Arguments were checked by graph.py."""

import numpy as np
from cython cimport view
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

from fastimpl._types cimport ids_of, offsets_of


cdef int induce(
    const int64_t* indptr, const int32_t* indices, const int32_t* nodes, int64_t s,
    int32_t* mark, Induced* out
) noexcept nogil:
    """Fill `out` with the subgraph on `nodes`; return -1 when memory runs out.

    `mark` has an entry a node of the parent, -1 in each, and is left like that: only the
    entries of `nodes` are touched, so the cost does not depend on the size of the parent.
    """
    cdef int64_t i, j, e = 0, most = 0
    cdef int32_t u
    cdef void* shrunk
    for i in range(s):
        most += indptr[nodes[i] + 1] - indptr[nodes[i]]
    # one byte more than needed, because malloc(0) may return NULL
    out.s = s
    out.nodes = <int32_t*>malloc(<size_t>s * sizeof(int32_t) + 1)
    out.indptr = <int64_t*>malloc(<size_t>(s + 1) * sizeof(int64_t))
    out.indices = <int32_t*>malloc(<size_t>most * sizeof(int32_t) + 1)
    out.edge_ids = <int64_t*>malloc(<size_t>most * sizeof(int64_t) + 1)
    out.perm = NULL
    if not (out.nodes and out.indptr and out.indices and out.edge_ids):
        return -1
    memcpy(out.nodes, nodes, <size_t>s * sizeof(int32_t))
    for i in range(s):
        mark[nodes[i]] = <int32_t>i
    out.indptr[0] = 0
    for i in range(s):
        for j in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            u = mark[indices[j]]
            out.indices[e] = u  # overwritten by the next entry where u is not in the subgraph
            out.edge_ids[e] = j
            e += u >= 0
        out.indptr[i + 1] = e
    for i in range(s):
        mark[nodes[i]] = -1
    # give back what the bound had too much; a failed shrink leaves the block as it was
    shrunk = realloc(out.indices, <size_t>e * sizeof(int32_t) + 1)
    out.indices = <int32_t*>shrunk if shrunk else out.indices
    shrunk = realloc(out.edge_ids, <size_t>e * sizeof(int64_t) + 1)
    out.edge_ids = <int64_t*>shrunk if shrunk else out.edge_ids
    out.perm = <int64_t*>malloc(<size_t>(e + s) * sizeof(int64_t) + 1)
    if out.perm == NULL:
        return -1
    transpose(out.indptr, out.indices, s, out.perm + e, out.perm)
    return 0


cdef void transpose(
    const int64_t* indptr, const int32_t* indices, int64_t n, int64_t* ptr, int64_t* perm
) noexcept nogil:
    """Algorithm 6 as printed; serial, because subgraphs run in parallel (JPDC'21 section 5.2)."""
    cdef int64_t v, j
    cdef int32_t u
    memcpy(ptr, indptr, <size_t>n * sizeof(int64_t))
    for v in range(n):
        for j in range(indptr[v], indptr[v + 1]):
            u = indices[j]
            perm[ptr[u]] = j
            ptr[u] += 1


cdef void release(Induced* out) noexcept nogil:
    free(out.nodes)
    free(out.indptr)
    free(out.indices)
    free(out.edge_ids)
    free(out.perm)


cdef object owned_int32(int32_t* p, int64_t length):
    """Hand memory from malloc over to a NumPy array, which frees it."""
    cdef view.array memory
    if length == 0:
        free(p)
        return np.empty(0, np.int32)
    memory = <int32_t[:length]>p
    memory.callback_free_data = free
    return np.asarray(memory)


cdef object owned_int64(int64_t* p, int64_t length):
    cdef view.array memory
    if length == 0:
        free(p)
        return np.empty(0, np.int64)
    memory = <int64_t[:length]>p
    memory.callback_free_data = free
    return np.asarray(memory)


cdef object as_arrays(Induced* out):
    """Return (nodes, indptr, indices, edge_ids, perm) as arrays that own their memory."""
    cdef int64_t s = out.s, e = out.indptr[out.s]
    return (
        owned_int32(out.nodes, s),
        owned_int64(out.indptr, s + 1),
        owned_int32(out.indices, e),
        owned_int64(out.edge_ids, e),
        owned_int64(out.perm, e),
    )


def induced_subgraph(
    const int64_t[::1] indptr, const int32_t[::1] indices, const int32_t[::1] nodes,
    int32_t[::1] mark
):
    cdef Induced out
    cdef int status
    cdef const int64_t* offsets = offsets_of(indptr)
    cdef const int32_t* ids = ids_of(indices)
    cdef const int32_t* chosen = ids_of(nodes)
    cdef int32_t* marks = &mark[0] if mark.shape[0] else NULL
    with nogil:
        status = induce(offsets, ids, chosen, nodes.shape[0], marks, &out)
    if status:
        release(&out)
        raise MemoryError()
    return as_arrays(&out)


def transpose_perm(
    const int64_t[::1] indptr, const int32_t[::1] indices, int64_t[::1] ptr, int64_t[::1] perm
):
    cdef int64_t n = indptr.shape[0] - 1
    cdef const int64_t* offsets = offsets_of(indptr)
    cdef const int32_t* ids = ids_of(indices)
    if indices.shape[0]:
        with nogil:
            transpose(offsets, ids, n, &ptr[0], &perm[0])
