"""Algorithm 2 without line 4, for several samples at a time."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from fastimpl._graph cimport prefetch
from fastimpl._interrupts cimport stopped_at
from fastimpl._streams cimport below
from fastimpl.samplers._walker cimport Member, Walker, draw_roots, weight_of


cdef inline void walk(
    Walker* walkers, int group, int (*set_up)(Walker*) noexcept nogil,
    int64_t (*pop)(Walker*) noexcept nogil,
    int (*replace)(Walker*, int64_t, int64_t) noexcept nogil
) noexcept nogil:
    """Draw `group` samples in step: while one waits for memory, the others go on.

    Every step reads a random neighbour and that neighbour's degree, which are rarely in a cache.
    Each sample is the same as if drawn alone: they share nothing. A walker that runs out of
    memory, or is stopped, is marked as failed.

    A sampler says how it chooses the slot to replace: `set_up` when members are there, `pop` a slot
    by weight, -1 when none has any, and `replace` by a slot and its new weight; weights are capped
    degrees. All are known where this is compiled, and become one loop.
    """
    cdef int64_t m = walkers[0].options.m, i
    cdef int g, going
    cdef Walker* walker
    cdef Member* member
    cdef int32_t v_new
    for g in range(group):
        walker = &walkers[g]
        walker.failed = draw_roots(walker) or set_up(walker)  # J2:1-2 J3:4-5 I3:4-5
        walker.slot = -1 if walker.failed else 0
    for i in range(walkers[0].options.n - m):  # J2:3 J3:20 I3:17
        if stopped_at(walkers[0].watch, i):
            for g in range(group):
                walkers[g].failed = -1
            return
        going = 0
        for g in range(group):
            walker = &walkers[g]
            if walker.slot < 0:
                continue
            walker.slot = pop(walker)  # J2:4 J3:21 I3:18
            if walker.slot < 0:
                continue
            going += 1
            member = &walker.members[walker.slot]
            walker.at = member.row + below(walker.main, <uint64_t>(m + i), member.deg)
            prefetch(walker.indices + walker.at)
        if going == 0:
            break
        for g in range(group):
            walker = &walkers[g]
            if walker.slot >= 0:
                prefetch(walker.indptr + walker.indices[walker.at])
        for g in range(group):
            walker = &walkers[g]
            if walker.slot < 0:
                continue
            member = &walker.members[walker.slot]
            v_new = walker.indices[walker.at]  # J2:5 J3:22 I3:19
            if walker.keeps_steps:
                walker.popped[i] = member.node
                walker.pushed[i] = v_new
            walker.found[m + i] = member.node if walker.options.include_popped else v_new
            walker.counts.pops += 1
            walker.counts.popped_degree_sum += member.deg
            member.node = v_new  # J2:6
            member.row = walker.indptr[v_new]
            member.deg = <int32_t>(walker.indptr[v_new + 1] - member.row)
            walker.counts.added_degree_sum += member.deg
            if replace(walker, walker.slot, weight_of(walker, walker.slot)):  # J3:27 I3:23
                walker.failed = -1
                walker.slot = -1
    for g in range(group):
        walkers[g].s = walkers[g].counts.draws = m + walkers[g].counts.pops
