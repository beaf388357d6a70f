"""Drives the samplers: one sample for its nodes, or many subgraphs in parallel."""

import numpy as np
from cython.parallel cimport parallel, prange, threadid
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free

from fastimpl._graph cimport Induced, as_arrays, induce, release
from fastimpl._types cimport gnn_max_threads, ids_of, offsets_of
from fastimpl.samplers._frontier cimport frontier
from fastimpl.samplers._pin_tile cimport pin_tile
from fastimpl.samplers._workspace cimport Counts, Kernel, Options, Scratch, Workspace, finish

ctypedef struct Result:
    Induced induced
    Counts counts
    int status


cdef Kernel kernel_of(str name) except NULL:
    if name == "frontier":
        return frontier
    if name == "pin_tile":
        return pin_tile
    raise ValueError(name)


def sample_nodes(
    Workspace workspace, str name, const int64_t[::1] indptr, const int32_t[::1] indices,
    Options options, uint64_t main, uint64_t probe
):
    """Return (nodes, popped, pushed, counters) of one sample."""
    cdef Kernel kernel = kernel_of(name)
    cdef const int64_t* offsets = offsets_of(indptr)
    cdef const int32_t* ids = ids_of(indices)
    cdef Scratch* scratch
    cdef int status
    workspace.reserve(1)
    scratch = &workspace.threads[0]
    with nogil:
        status = kernel(offsets, ids, indptr.shape[0] - 1, &options, main, probe, scratch)
        status = finish(scratch) or status
    if status:
        raise MemoryError()
    return (
        copied(scratch.nodes, scratch.s),
        copied(scratch.popped, scratch.counts.pops),
        copied(scratch.pushed, scratch.counts.pops),
        scratch.counts,
    )


def sample_subgraphs(
    Workspace workspace, str name, const int64_t[::1] indptr, const int32_t[::1] indices,
    Options options, const uint64_t[:, ::1] keys
):
    """Return (arrays of a subgraph, counters) for each row (main, probe) of `keys`.

    A task is one subgraph: it depends on its keys alone, so neither the number of threads nor
    the order in which they take tasks changes a result.
    """
    cdef Kernel kernel = kernel_of(name)
    cdef const int64_t* offsets = offsets_of(indptr)
    cdef const int32_t* ids = ids_of(indices)
    cdef int64_t q, count = keys.shape[0], graph_nodes = indptr.shape[0] - 1
    cdef int threads = gnn_max_threads()
    cdef int failed = 0
    cdef Scratch* scratch
    cdef Result* results
    workspace.reserve(threads)
    results = <Result*>calloc(<size_t>count + 1, sizeof(Result))
    if results == NULL:
        raise MemoryError()
    with nogil, parallel():
        scratch = &workspace.threads[threadid()]
        for q in prange(count, schedule="dynamic", chunksize=1):
            results[q].status = draw(
                kernel, offsets, ids, graph_nodes, &options, keys[q, 0], keys[q, 1], scratch,
                &results[q],
            )
    try:
        for q in range(count):
            failed += results[q].status != 0
        if failed:
            for q in range(count):
                release(&results[q].induced)
            raise MemoryError()
        return [(as_arrays(&results[q].induced), results[q].counts) for q in range(count)]
    finally:
        free(results)


cdef int draw(
    Kernel kernel, const int64_t* indptr, const int32_t* indices, int64_t graph_nodes,
    const Options* options, uint64_t main, uint64_t probe, Scratch* scratch, Result* result
) noexcept nogil:
    """Sample, sort, induce and transpose (JPDC'21 Algorithm 8, lines 5 and 6)."""
    cdef int status = kernel(indptr, indices, graph_nodes, options, main, probe, scratch)
    status = finish(scratch) or status  # also after a failure: it clears the marks
    if status:
        return -1
    result.counts = scratch.counts
    return induce(indptr, indices, scratch.nodes, scratch.s, scratch.mark, &result.induced)


cdef object copied(const int32_t* p, int64_t length):
    if length == 0:
        return np.empty(0, np.int32)
    return np.array(<int32_t[:length]>(<int32_t*>p))
