from libc.stdint cimport int32_t, int64_t, uint64_t

from fastimpl.samplers._workspace cimport Options, Scratch

cdef int frontier(
    const int64_t* indptr, const int32_t* indices, int64_t graph_nodes, const Options* options,
    uint64_t main, uint64_t probe, Scratch* scratch
) noexcept nogil
