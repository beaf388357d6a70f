"""Memory of kernels: malloc and its kin, of which a test can let one fail; see _memory.pyx."""

cdef enum:
    PAGE = 1 << 21  # bytes of a large page

cdef void* allocate(size_t size) noexcept nogil
cdef void* allocate_zeros(size_t count, size_t size) noexcept nogil
cdef void* allocate_pages(size_t size) noexcept nogil
cdef void* resize(void* memory, size_t size) noexcept nogil
cdef void give_back(void* memory) noexcept nogil
cdef void spoil(void* memory, size_t begin, size_t end) noexcept nogil
