"""Forest fire. The list of unburned nodes is kept as its differences from 0, 1, 2, .."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from fastimpl._graph cimport forget
from fastimpl._interrupts cimport has_stopped, stopped_at
from fastimpl._streams cimport GOLD, below, displaced_size, partial_shuffle, uniform
from fastimpl.samplers._walker cimport FIRST, SECOND, THIRD, Walker, reserve, room, whole

# A map of int32 to int32 that says `key` where it holds nothing for it.
ctypedef struct Changed:
    int32_t* table  # pairs; key -1 where empty
    int64_t mask


cdef inline int64_t find(const Changed* changed, int32_t key) noexcept nogil:
    cdef int64_t at = <int64_t>(<uint64_t>key * GOLD >> 32) & changed.mask
    while changed.table[2 * at] >= 0 and changed.table[2 * at] != key:
        at = (at + 1) & changed.mask
    return at


cdef inline int32_t get(const Changed* changed, int32_t key) noexcept nogil:
    cdef int64_t at = find(changed, key)
    return changed.table[2 * at + 1] if changed.table[2 * at] >= 0 else key


cdef inline void put(Changed* changed, int32_t key, int32_t value) noexcept nogil:
    cdef int64_t at = find(changed, key)
    changed.table[2 * at] = key
    changed.table[2 * at + 1] = value


cdef inline bint burned(const Walker* walker, int32_t v) noexcept nogil:
    return (walker.words[v >> 5].bits >> (v & 31)) & 1


cdef void burn(Walker* walker, int32_t v, Changed* node, Changed* place) noexcept nogil:
    """Take v out of the unburned: the last of them takes its place."""
    cdef int64_t left = walker.graph_nodes - walker.s - 1
    cdef int32_t last = get(node, <int32_t>left)
    cdef int32_t at = get(place, v)
    put(node, at, last)
    put(place, last, at)
    walker.words[v >> 5].bits |= <uint32_t>1 << (v & 31)
    walker.found[walker.s] = v  # which is the queue as well: nodes burn in its order
    walker.s += 1


cdef int forest_fire_whole(Walker* walker) noexcept nogil:
    cdef int64_t n = walker.options.n, c = 0, head, j, k, length, step = 0
    cdef int64_t table = displaced_size(n)
    cdef int32_t u, v
    cdef int32_t* U
    cdef int32_t* picked
    cdef Changed node, place
    cdef uint64_t main = walker.main
    node.table = <int32_t*>room(walker, FIRST, <size_t>(2 * table) * sizeof(int32_t))
    if node.table == NULL or reserve(walker, n, n):
        return -1
    memset(node.table, 0xFF, <size_t>(2 * table) * sizeof(int32_t))
    place.table = node.table + table
    node.mask = place.mask = table // 2 - 1
    while walker.s < n:
        head = walker.s
        j = below(main, <uint64_t>c, walker.graph_nodes - walker.s)
        c += 1
        burn(walker, get(&node, <int32_t>j), &node, &place)
        while head < walker.s and walker.s < n:
            if stopped_at(walker.watch, head):
                forget(walker.words, walker.found, walker.s)
                return -1
            u = walker.found[head]
            head += 1
            length = walker.indptr[u + 1] - walker.indptr[u]
            U = <int32_t*>room(walker, SECOND, <size_t>length * sizeof(int32_t))
            if U == NULL:
                forget(walker.words, walker.found, walker.s)
                return -1
            length = 0
            for j in range(walker.indptr[u], walker.indptr[u + 1]):
                v = walker.indices[j]
                U[length] = v
                length += not burned(walker, v)
            k = 0
            while k < length:
                c += 1
                if uniform(main, <uint64_t>(c - 1)) >= walker.options.p_f:
                    break
                k += 1
            k = min(k, n - walker.s)
            picked = <int32_t*>room(
                walker, THIRD, <size_t>(k + displaced_size(k)) * sizeof(int32_t)
            )
            if picked == NULL:
                forget(walker.words, walker.found, walker.s)
                return -1
            partial_shuffle(main, <uint64_t>c, length, k, picked, picked + k, walker.watch)
            if has_stopped(walker.watch):
                forget(walker.words, walker.found, walker.s)
                return -1
            c += k
            for j in range(k):
                v = U[picked[j]]
                burn(walker, v, &node, &place)
                walker.popped[step] = u
                walker.pushed[step] = v
                walker.counts.popped_degree_sum += walker.indptr[u + 1] - walker.indptr[u]
                walker.counts.added_degree_sum += walker.indptr[v + 1] - walker.indptr[v]
                step += 1
    forget(walker.words, walker.found, walker.s)
    walker.counts.pops = step
    walker.counts.draws = c
    return 0


KERNEL = whole(forest_fire_whole)
