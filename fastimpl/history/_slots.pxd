"""Slots of entries as several threads read and write them, and rows before they are needed."""

from libc.stdint cimport int32_t

from fastimpl._graph cimport prefetch

cdef enum:
    LINE = 64  # bytes that memory is fetched by
    MOST_FETCHED = 1 << 13  # bytes: more would push each other out of a first-level cache

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define gnn_store_slot(address, value) __atomic_store_n(address, value, __ATOMIC_RELAXED)
    #define gnn_load_slot(address) __atomic_load_n(address, __ATOMIC_RELAXED)
    #else
    #define gnn_store_slot(address, value) (*(volatile int32_t *)(address) = (value))
    #define gnn_load_slot(address) (*(const volatile int32_t *)(address))
    #endif
    """
    void store "gnn_store_slot"(int32_t* address, int32_t value) noexcept nogil
    # once: a number that another thread may change is not read again after it was compared
    int32_t load "gnn_load_slot"(const int32_t* address) noexcept nogil


cdef inline void fetch(const void* row, size_t width) noexcept nogil:
    """Ask for the bytes of a row that is read soon: no processor looks behind a row by itself."""
    cdef const char* line = <const char*>row
    cdef const char* end = line + min(width, <size_t>MOST_FETCHED)
    while line < end:
        prefetch(line)
        line += LINE
