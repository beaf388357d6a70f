"""From ids of a graph to local ids, for the samplers that meet nodes hop by hop."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from fastimpl._interrupts cimport Watch
from fastimpl.samplers._walker cimport Walker

cdef enum:
    LANES = 8  # nodes in a bucket, which is a line of the cache

ctypedef struct Bucket:
    int32_t[LANES] node  # -1: nobody, from there on
    int32_t[LANES] local

# Which nodes were met, and their local ids: an array by node where the graph is small, else a hash
# table, in which a node that finds its bucket full goes to the next one.
ctypedef struct Known:
    int32_t* local  # NULL where there is the table
    Bucket* buckets
    int64_t count  # of buckets, a power of 2
    int64_t met
    int64_t graph_nodes
    int32_t spare  # written to and never read


cdef class Relabelling:
    cdef Known known
    cdef Walker walker  # for its buffers: what a hop finds

cdef int64_t find_new(
    Known* known, Walker* walker, const int32_t* ids, int64_t entries, Watch* watch
) noexcept nogil
cdef void number_new(
    Known* known, const Walker* walker, int64_t n_dst, int32_t* src
) noexcept nogil
cdef void relabel(const Known* known, int32_t* ids, int64_t first, int64_t last) noexcept nogil
