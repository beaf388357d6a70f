"""Frontier slots in classes of similar weight; see refimpl/samplers/bucket.py."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from fastimpl.samplers._probes cimport Probes, next_below, start_probes
from fastimpl.samplers._walker cimport FIRST, SECOND, Walker, room, together, weight_of
from fastimpl.samplers._walking cimport walk

cdef extern from *:
    """
    /* The class of a weight above 0: the place of its highest bit. */
    static inline int gnn_class(uint64_t weight) {
    #if defined(__GNUC__)
        return 63 - __builtin_clzll(weight);
    #else
        int j = 0;
        while (weight >>= 1) j++;
        return j;
    #endif
    }
    """
    int class_of "gnn_class"(int64_t weight) noexcept nogil

cdef enum:
    CLASSES = 31  # a weight is a degree, below 2**31

# A member of a class: what a draw needs to know lies in one place.
ctypedef struct Slot:
    int32_t slot
    int32_t weight

ctypedef struct Classes:
    Probes draws
    int64_t total
    int top  # no class above this one has had a member
    int64_t[CLASSES] sums
    int64_t[CLASSES] sizes


cdef inline Slot* members_of(Walker* walker, int j) noexcept nogil:
    return <Slot*>walker.buffers[SECOND].memory + j * walker.options.m


cdef int set_up(Walker* walker) noexcept nogil:
    cdef int64_t m = walker.options.m, slot
    cdef Classes* classes = <Classes*>room(walker, FIRST, sizeof(Classes))
    if classes == NULL:
        return -1
    memset(classes, 0, sizeof(Classes))
    start_probes(&classes.draws, walker.probe)
    if room(walker, SECOND, <size_t>(CLASSES * m) * sizeof(Slot)) == NULL:
        return -1
    for slot in range(m):
        replace(walker, slot, weight_of(walker, slot))
    return 0


cdef inline int64_t pop(Walker* walker) noexcept nogil:
    """Draw a class by weight, then slots of it until one is accepted; take the slot out."""
    cdef Classes* classes = <Classes*>walker.buffers[FIRST].memory
    cdef int64_t draw, at
    cdef int j
    cdef Slot* members
    cdef Slot drawn
    if classes.total == 0:
        return -1
    j = classes.top
    draw = next_below(&classes.draws, classes.total)
    while draw >= classes.sums[j]:
        draw -= classes.sums[j]
        j -= 1
    members = members_of(walker, j)
    while True:
        walker.counts.probes += 1
        draw = next_below(&classes.draws, classes.sizes[j] << (j + 1))
        at = draw >> (j + 1)
        drawn = members[at]
        if (draw & ((<int64_t>2 << j) - 1)) < drawn.weight:
            break
    walker.counts.rounds += 1
    classes.sizes[j] -= 1
    members[at] = members[classes.sizes[j]]
    classes.sums[j] -= drawn.weight
    classes.total -= drawn.weight
    return drawn.slot


cdef inline int replace(Walker* walker, int64_t slot, int64_t weight) noexcept nogil:
    """Put the slot at the end of the class of its new weight."""
    cdef Classes* classes = <Classes*>walker.buffers[FIRST].memory
    cdef int j
    if weight == 0:
        return 0
    j = class_of(weight)
    classes.top = max(classes.top, j)
    members_of(walker, j)[classes.sizes[j]] = Slot(<int32_t>slot, <int32_t>weight)
    classes.sizes[j] += 1
    classes.sums[j] += weight
    classes.total += weight
    return 0


cdef void bucket_together(Walker* walkers, int group) noexcept nogil:
    walk(walkers, group, set_up, pop, replace)


KERNEL = together(bucket_together)
