"""From ids of a graph to local ids, for the samplers that meet nodes hop by hop."""

from libc.stdint cimport int32_t, int64_t

from fastimpl._interrupts cimport Watch
from fastimpl.samplers._walker cimport Walker


cdef class Relabelling:
    cdef int32_t* local  # one a node of the graph
    cdef Walker walker  # for its buffers: what a hop finds

cdef int64_t find_new(
    int32_t* local, Walker* walker, const int32_t* ids, int64_t entries, int64_t graph_nodes,
    Watch* watch
) noexcept nogil
cdef void number_new(
    int32_t* local, const Walker* walker, int64_t n_dst, int32_t* src
) noexcept nogil
