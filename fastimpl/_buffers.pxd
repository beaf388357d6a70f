"""Memory for large results, used again; see _buffers.pyx."""

cdef class Buffer:
    cdef void* address
    cdef size_t size

cdef void* borrow(size_t size) noexcept nogil
cdef void put_back(void* memory, size_t size) noexcept nogil
cdef Buffer handed_over(void** memory, size_t size)
