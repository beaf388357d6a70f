"""The kernel of `cache_update`. Arguments were checked by fastimpl/history/policy.py."""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t

from fastimpl._graph cimport prefetch
from fastimpl.history._slots cimport load, store

cdef enum:
    AHEAD = 16  # nodes between the one looked up and the one being fetched
    FOUND = 1 << 12  # entries looked up below which a second thread costs more than it brings
    COPIED = 1 << 14  # the same for rows that are copied

# The entries of a layer, and where the header of the ring stands.
ctypedef struct Cache:
    int32_t* slot_of
    int64_t* back
    int32_t* stamp
    int64_t places
    int64_t first_key  # of the layer
    int64_t oldest  # the lowest stamp of an entry that is worth its slot
    int64_t head
    int64_t used


cdef inline int32_t slot_with(const Cache* cache, int64_t node, int64_t oldest) noexcept nogil:
    """Return the slot of a node's entry with a stamp of at least `oldest`, or -1."""
    cdef int32_t s = load(&cache.slot_of[node])
    if (
        0 <= s < cache.places
        and cache.back[s] == cache.first_key + node
        and cache.stamp[s] >= oldest
    ):
        return s
    return -1


cdef inline bint is_valid(const Cache* cache, int64_t s) noexcept nogil:
    return cache.back[s] >= 0 and cache.stamp[s] >= cache.oldest


cdef int64_t take_out(
    Cache* cache, const int64_t* ids, const uint8_t* low, int64_t m, int32_t* found
) noexcept nogil:
    """Take the entries of the rows that are not low out; count those worth their slots."""
    cdef int64_t j, count = 0
    for j in prange(m, schedule="static", use_threads_if=m > FOUND):
        if j + AHEAD < m:
            prefetch(&cache.slot_of[ids[j + AHEAD]])
        found[j] = -1 if low[j] else slot_with(cache, ids[j], 0)
        count += found[j] >= 0 and cache.stamp[found[j]] >= cache.oldest
    for j in range(m):
        if found[j] >= 0:
            cache.back[found[j]] = -1
        if not low[j]:
            store(&cache.slot_of[ids[j]], -1)
    return count


cdef int64_t from_header(
    const Cache* cache, bint valid, int64_t count, int32_t* slots
) noexcept nogil:
    """Find the first `count` used slots that are valid, or not, from the header; return how many.

    They are written to `slots`, unless that is NULL.
    """
    cdef int64_t s, found = 0, part, first, last
    for part in range(2):
        first = 0 if part else cache.head
        last = min(cache.head, cache.used) if part else cache.used
        for s in range(first, last):
            if found >= count:
                return found
            if is_valid(cache, s) == valid:
                if slots != NULL:
                    slots[found] = <int32_t>s
                found += 1
    return found


cdef int64_t with_room(
    const Cache* cache, const int64_t* ids, const int64_t* take, int64_t asked, bint cycle
) noexcept nogil:
    """Return how many of the first embeddings fit without the loss of another."""
    cdef int64_t q, room
    if cycle:
        return min(cache.places - cache.head, asked)
    room = min(cache.places - cache.used, asked)
    room += from_header(cache, False, asked - room, NULL)
    for q in range(asked):
        room += slot_with(cache, ids[take[q]], cache.oldest) >= 0  # its own makes room for it
        if q >= room:
            return q
    return asked


cdef void free_first(const Cache* cache, int64_t count, int32_t* slots) noexcept nogil:
    """Fill `slots` with those that are free, then new ones, which cost features, then any."""
    cdef int64_t found = from_header(cache, False, count, slots), new = cache.used
    while found < count and new < cache.places:
        slots[found] = <int32_t>new
        found += 1
        new += 1
    found += from_header(cache, True, count - found, slots + found)
    while found < count:  # only if another thread has written to the cache meanwhile
        slots[found] = 0
        found += 1


