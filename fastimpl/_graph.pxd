"""Induction and transposition, for the samplers to cimport."""

from libc.stdint cimport int32_t, int64_t

# A subgraph as it is built: memory from malloc, handed over to NumPy arrays at the end.
ctypedef struct Induced:
    int32_t* nodes
    int64_t s
    int64_t* indptr
    int32_t* indices
    int64_t* edge_ids
    int64_t* perm

cdef int induce(
    const int64_t* indptr, const int32_t* indices, const int32_t* nodes, int64_t s,
    int32_t* mark, Induced* out
) noexcept nogil
cdef void transpose(
    const int64_t* indptr, const int32_t* indices, int64_t n, int64_t* ptr, int64_t* perm
) noexcept nogil
cdef void release(Induced* out) noexcept nogil
cdef object as_arrays(Induced* out)
