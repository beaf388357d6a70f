"""Memory that one thread reuses from sample to sample, and what a sampler returns."""

from libc.stdint cimport int32_t, int64_t, uint64_t

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

# The options of all samplers; each reads its own.
ctypedef struct Options:
    int64_t m
    int64_t n
    int64_t deg_cap  # no cap: larger than any degree
    int64_t capacity  # planned length of the dashboard
    int64_t lanes
    int include_popped
    int probe_used
    int grow

ctypedef struct Buffer:
    void* memory
    size_t size

ctypedef struct Scratch:
    int32_t* mark  # an entry a node of the graph, -1 between samples
    int32_t* nodes  # the sample, in the order found, then ascending
    int64_t s
    int32_t* popped  # one entry a step
    int32_t* pushed
    Counts counts
    Buffer[8] buffers  # 0 to 2 hold the arrays above, 3 is for sorting, 4 to 7 are the sampler's

ctypedef int (*Kernel)(
    const int64_t*, const int32_t*, int64_t, const Options*, uint64_t, uint64_t, Scratch*
) noexcept nogil

cdef void* room(Scratch* scratch, int which, size_t size) noexcept nogil
cdef int prepare(Scratch* scratch, int64_t n) noexcept nogil
cdef void add_node(Scratch* scratch, int32_t v) noexcept nogil
cdef int finish(Scratch* scratch) noexcept nogil


cdef class Workspace:
    cdef Scratch* threads
    cdef int count
    cdef int64_t graph_nodes
    cdef object reserve(self, int count)
