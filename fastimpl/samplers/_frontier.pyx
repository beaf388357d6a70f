"""Line 4 of Algorithm 2 on a Fenwick tree of weights: O(log m) a step instead of O(m)."""

from libc.stdint cimport INT64_MAX, int64_t

from fastimpl.samplers._probes cimport Probes, next_below, start_probes
from fastimpl.samplers._walker cimport FIRST, Walker, room, together, weight_of
from fastimpl.samplers._walking cimport walk

ctypedef struct Tree:
    Probes draws
    int64_t half  # the highest power of two up to m
    int64_t* weights  # of the slots, as they are in the tree
    int64_t* sums  # sums[0]: of all; sums[i]: of the slots that node i of the tree covers


cdef int set_up(Walker* walker) noexcept nogil:
    cdef int64_t m = walker.options.m, half = 1, i, parent
    cdef Tree* tree
    while 2 * half <= m:
        half *= 2
    tree = <Tree*>room(walker, FIRST, sizeof(Tree) + <size_t>(m + 2 * half) * sizeof(int64_t))
    if tree == NULL:
        return -1
    start_probes(&tree.draws, walker.probe)
    tree.half, tree.weights = half, <int64_t*>(tree + 1)
    tree.sums = tree.weights + m
    tree.sums[0] = 0
    for i in range(m):
        tree.weights[i] = tree.sums[i + 1] = weight_of(walker, i)
        tree.sums[0] += tree.weights[i]
    for i in range(1, m + 1):
        parent = i + (i & -i)
        if parent <= m:
            tree.sums[parent] += tree.sums[i]
    for i in range(m + 1, 2 * half):
        tree.sums[i] = INT64_MAX  # no draw goes past the last slot
    return 0


cdef inline int64_t pop(Walker* walker) noexcept nogil:
    """Find the slot that the reference finds: the first whose prefix sum is above the draw.

    Each step of the search adds what it masks: of two ways, a branch would guess one.
    """
    cdef Tree* tree = <Tree*>walker.buffers[FIRST].memory
    cdef int64_t slot = 0, step = tree.half, draw, right, left_sum
    if tree.sums[0] == 0:
        return -1
    draw = next_below(&tree.draws, tree.sums[0])  # J2:4
    walker.counts.probes += 1
    walker.counts.rounds += 1
    while step:
        left_sum = tree.sums[slot + step]
        right = -<int64_t>(left_sum <= draw)
        slot += step & right
        draw -= left_sum & right
        step >>= 1
    return slot  # J2:4


cdef inline int replace(Walker* walker, int64_t slot, int64_t weight) noexcept nogil:
    """Change the popped slot's weight, which is still in the tree, to the new one."""
    cdef Tree* tree = <Tree*>walker.buffers[FIRST].memory
    cdef int64_t change = weight - tree.weights[slot], node = slot + 1
    if change == 0:
        return 0
    tree.weights[slot] = weight
    tree.sums[0] += change
    while node <= walker.options.m:
        tree.sums[node] += change
        node += node & -node
    return 0


cdef void frontier_together(Walker* walkers, int group) noexcept nogil:
    walk(walkers, group, set_up, pop, replace)


KERNEL = together(frontier_together)
