"""Line 4 of Algorithm 2 on a Fenwick tree of weights: O(log m) a step instead of O(m)."""

from libc.stdint cimport int64_t

from fastimpl._streams cimport below
from fastimpl.samplers._walker cimport FIRST, Walker, room, weight_of


cdef inline int64_t* tree_of(Walker* walker) noexcept nogil:
    """tree[0] is the total; tree[i] the weights of the slots that node i of the tree covers."""
    return <int64_t*>walker.buffers[FIRST].memory


cdef int set_up(Walker* walker) noexcept nogil:
    cdef int64_t m = walker.options.m, i, parent
    cdef int64_t* tree = <int64_t*>room(walker, FIRST, <size_t>(m + 1) * sizeof(int64_t))
    if tree == NULL:
        return -1
    tree[0] = 0
    for i in range(m):
        tree[i + 1] = weight_of(walker, i)
        tree[0] += tree[i + 1]
    for i in range(1, m + 1):
        parent = i + (i & -i)
        if parent <= m:
            tree[parent] += tree[i]
    return 0


cdef int64_t pop(Walker* walker) noexcept nogil:
    """Find the slot that the reference finds: the first whose prefix sum is above the draw."""
    cdef int64_t m = walker.options.m, slot = 0, step = 1, draw
    cdef int64_t* tree = tree_of(walker)
    if tree[0] == 0:
        return -1
    draw = below(walker.probe, walker.probes_drawn, tree[0])
    walker.probes_drawn += 1
    walker.counts.probes += 1
    walker.counts.rounds += 1
    while 2 * step <= m:
        step *= 2
    while step:
        if slot + step <= m and tree[slot + step] <= draw:
            slot += step
            draw -= tree[slot]
        step //= 2
    add(tree, m, slot, -weight_of(walker, slot))
    return slot


cdef int replace(Walker* walker, int64_t slot, int64_t weight) noexcept nogil:
    add(tree_of(walker), walker.options.m, slot, weight)
    return 0


cdef inline void add(int64_t* tree, int64_t m, int64_t slot, int64_t change) noexcept nogil:
    tree[0] += change
    slot += 1
    while slot <= m:
        tree[slot] += change
        slot += slot & -slot


frontier.set_up, frontier.pop, frontier.replace, frontier.whole = set_up, pop, replace, NULL
