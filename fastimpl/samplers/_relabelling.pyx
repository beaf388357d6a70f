"""The local ids of the nodes that a minibatch has met: destinations first, then what is new."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from fastimpl._graph cimport prefetch
from fastimpl._interrupts cimport Watch, stopped_at
from fastimpl._memory cimport allocate, allocate_pages, give_back
from fastimpl._streams cimport GOLD, lowest_bit
from fastimpl._types cimport ids_of
from fastimpl.samplers._walker cimport FOUND, release_buffers, room, sort_unique

cdef extern from *:
    """
    #if defined(__AVX2__)
    #include <immintrin.h>
    #endif
    /* A bit for each of 8 lanes that holds a number. */
    static inline uint64_t gnn_lanes_that_hold(const int32_t* lane, int32_t number)
    {
    #if defined(__AVX2__)
        __m256i same = _mm256_cmpeq_epi32(
            _mm256_loadu_si256((const __m256i*)lane), _mm256_set1_epi32(number));
        return (uint64_t)_mm256_movemask_ps(_mm256_castsi256_ps(same));
    #else
        uint64_t bits = 0;
        int i;
        for (i = 0; i < 8; i++) bits |= (uint64_t)(lane[i] == number) << i;
        return bits;
    #endif
    }
    """
    uint64_t lanes_that_hold "gnn_lanes_that_hold"(
        const int32_t* lane, int32_t number
    ) noexcept nogil

cdef enum:
    AHEAD = 16  # entries between the one looked up and the one being fetched
    SMALL = 1 << 21  # nodes of a graph that may have an array: it takes 8 MiB at most
    LEAST = 1 << 9  # buckets of a table
    NOBODY = -1
    NEW = -1  # local id of a node that was not met


cdef class Relabelling:
    """The local ids of the nodes that a minibatch has met so far.

    It is used again for other minibatches. Work and memory are in proportion to the nodes met,
    however large the graph is; but a small graph has an array, which is quicker.
    """

    def __cinit__(self, int64_t graph_nodes):
        memset(&self.walker, 0, sizeof(Walker))
        memset(&self.known, 0, sizeof(Known))
        self.known.graph_nodes = graph_nodes
        if graph_nodes > SMALL:
            if grow(&self.known, LEAST):
                raise MemoryError()
            return
        self.known.local = <int32_t*>allocate(<size_t>graph_nodes * sizeof(int32_t))
        if self.known.local == NULL:
            raise MemoryError()
        memset(self.known.local, 0xFF, <size_t>graph_nodes * sizeof(int32_t))

    def __dealloc__(self):
        release_buffers(&self.walker)
        give_back(self.known.local)
        give_back(self.known.buckets)

    def enter(self, const int32_t[::1] nodes):
        """Number the nodes, before the first hop; return whether each of them is there once."""
        cdef int64_t i, slot, repeated = 0, count = nodes.shape[0]
        if self.known.local != NULL:
            for i in range(count):
                repeated += self.known.local[nodes[i]] != NEW
                self.known.local[nodes[i]] = <int32_t>i
            return repeated == 0
        for i in range(count):
            slot = meet(&self.known, nodes[i])
            if slot < 0:
                raise MemoryError()
            local_at(&self.known, slot)[0] = <int32_t>i
        return self.known.met == count

    def leave(self, const int32_t[::1] nodes):
        """Make the nodes new again, all that were met, after the last hop."""
        cdef int64_t i
        with nogil:
            if self.known.local == NULL:
                empty_buckets(&self.known, ids_of(nodes), nodes.shape[0])
            else:
                for i in range(nodes.shape[0]):
                    self.known.local[nodes[i]] = NEW

    def slots(self):
        """Return how many slots there are, and how many of them hold a node."""
        cdef int64_t slot, held = 0
        if self.known.local != NULL:
            for slot in range(self.known.graph_nodes):
                held += self.known.local[slot] != NEW
            return self.known.graph_nodes, held
        for slot in range(self.known.count * LANES):
            held += self.known.buckets[slot // LANES].node[slot % LANES] != NOBODY
        return self.known.count * LANES, held


cdef void empty_buckets(Known* known, const int32_t* nodes, int64_t count) noexcept nogil:
    """Empty the buckets of all nodes that were met.

    One that was full may have sent nodes on to the next. Whoever finds it empty comes after
    somebody who has gone on from there.
    """
    cdef int64_t i, b
    cdef int full
    for i in range(count):
        if i + AHEAD < count:
            prefetch(known.buckets + bucket_of(known, nodes[i + AHEAD]))
        b = bucket_of(known, nodes[i])
        full = 1
        while full:
            full = known.buckets[b].node[LANES - 1] != NOBODY
            memset(known.buckets[b].node, 0xFF, LANES * sizeof(int32_t))
            b = (b + 1) & (known.count - 1)
    known.met = 0


cdef inline int64_t bucket_of(const Known* known, int32_t node) noexcept nogil:
    """The bucket that a node stands in, or in one of those behind it."""
    return <int64_t>(<uint64_t>node * GOLD >> 32) & (known.count - 1)


cdef inline int lane_of(const Bucket* bucket, int32_t node) noexcept nogil:
    """The lane that holds a node; else the first that is free, plus LANES; else 2 LANES.

    Without a branch: whether a node is new is anybody's guess.
    """
    cdef uint64_t held = lanes_that_hold(bucket.node, node)
    cdef uint64_t free = lanes_that_hold(bucket.node, NOBODY)
    return lowest_bit(held | free << LANES | <uint64_t>1 << 2 * LANES)


cdef inline int64_t find(const Known* known, int32_t node) noexcept nogil:
    """The slot that holds a node, or where it would go."""
    cdef int64_t b = bucket_of(known, node)
    cdef int at = lane_of(&known.buckets[b], node)
    while at == 2 * LANES:
        b = (b + 1) & (known.count - 1)
        at = lane_of(&known.buckets[b], node)
    return b * LANES + at % LANES


cdef inline int32_t* local_at(const Known* known, int64_t slot) noexcept nogil:
    """Where the local id of the node in a slot is kept."""
    return &known.buckets[slot // LANES].local[slot % LANES]


cdef inline int64_t meet(Known* known, int32_t node) noexcept nogil:
    """Return the slot of a node, which is entered if it is new; -1 when memory runs out."""
    cdef int64_t slot
    cdef int32_t* place
    cdef int is_new
    if 2 * known.met >= LANES * known.count and grow(known, 2 * known.count):
        return -1
    slot = find(known, node)
    place = &known.buckets[slot // LANES].node[slot % LANES]
    is_new = place[0] == NOBODY
    known.met += is_new
    # nothing is written where a node stands already: the next reading of its lanes would wait
    place = place if is_new else &known.spare
    place[0] = node
    return slot


cdef int grow(Known* known, int64_t count) noexcept nogil:
    """Have `count` buckets, what is in them kept; return -1 when memory runs out."""
    cdef Known grown
    cdef int64_t b, slot
    cdef int i
    cdef Bucket* bucket
    grown = known[0]
    grown.count = count
    grown.buckets = <Bucket*>allocate_pages(<size_t>count * sizeof(Bucket))
    if grown.buckets == NULL:
        return -1
    memset(grown.buckets, 0xFF, <size_t>count * sizeof(Bucket))
    for b in range(known.count):
        bucket = &known.buckets[b]
        for i in range(LANES):
            if bucket.node[i] != NOBODY:
                slot = find(&grown, bucket.node[i])
                grown.buckets[slot // LANES].node[slot % LANES] = bucket.node[i]
                local_at(&grown, slot)[0] = bucket.local[i]
    give_back(known.buckets)
    known[0] = grown
    return 0


cdef int64_t find_new(
    Known* known, Walker* walker, const int32_t* ids, int64_t entries, Watch* watch
) noexcept nogil:
    """Put the new nodes among `ids` into `walker.found`, ascending, and mark them as met.

    Return how many they are; -1 when memory runs out or it was stopped.
    """
    cdef int64_t count
    cdef int32_t* found = <int32_t*>room(
        walker, FOUND, <size_t>(min(entries, known.graph_nodes) + 1) * sizeof(int32_t)
    )
    if found == NULL:
        return -1
    if known.local != NULL:
        count = find_in_array(known, found, ids, entries, watch)
    else:
        count = find_in_table(known, found, ids, entries, watch)
    walker.found, walker.s = found, count
    return -1 if count < 0 or sort_unique(walker) else count


cdef int64_t find_in_array(
    Known* known, int32_t* found, const int32_t* ids, int64_t entries, Watch* watch
) noexcept nogil:
    cdef int64_t k, count = 0
    cdef int32_t is_new
    cdef int32_t* local = known.local
    for k in range(entries):
        if stopped_at(watch, k):
            return -1
        if k + AHEAD < entries:
            prefetch(local + ids[k + AHEAD])
        is_new = local[ids[k]] == NEW
        found[count] = ids[k]  # overwritten by the next where it is not new
        count += is_new
        local[ids[k]] -= is_new  # no longer: any other number will do until `number_new`
    return count


cdef int64_t find_in_table(
    Known* known, int32_t* found, const int32_t* ids, int64_t entries, Watch* watch
) noexcept nogil:
    cdef int64_t k, met, count = 0
    for k in range(entries):
        if stopped_at(watch, k):
            return -1
        if k + AHEAD < entries:
            prefetch(known.buckets + bucket_of(known, ids[k + AHEAD]))
        met = known.met
        if meet(known, ids[k]) < 0:  # its local id follows in `number_new`
            return -1
        found[count] = ids[k]  # overwritten by the next where it is not new
        count += known.met - met
    return count


cdef void number_new(
    Known* known, const Walker* walker, int64_t n_dst, int32_t* src
) noexcept nogil:
    """Number what `find_new` found behind the destinations, and append it to `src`."""
    cdef int64_t i
    for i in range(walker.s):
        src[n_dst + i] = walker.found[i]
        if known.local != NULL:
            known.local[walker.found[i]] = <int32_t>(n_dst + i)
            continue
        if i + AHEAD < walker.s:
            prefetch(known.buckets + bucket_of(known, walker.found[i + AHEAD]))
        local_at(known, find(known, walker.found[i]))[0] = <int32_t>(n_dst + i)


cdef void relabel(const Known* known, int32_t* ids, int64_t first, int64_t last) noexcept nogil:
    """Make ids[first:last] local."""
    cdef int64_t k
    if known.local != NULL:
        for k in range(first, last):
            ids[k] = known.local[ids[k]]
        return
    for k in range(first, last):
        if k + AHEAD < last:
            prefetch(known.buckets + bucket_of(known, ids[k + AHEAD]))
        ids[k] = local_at(known, find(known, ids[k]))[0]
