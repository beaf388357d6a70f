"""Random edges, by a uniform node and its neighbour or from an alias table."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from fastimpl._graph cimport prefetch
from fastimpl._interrupts cimport stopped
from fastimpl._streams cimport below, uniform
from fastimpl.samplers._walker cimport Walker, reserve, whole

cdef enum:
    BATCH = 32  # edges under way at a time: their reads of memory overlap


cdef int edge_whole(Walker* walker) noexcept nogil:
    """Draw options.b edges; edge i takes draws 2 i and 2 i + 1."""
    cdef int64_t b = walker.options.b if walker.options.outcomes else 0
    cdef int64_t first, i, count, batch
    if reserve(walker, 2 * b, b):
        return -1
    for batch in range((b + BATCH - 1) // BATCH):
        if stopped(walker.watch):
            return -1
        first = batch * BATCH
        count = min(<int64_t>BATCH, b - first)
        if walker.options.by_alias:
            draw_by_alias(walker, first, count)  # J5:3
        else:
            draw_direct(walker, first, count)  # J5:3
        for i in range(first, first + count):
            walker.found[2 * i] = walker.popped[i]  # J5:4
            walker.found[2 * i + 1] = walker.pushed[i]  # J5:4
            walker.counts.popped_degree_sum += degree(walker, walker.popped[i])
            walker.counts.added_degree_sum += degree(walker, walker.pushed[i])
    walker.s = 2 * b
    walker.counts.pops = b
    walker.counts.draws = 2 * b
    return 0


cdef inline int64_t degree(const Walker* walker, int32_t v) noexcept nogil:
    return walker.indptr[v + 1] - walker.indptr[v]


cdef void draw_direct(Walker* walker, int64_t first, int64_t count) noexcept nogil:
    cdef int64_t[BATCH] at
    cdef int64_t i
    cdef int32_t u
    for i in range(count):
        u = <int32_t>below(walker.main, <uint64_t>(2 * (first + i)), walker.options.outcomes)
        if walker.tables.first != NULL:
            u = walker.tables.first[u]
        walker.popped[first + i] = u
        prefetch(walker.indptr + u)
    for i in range(count):
        u = walker.popped[first + i]
        at[i] = walker.indptr[u] + below(
            walker.main, <uint64_t>(2 * (first + i) + 1), degree(walker, u)
        )
        prefetch(walker.indices + at[i])
    for i in range(count):
        walker.pushed[first + i] = walker.indices[at[i]]
        prefetch(walker.indptr + walker.pushed[first + i])


cdef void draw_by_alias(Walker* walker, int64_t first, int64_t count) noexcept nogil:
    cdef int64_t[BATCH] at
    cdef int64_t i, e
    for i in range(count):
        at[i] = below(walker.main, <uint64_t>(2 * (first + i)), walker.options.outcomes)
        prefetch(walker.tables.prob + at[i])
        prefetch(walker.tables.alias + at[i])
    for i in range(count):
        e = at[i]
        if uniform(walker.main, <uint64_t>(2 * (first + i) + 1)) >= walker.tables.prob[e]:
            e = walker.tables.alias[e]
        at[i] = e
        prefetch(walker.tables.first + e)
        prefetch(walker.tables.second + e)
    for i in range(count):
        walker.popped[first + i] = walker.tables.first[at[i]]
        walker.pushed[first + i] = walker.tables.second[at[i]]
        prefetch(walker.indptr + walker.popped[first + i])
        prefetch(walker.indptr + walker.pushed[first + i])


KERNEL = whole(edge_whole)
