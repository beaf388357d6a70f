"""Induction and transposition, for the samplers to cimport."""

from libc.stdint cimport int32_t, int64_t, uint32_t

from fastimpl._interrupts cimport Watch

cdef extern from "fastimpl/_scan.h":
    # A set of nodes as a bitmap with ranks; see there. All zero: the empty set.
    ctypedef struct Word "gnn_word":
        uint32_t bits
        int32_t rank
    ctypedef struct Entries "gnn_entries":
        int32_t* row
        int32_t* column
        int64_t count
    void prefetch "gnn_prefetch"(const void* address) noexcept nogil

# A subgraph as it is built: its memory is handed over to NumPy arrays at the end.
ctypedef struct Induced:
    int64_t s
    int64_t e
    int32_t* nodes
    int64_t* indptr
    void* entries  # perm, of 32 bits where they suffice, and indices behind it

# Memory for rows of unknown length, kept from one subgraph to the next.
ctypedef struct Rows:
    Entries found  # the entries from the diagonal on of one row after another
    int64_t length  # room for so many
    void* entries  # columns and positions of whole rows
    int64_t size  # room for so many bytes
    int64_t* first  # where a row begins in `found`
    int32_t* below  # how many entries a row has below the diagonal
    int64_t* next
    int64_t* shift
    int64_t nodes  # room for so many

cdef class NodeSet:
    cdef Word* words
    cdef Rows rows

cdef int induce(
    const int64_t* indptr, const int32_t* indices, const int32_t* diagonal, const int32_t* nodes,
    int64_t s, Word* words, Rows* rows, Induced* out, Watch* watch
) noexcept nogil
cdef void forget(Word* words, const int32_t* nodes, int64_t s) noexcept nogil
cdef void release_rows(Rows* rows) noexcept nogil
cdef void release(Induced* out) noexcept nogil
cdef object as_arrays(Induced* out)
