"""What all samplers share, and Algorithm 2 without line 4 for several samples at a time."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from fastimpl._graph cimport prefetch
from fastimpl._interrupts cimport has_stopped, stopped_at
from fastimpl._memory cimport give_back, resize
from fastimpl._streams cimport below, displaced_size, partial_shuffle


cdef void* room(Walker* walker, int which, size_t size) noexcept nogil:
    """Return at least `size` bytes of a buffer, its content kept; NULL when memory runs out."""
    cdef Buffer* buffer = &walker.buffers[which]
    cdef void* memory
    if size > buffer.size or buffer.memory == NULL:
        memory = resize(buffer.memory, size + size // 4 + 64)
        if memory == NULL:
            return NULL
        buffer.memory = memory
        buffer.size = size + size // 4 + 64
    return buffer.memory


cdef void release_buffers(Walker* walker) noexcept nogil:
    cdef int i
    for i in range(BUFFERS):
        give_back(walker.buffers[i].memory)


cdef int64_t weight_of(const Walker* walker, int64_t slot) noexcept nogil:
    return min(walker.members[slot].deg, walker.options.deg_cap)


cdef int draw_roots(Walker* walker) noexcept nogil:
    """Fill the frontier (lines 1 and 2); return -1 when memory runs out or it was stopped."""
    cdef int64_t m = walker.options.m, n = walker.options.n, i
    cdef int32_t v
    cdef int32_t* displaced = <int32_t*>room(
        walker, SPARE, <size_t>displaced_size(m) * sizeof(int32_t)
    )
    walker.members = <Member*>room(walker, MEMBERS, <size_t>m * sizeof(Member))
    if not (displaced and walker.members) or reserve(walker, n, n - m):
        return -1
    partial_shuffle(
        walker.main, 0, walker.graph_nodes, m, walker.found, displaced, walker.watch
    )
    if has_stopped(walker.watch):
        return -1
    for i in range(m):
        if i + 16 < m:
            prefetch(walker.indptr + walker.found[i + 16])
        v = walker.found[i]
        walker.members[i] = Member(walker.indptr[v], walker.indptr[v + 1] - walker.indptr[v], v)
    walker.s = m
    walker.counts.draws = m
    return 0


cdef int reserve(Walker* walker, int64_t nodes, int64_t steps) noexcept nogil:
    """Begin a sample: room for what is found, counters at zero; -1 when memory runs out."""
    walker.found = <int32_t*>room(walker, FOUND, <size_t>nodes * sizeof(int32_t))
    walker.popped = <int32_t*>room(walker, STEPS, <size_t>(2 * steps) * sizeof(int32_t))
    walker.pushed = walker.popped + steps
    walker.s = 0
    walker.probes_drawn = 0
    memset(&walker.counts, 0, sizeof(Counts))
    return 0 if walker.found and walker.popped else -1


cdef void walk(const Method* method, Walker* walkers, int group) noexcept nogil:
    """Draw `group` samples in step: while one waits for memory, the others go on.

    Every step reads a random neighbour and that neighbour's degree, which are rarely in a cache.
    Each sample is the same as if drawn alone: they share nothing. A walker that runs out of
    memory, or is stopped, is marked as failed.
    """
    cdef int64_t m = walkers[0].options.m, i
    cdef int g, going
    cdef Walker* walker
    cdef Member* member
    cdef int32_t v_new
    if method.whole != NULL:
        for g in range(group):
            walkers[g].failed = method.whole(&walkers[g])
        return
    for g in range(group):
        walker = &walkers[g]
        walker.failed = draw_roots(walker) or method.set_up(walker)
        walker.slot = -1 if walker.failed else 0
    for i in range(walkers[0].options.n - m):
        if stopped_at(walkers[0].watch, i):
            for g in range(group):
                walkers[g].failed = -1
            return
        going = 0
        for g in range(group):
            walker = &walkers[g]
            if walker.slot < 0:
                continue
            walker.slot = method.pop(walker)
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
            v_new = walker.indices[walker.at]
            walker.popped[i] = member.node
            walker.pushed[i] = v_new
            walker.found[m + i] = member.node if walker.options.include_popped else v_new
            walker.s += 1
            walker.counts.pops += 1
            walker.counts.draws += 1
            walker.counts.popped_degree_sum += member.deg
            member.node = v_new
            member.row = walker.indptr[v_new]
            member.deg = walker.indptr[v_new + 1] - member.row
            walker.counts.added_degree_sum += member.deg
            if method.replace(walker, walker.slot, weight_of(walker, walker.slot)):
                walker.failed = -1
                walker.slot = -1


cdef int sort_unique(Walker* walker) noexcept nogil:
    """Make `found` ascending (radix, 11 bits a pass), each node once; -1 when memory runs out."""
    cdef int64_t s = walker.s, i, total, count
    cdef int64_t[2048] starts
    cdef int shift, digit
    cdef int32_t* a = walker.found
    cdef int32_t* b = <int32_t*>room(walker, SPARE, <size_t>s * sizeof(int32_t))
    if b == NULL:
        return -1
    for shift in range(0, 33, 11):
        memset(starts, 0, sizeof(starts))
        for i in range(s):
            starts[(a[i] >> shift) & 2047] += 1
        if starts[0] == s:  # no id has this digit
            continue
        total = 0
        for digit in range(2048):
            count = starts[digit]
            starts[digit] = total
            total += count
        for i in range(s):
            digit = (a[i] >> shift) & 2047
            b[starts[digit]] = a[i]
            starts[digit] += 1
        a, b = b, a
    total = 0
    for i in range(s):
        walker.found[total] = a[i]  # at most as far as has been read
        total += i + 1 == s or a[i] != a[i + 1]
    walker.s = total
    return 0


cdef int clip(Walker* walker) noexcept nogil:
    """Drop random nodes until their number is a multiple of options.clip (clip_nodes)."""
    cdef int64_t unit = walker.options.clip, s = walker.s, i, over, kept = 0
    cdef int32_t v
    cdef int32_t* dropped
    if unit == 0 or s < unit:
        return 0
    over = s % unit
    dropped = <int32_t*>room(
        walker, SPARE, <size_t>(over + displaced_size(over)) * sizeof(int32_t)
    )
    if dropped == NULL:
        return -1
    partial_shuffle(
        walker.main, <uint64_t>walker.counts.draws, s, over, dropped, dropped + over,
        walker.watch,
    )
    if has_stopped(walker.watch):
        return -1
    for i in range(over):
        walker.found[dropped[i]] = -1
    for i in range(s):
        v = walker.found[i]
        walker.found[kept] = v  # overwritten by the next where v was dropped
        kept += v >= 0
    walker.s = kept
    return 0