def copied(
    ids, score, comp, int64_t n,  # IN
    int64_t[::1] nodes, double[::1] scores, uint8_t[::1] computed  # OUT
):
    """Copy rows as `fresh_iteration` has them; return whether they are such and can be ranked."""
    cdef const int32_t[::1] found
    cdef const double[::1] norms
    cdef const uint8_t[::1] flags
    cdef int64_t j, m = nodes.shape[0], bad = 0
    try:
        found, norms, flags = ids, score, comp.view("u1")
    except (AttributeError, TypeError, ValueError):
        return False
    if found.shape[0] != m or norms.shape[0] != m or flags.shape[0] != m:
        return False
    for j in prange(m, nogil=True, schedule="static", use_threads_if=m > COPIED):
        nodes[j] = found[j]
        scores[j] = norms[j]
        computed[j] = flags[j] != 0
        bad += not 0 <= nodes[j] < n or scores[j] != scores[j]  # NaN
    return bad == 0 and comp.dtype == bool


def replace(
    int32_t[::1] slot_of, int64_t[::1] back, int32_t[::1] stamp,  # INOUT
    int64_t first_key, int64_t oldest, int32_t i, int64_t head, int64_t used, bint cycle,  # IN
    bint drop, const int64_t[::1] ids, const uint8_t[::1] low, const uint8_t[::1] comp,  # IN
    const uint8_t[::1] allow, bint evict,  # IN
    int64_t[::1] take, int32_t[::1] slots  # OUT
):
    """Evict, choose slots and enter; the rows of the embeddings are for the caller to copy.

    `take` and `slots` have room for all rows. Return (evicted, asked, first, last, lost, top):
    rows ``take[first:last]`` go to ``slots[:last - first]``, all of them below `top`.
    """
    cdef Cache cache
    cdef int64_t m = ids.shape[0], places = back.shape[0], j, q, node, asked = 0, evicted = 0
    cdef int64_t first = 0, last, lost = 0, top = 0
    cdef bint chosen = allow is not None
    cdef int32_t s
    cdef int64_t* rows
    cdef int32_t* to
    cdef const int64_t* nodes
    if m == 0:
        return 0, 0, 0, 0, 0, 0
    rows, to, nodes = &take[0], &slots[0], &ids[0]
    cache.slot_of = &slot_of[0]
    cache.back = &back[0] if places else NULL
    cache.stamp = &stamp[0] if places else NULL
    cache.places, cache.first_key, cache.oldest = places, first_key, oldest
    cache.head, cache.used = head, used
    with nogil:
        if evict:
            evicted = take_out(&cache, nodes, &low[0], m, to)  # V1:20
        for j in range(m):
            rows[asked] = j  # overwritten by the next, if it is not admitted: no branch
            asked += (low[j] != 0) & (comp[j] != 0) & ((allow[j] != 0) if chosen else True)
        last = asked
        if drop:
            last = with_room(&cache, nodes, rows, asked, cycle)
        elif asked > places:
            first = asked - places
        for q in prange(first, last, schedule="static", use_threads_if=last - first > FOUND):
            if q + 2 * AHEAD < last:
                prefetch(&cache.slot_of[nodes[rows[q + 2 * AHEAD]]])
            if q + AHEAD < last:
                s = load(&cache.slot_of[nodes[rows[q + AHEAD]]])
                if 0 <= s < places:
                    prefetch(&cache.back[s])
            s = slot_with(&cache, nodes[rows[q]], 0)
            if s >= 0:
                cache.back[s] = -1
        if cycle:
            for q in range(last - first):
                to[q] = <int32_t>((head + first + q) % places)
        else:
            free_first(&cache, last - first, to)
        for q in range(last - first):
            lost += is_valid(&cache, to[q])
            top = max(top, <int64_t>to[q] + 1)
        for q in range(last - first):
            s, node = to[q], nodes[rows[first + q]]
            cache.back[s] = first_key + node
            cache.stamp[s] = i  # V1:20
            store(&cache.slot_of[node], s)
    return evicted, asked, first, last, lost, top
