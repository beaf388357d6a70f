"""Random walks; also the multiple walks, which differ in the number of steps."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from fastimpl._graph cimport prefetch
from fastimpl._interrupts cimport stopped, stopped_at
from fastimpl._streams cimport below, displaced_size, partial_shuffle
from fastimpl.samplers._walker cimport SPARE, Walker, reserve, room, whole

cdef enum:
    BATCH = 32  # walks in step: while one waits for memory, the others go on

ctypedef struct Walk:
    int64_t row
    int64_t deg
    int64_t at
    int64_t step  # where its steps begin among all steps, and its draws after the roots'
    int64_t steps
    int32_t u


cdef int random_walk_whole(Walker* walker) noexcept nogil:
    """Walk from all roots. Where a walk's draws begin follows from the walks before it."""
    cdef int64_t r = walker.options.roots
    cdef int64_t most = r * walker.options.steps + walker.options.extra
    cdef int64_t i, first, count, batch, t, longest, drawn = 0
    cdef int32_t v
    cdef Walk[BATCH] walks
    cdef Walk* walk
    cdef int32_t* displaced = <int32_t*>room(
        walker, SPARE, <size_t>displaced_size(r) * sizeof(int32_t)
    )
    if displaced == NULL or reserve(walker, r + most, most):
        return -1
    partial_shuffle(
        walker.main, 0, walker.graph_nodes, r, walker.found, displaced, walker.watch
    )
    for batch in range((r + BATCH - 1) // BATCH):  # J5:10
        if stopped(walker.watch):
            return -1
        first = batch * BATCH
        count = min(<int64_t>BATCH, r - first)
        longest = 0
        for i in range(count):
            prefetch(walker.indptr + walker.found[first + i])
        for i in range(count):
            walk = &walks[i]
            walk.u = walker.found[first + i]  # J5:11
            walk.row = walker.indptr[walk.u]
            walk.deg = walker.indptr[walk.u + 1] - walk.row
            walk.step = drawn
            walk.steps = walker.options.steps + (first + i < walker.options.extra)
            walk.steps = walk.steps if walk.deg else 0  # an isolated root stays and draws nothing
            drawn += walk.steps
            longest = max(longest, walk.steps)
        for t in range(longest):  # J5:12
            if stopped_at(walker.watch, t):
                return -1
            for i in range(count):
                walk = &walks[i]
                if t < walk.steps:
                    walk.at = walk.row + below(
                        walker.main, <uint64_t>(r + walk.step + t), walk.deg
                    )
                    prefetch(walker.indices + walk.at)
            for i in range(count):
                if t < walks[i].steps:
                    prefetch(walker.indptr + walker.indices[walks[i].at])
            for i in range(count):
                walk = &walks[i]
                if t < walk.steps:
                    v = walker.indices[walk.at]  # J5:13
                    if walker.keeps_steps:
                        walker.popped[walk.step + t] = walk.u
                        walker.pushed[walk.step + t] = v
                    walker.found[r + walk.step + t] = v  # J5:14
                    walker.counts.popped_degree_sum += walk.deg
                    walk.u = v
                    walk.row = walker.indptr[walk.u]
                    walk.deg = walker.indptr[walk.u + 1] - walk.row
                    walker.counts.added_degree_sum += walk.deg
    walker.s = r + drawn
    walker.counts.pops = drawn
    walker.counts.draws = r + drawn
    return 0


KERNEL = whole(random_walk_whole)
