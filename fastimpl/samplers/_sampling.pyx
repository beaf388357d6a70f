"""Drives the samplers: one sample for its nodes, or many subgraphs in parallel."""

import numpy as np
from cython.parallel cimport parallel, prange, threadid
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from fastimpl._graph cimport Induced, Rows, Word, as_arrays, forget, induce, release, release_rows
from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped
from fastimpl._memory cimport allocate_zeros, give_back, resize
from fastimpl._streams cimport absorb
from fastimpl._types cimport gnn_max_threads, ids_of, offsets_of
from fastimpl.samplers._walker cimport (
    Counts, Kernel, Method, Options, Tables, Walker, clip, release_buffers, sort_unique
)

cdef enum:
    GROUP = 8  # samples that a thread draws in step: while one waits for memory, others go on

ctypedef struct Scratch:
    Word* words  # the set of a subgraph's nodes; empty between subgraphs
    Rows rows
    Walker[GROUP] walkers

ctypedef struct Result:
    Induced induced
    Counts counts
    int failed


cdef Tables tables_of(tuple arrays) except *:
    """Return the addresses of `arrays`, which the caller keeps alive."""
    cdef const int32_t[::1] first, second
    cdef const double[::1] prob
    cdef const int64_t[::1] alias
    cdef Tables tables
    first, second, prob, alias = arrays
    tables.first, tables.second = ids_of(first), ids_of(second)
    tables.prob = &prob[0] if prob.shape[0] else NULL
    tables.alias = offsets_of(alias)
    return tables


