"""Algorithm 2 with the frontier's weights in a Fenwick tree: O(log m) a step instead of O(m)."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from fastimpl._streams cimport below, displaced_size, partial_shuffle
from fastimpl.samplers._workspace cimport Options, Scratch, add_node, prepare, room


cdef int frontier(
    const int64_t* indptr, const int32_t* indices, int64_t graph_nodes, const Options* options,
    uint64_t main, uint64_t probe, Scratch* scratch
) noexcept nogil:
    """Draw the nodes of one sample; return -1 when memory runs out.

    The search finds the slot that the reference finds in its running sum: the first whose
    prefix sum is above the draw.
    """
    cdef int64_t m = options.m, cap = options.deg_cap
    cdef int64_t i, slot, step, high = 1, total = 0, draw, deg, change
    cdef int32_t u, u_new
    cdef int32_t* FS = <int32_t*>room(scratch, 4, <size_t>m * sizeof(int32_t))
    cdef int32_t* displaced = <int32_t*>room(
        scratch, 5, <size_t>displaced_size(m) * sizeof(int32_t)
    )
    cdef int64_t* tree = <int64_t*>room(scratch, 6, <size_t>(m + 1) * sizeof(int64_t))
    if prepare(scratch, options.n) or not (FS and displaced and tree):
        return -1
    partial_shuffle(main, 0, graph_nodes, m, FS, displaced)
    for i in range(m):
        add_node(scratch, FS[i])
        tree[i + 1] = min(indptr[FS[i] + 1] - indptr[FS[i]], cap)
        total += tree[i + 1]
    for i in range(1, m + 1):  # each node of the tree adds itself to its parent
        slot = i + (i & -i)
        if slot <= m:
            tree[slot] += tree[i]
    while 2 * high <= m:
        high *= 2
    for i in range(options.n - m):
        if total == 0:
            break
        draw = below(probe, <uint64_t>i, total)
        slot = 0
        step = high
        while step:
            if slot + step <= m and tree[slot + step] <= draw:
                slot += step
                draw -= tree[slot]
            step //= 2
        u = FS[slot]
        deg = indptr[u + 1] - indptr[u]
        u_new = indices[indptr[u] + below(main, <uint64_t>(m + i), deg)]
        FS[slot] = u_new
        scratch.popped[i] = u
        scratch.pushed[i] = u_new
        add_node(scratch, u if options.include_popped else u_new)
        scratch.counts.pops += 1
        scratch.counts.popped_degree_sum += deg
        change = indptr[u_new + 1] - indptr[u_new]
        scratch.counts.added_degree_sum += change
        change = min(change, cap) - min(deg, cap)
        total += change
        slot += 1
        while slot <= m:
            tree[slot] += change
            slot += slot & -slot
    scratch.counts.probes = scratch.counts.rounds = scratch.counts.pops
    return 0
