"""A sample in the making, and what a sampler has to do for it."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from fastimpl._graph cimport Word
from fastimpl._interrupts cimport Watch

# What refimpl.graph.Counters counts, in its order.
ctypedef struct Counts:
    int64_t pops
    int64_t probes
    int64_t rounds
    int64_t cleanups
    int64_t moved
    int64_t truncated
    int64_t popped_degree_sum
    int64_t added_degree_sum
    int64_t capacity
    int64_t draws

# The options of all samplers; each reads its own.
ctypedef struct Options:
    int64_t m
    int64_t n
    int64_t deg_cap  # no cap: larger than any degree
    int64_t capacity  # planned length of the dashboard
    int64_t lanes
    int at_once  # lanes that really probe; 0: one, and no vectors (samplers/_probes.h)
    int include_popped
    int probe_used
    int grow
    int64_t b  # edges to draw
    int by_alias
    int64_t outcomes  # of the first draw of an edge: nodes with neighbours, or edges
    int64_t roots  # walks; each has `steps` steps, and the first `extra` one more
    int64_t steps
    int64_t extra
    double p_f
    int64_t clip

# What a sampler needs to know of a graph beyond its rows; made once a graph.
ctypedef struct Tables:
    # edge: nodes with neighbours, NULL where all have, or the lower ends of all edges
    const int32_t* first
    const int32_t* second  # the higher ends
    const double* prob  # the alias table over them
    const int64_t* alias

ctypedef struct Buffer:
    void* memory
    size_t size

# One of the m slots of the frontier.
ctypedef struct Member:
    int64_t row  # where the node's neighbours begin
    int32_t deg
    int32_t node

cdef enum:
    # buffers 0 to 3 hold the walker's own arrays, the others are the sampler's
    MEMBERS, FOUND, STEPS, SPARE, FIRST, SECOND, THIRD, BUFFERS

ctypedef struct Walker:
    const int64_t* indptr
    const int32_t* indices
    int64_t graph_nodes
    const Options* options
    const Tables* tables
    Word* words  # the thread's set of nodes, empty; left empty
    Watch* watch  # of the call; NULL in a walker that draws nothing
    uint64_t main
    uint64_t probe
    Member* members
    int32_t* found  # m roots and the node of each step; then the sample, ascending
    int64_t s
    bint keeps_steps  # whether anyone asks for what follows
    int32_t* popped  # one entry a step
    int32_t* pushed
    int64_t slot  # of the step under way; -1: the sample is finished
    int64_t at  # where the neighbour that was chosen stands in `indices`
    int failed  # memory ran out, or the call was stopped
    Counts counts
    Buffer[BUFFERS] buffers

# A way to draw samples. A frontier sampler draws several in step, another one after another.
# -1: memory ran out, or the call was stopped.
ctypedef struct Method:
    void (*together)(Walker*, int) noexcept nogil  # so many samples; they are marked as failed
    int (*whole)(Walker*) noexcept nogil  # NULL for a frontier sampler

# A Method as Python can hold it: each sampler's module has one under the name KERNEL.
cdef class Kernel:
    cdef Method method

cdef Kernel together(void (*draw)(Walker*, int) noexcept nogil)
cdef Kernel whole(int (*draw)(Walker*) noexcept nogil)

cdef void* room(Walker* walker, int which, size_t size) noexcept nogil


cdef inline int64_t weight_of(const Walker* walker, int64_t slot) noexcept nogil:
    return min(walker.members[slot].deg, walker.options.deg_cap)


cdef int reserve(Walker* walker, int64_t nodes, int64_t steps) noexcept nogil
cdef int draw_roots(Walker* walker) noexcept nogil
cdef int sort_unique(Walker* walker) noexcept nogil
cdef int clip(Walker* walker) noexcept nogil
cdef void release_buffers(Walker* walker) noexcept nogil