cdef class Workspace:
    """Memory that each thread reuses from sample to sample, for samples of one graph.

    After a thread's first sample nothing is allocated but the results, and no work is in
    proportion to the graph.
    """

    cdef Scratch* threads
    cdef int count
    cdef int64_t graph_nodes

    def __cinit__(self, int64_t graph_nodes):
        self.graph_nodes = graph_nodes
        self.threads = NULL
        self.count = 0

    cdef object reserve(self, int count):
        """Have memory for at least `count` threads."""
        cdef Scratch* grown
        if count <= self.count:
            return
        grown = <Scratch*>resize(self.threads, <size_t>count * sizeof(Scratch))
        if grown == NULL:
            raise MemoryError()
        self.threads = grown
        while self.count < count:
            memset(&grown[self.count], 0, sizeof(Scratch))
            grown[self.count].words = <Word*>allocate_zeros(
                <size_t>(self.graph_nodes // 32 + 1), sizeof(Word)
            )
            if grown[self.count].words == NULL:
                raise MemoryError()
            self.count += 1

    def __dealloc__(self):
        cdef int i, g
        for i in range(self.count):
            give_back(self.threads[i].words)
            release_rows(&self.threads[i].rows)
            for g in range(GROUP):
                release_buffers(&self.threads[i].walkers[g])
        give_back(self.threads)


cdef void draw_nodes(const Method* method, Walker* walkers, int group) noexcept nogil:
    cdef int g
    if method.whole == NULL:
        method.together(walkers, group)
        return
    for g in range(group):
        walkers[g].failed = method.whole(&walkers[g])


cdef void prepare(
    Walker* walker,  # INOUT
    const int64_t* indptr, const int32_t* indices, int64_t graph_nodes,  # IN
    const Options* options, const Tables* tables,  # IN
    Word* words,  # INOUT
    uint64_t main, uint64_t probe, bint keeps_steps,  # IN
    Watch* watch  # INOUT
) noexcept nogil:
    walker.tables, walker.words = tables, words
    walker.indptr, walker.indices, walker.graph_nodes = indptr, indices, graph_nodes
    walker.options, walker.main, walker.probe = options, main, probe
    walker.watch, walker.keeps_steps = watch, keeps_steps


def sample_nodes(
    Workspace workspace, Kernel kernel not None, const int64_t[::1] indptr,
    const int32_t[::1] indices, Options options, tuple arrays, uint64_t main, uint64_t probe
):
    """Return (nodes, popped, pushed, counters) of one sample."""
    cdef const Method* method = &kernel.method
    cdef Tables tables = tables_of(arrays)
    cdef const int64_t* offsets = offsets_of(indptr)
    cdef const int32_t* ids = ids_of(indices)
    cdef Walker* walker
    cdef int failed
    cdef Watch watch = new_watch()
    workspace.reserve(1)
    walker = &workspace.threads[0].walkers[0]
    prepare(
        walker, offsets, ids, indptr.shape[0] - 1, &options, &tables,
        workspace.threads[0].words, main, probe, True, &watch,
    )
    with nogil:
        draw_nodes(method, walker, 1)
        failed = walker.failed or sort_unique(walker)
    raise_if_stopped(&watch)
    if failed:
        raise MemoryError()
    return (
        copied(walker.found, walker.s),
        copied(walker.popped, walker.counts.pops),
        copied(walker.pushed, walker.counts.pops),
        walker.counts,
    )


def sample_subgraphs(
    Workspace workspace, Kernel kernel not None, const int64_t[::1] indptr,
    const int32_t[::1] indices, const int32_t[::1] diagonal, Options options, tuple arrays,
    uint64_t key, uint64_t first, int64_t count
):
    """Return (arrays of a subgraph, counters) of samples first, first + 1, .. of the stream `key`.

    A task is a few subgraphs. Each depends on its own key alone, so neither the number of threads
    nor the order in which they take tasks changes a result.
    """
    cdef const Method* method = &kernel.method
    cdef Tables tables = tables_of(arrays)
    cdef const int64_t* offsets = offsets_of(indptr)
    cdef const int32_t* ids = ids_of(indices)
    cdef const int32_t* middle = ids_of(diagonal)
    cdef int64_t q, graph_nodes = indptr.shape[0] - 1
    cdef int threads = gnn_max_threads()
    cdef int group = <int>min(max((count + threads - 1) // threads, 1), GROUP)
    # no more than there is work for: to wake a thread takes longer than to draw a small subgraph
    cdef int team = <int>min(threads, max((count + group - 1) // group, 1))
    cdef Scratch* scratch
    cdef Result* results
    cdef Watch watch = new_watch()
    workspace.reserve(team)
    results = <Result*>allocate_zeros(<size_t>count + 1, sizeof(Result))
    if results == NULL:
        raise MemoryError()
    with nogil, parallel(num_threads=team):
        scratch = &workspace.threads[threadid()]
        for q in prange(0, count, group, schedule="dynamic", chunksize=1):  # J8:4
            if stopped(&watch):
                continue
            draw(
                method, offsets, ids, middle, graph_nodes, &options, &tables, key,
                first + <uint64_t>q, <int>min(group, count - q), scratch, &results[q], &watch,
            )
    try:
        raise_if_stopped(&watch)
        subgraphs = []
        for q in range(count):
            if results[q].failed:
                raise MemoryError()
        for q in range(count):
            subgraphs.append((as_arrays(&results[q].induced), results[q].counts))
        return subgraphs
    finally:
        for q in range(count):
            release(&results[q].induced)
        give_back(results)


cdef void draw(
    const Method* method, const int64_t* indptr, const int32_t* indices,  # IN
    const int32_t* diagonal, int64_t graph_nodes, const Options* options,  # IN
    const Tables* tables, uint64_t key, uint64_t first, int group,  # IN
    Scratch* scratch, Result* results, Watch* watch  # INOUT
) noexcept nogil:
    """Sample, sort, clip, induce and transpose (JPDC'21 Algorithm 8, lines 5 and 6)."""
    cdef int g
    cdef uint64_t own
    cdef Walker* walker
    for g in range(group):
        own = absorb(key, first + <uint64_t>g)
        prepare(
            &scratch.walkers[g], indptr, indices, graph_nodes, options, tables, scratch.words,
            absorb(own, 0), absorb(own, 1), False, watch,
        )
    draw_nodes(method, scratch.walkers, group)  # J8:5
    for g in range(group):
        walker = &scratch.walkers[g]
        results[g].failed = (
            walker.failed or stopped(watch) or sort_unique(walker) or clip(walker)
        )
        if not results[g].failed:
            results[g].counts = walker.counts
            results[g].failed = induce(  # J8:6
                indptr, indices, diagonal, walker.found, walker.s, scratch.words, &scratch.rows,
                &results[g].induced, watch,
            )
            forget(scratch.words, walker.found, walker.s)


cdef object copied(const int32_t* p, int64_t length):
    if length == 0:
        return np.empty(0, np.int32)
    return np.array(<int32_t[:length]>(<int32_t*>p))
