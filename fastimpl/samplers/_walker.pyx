"""What all samplers share; Algorithm 2 without line 4 is in _walking.pxd."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from fastimpl._graph cimport prefetch
from fastimpl._interrupts cimport has_stopped
from fastimpl._memory cimport give_back, resize
from fastimpl._streams cimport displaced_size, lowest_bit, partial_shuffle

cdef enum:
    SPARSE = 256  # nodes of the graph a node found, from which on digits sort faster than a bitmap


cdef class Kernel:
    """How a sampler draws; made by `together` or `whole`."""


cdef Kernel together(void (*draw)(Walker*, int) noexcept nogil):
    """Return the Kernel of a frontier sampler."""
    cdef Kernel kernel = Kernel()
    kernel.method.together = draw
    return kernel


cdef Kernel whole(int (*draw)(Walker*) noexcept nogil):
    """Return the Kernel of a sampler that draws one sample after another."""
    cdef Kernel kernel = Kernel()
    kernel.method.whole = draw
    return kernel


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
        walker.members[i] = Member(
            walker.indptr[v], <int32_t>(walker.indptr[v + 1] - walker.indptr[v]), v
        )
    return 0


cdef int reserve(Walker* walker, int64_t nodes, int64_t steps) noexcept nogil:
    """Begin a sample: room for what is found, counters at zero; -1 when memory runs out."""
    walker.found = <int32_t*>room(walker, FOUND, <size_t>nodes * sizeof(int32_t))
    walker.popped = <int32_t*>room(walker, STEPS, <size_t>(2 * steps) * sizeof(int32_t))
    walker.pushed = walker.popped + steps
    walker.s = 0
    memset(&walker.counts, 0, sizeof(Counts))
    return 0 if walker.found and walker.popped else -1


cdef int sort_unique(Walker* walker) noexcept nogil:
    """Make `found` ascending, each node once; -1 when memory runs out."""
    if walker.words != NULL and walker.graph_nodes <= SPARSE * walker.s:
        sort_in_set(walker)
        return 0
    return sort_by_digits(walker)


cdef void sort_in_set(Walker* walker) noexcept nogil:
    """Put the nodes into the bitmap and take them out again, in O(s + graph_nodes / 32)."""
    cdef int64_t i, word, s = 0
    cdef uint32_t bits
    for i in range(walker.s):
        walker.words[walker.found[i] >> 5].bits |= <uint32_t>1 << (walker.found[i] & 31)
    for word in range((walker.graph_nodes + 31) // 32):
        bits = walker.words[word].bits
        if bits == 0:
            continue
        walker.words[word].bits = 0
        while bits:
            walker.found[s] = <int32_t>(32 * word + lowest_bit(bits))
            bits &= bits - 1
            s += 1
    walker.s = s


cdef int sort_by_digits(Walker* walker) noexcept nogil:
    """The same in O(s): a radix sort, 11 bits a pass."""
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
