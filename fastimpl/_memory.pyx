"""Memory of kernels. All of it comes from here, so that tests can let any allocation fail.

Each returns NULL when memory runs out, and memory also for a size of 0. What memory holds that is
not set to zeros is unknown: with MINIBATCH_GNN_ADVERSARIAL=1, NaN and extreme integers.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc

from refimpl._support import adversarial

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__GNUC__)
    #define gnn_add(address, value) __atomic_add_fetch((address), (value), __ATOMIC_RELAXED)
    #else
    #define gnn_add(address, value) (*(address) += (value))
    #endif

    #if defined(__linux__)
    #include <stdlib.h>
    #include <sys/mman.h>
    static void* gnn_allocate(size_t size)
    {
        void* memory = NULL;
        const size_t page = 1 << 21;  /* large pages: fewer misses of the TLB */
        if (size < page / 2) return posix_memalign(&memory, 64, size) ? NULL : memory;
        size = (size + page - 1) / page * page;  /* a part of one would have none */
        if (posix_memalign(&memory, page, size)) return NULL;
        madvise(memory, size, MADV_HUGEPAGE);
        return memory;
    }
    #else
    #include <stdlib.h>
    static void* gnn_allocate(size_t size) { return malloc(size); }
    #endif

    #if defined(__linux__)
    #include <malloc.h>
    #define gnn_size_of(memory) malloc_usable_size(memory)
    #else  /* what is behind the old end stays as it is */
    #define gnn_size_of(memory) SIZE_MAX
    #endif
    """
    int64_t add "gnn_add"(int64_t* address, int64_t value) noexcept nogil
    void* large "gnn_allocate"(size_t size) noexcept nogil
    size_t size_of "gnn_size_of"(void* memory) noexcept nogil

cdef bint failing = False
cdef int64_t to_come = 0  # allocations up to the one that fails
cdef int64_t alive = 0  # pieces of memory
cdef bint worst = adversarial.ON
cdef uint32_t WORD = adversarial.WORD


cdef inline bint fails() noexcept nogil:
    return failing and add(&to_come, -1) == 0


cdef inline void* counted(void* memory) noexcept nogil:
    if memory != NULL:
        add(&alive, 1)
    return memory


cdef void spoil(void* memory, size_t begin, size_t end) noexcept nogil:
    """Let some bytes of memory hold what no kernel may rely on."""
    cdef size_t i
    if worst and memory != NULL and begin < end:
        for i in range((begin + 3) // 4, end // 4):
            (<uint32_t*>memory)[i] = WORD


cdef inline void* unset(void* memory, size_t size) noexcept nogil:
    spoil(memory, 0, size)
    return counted(memory)


cdef void* allocate(size_t size) noexcept nogil:
    return NULL if fails() else unset(malloc(size + (size == 0)), size)


cdef void* allocate_zeros(size_t count, size_t size) noexcept nogil:
    return NULL if fails() else counted(calloc(count + (count == 0), size))


cdef void* allocate_pages(size_t size) noexcept nogil:
    """Return memory for a large array."""
    if fails():
        return NULL
    return unset(malloc(size) if worst else large(size), size)  # or on 16 bytes alone


cdef void* resize(void* memory, size_t size) noexcept nogil:
    """Return `memory` with another size, what is in it kept; NULL leaves it as it was."""
    if fails():
        return NULL
    if memory == NULL:
        return unset(malloc(size + (size == 0)), size)
    cdef size_t before = size_of(memory) if worst else 0
    memory = realloc(memory, size + (size == 0))
    spoil(memory, before, size)
    return memory


cdef void give_back(void* memory) noexcept nogil:
    if memory != NULL:
        add(&alive, -1)
    free(memory)


def fail_at(number):
    """Let the allocation with this number fail, the next being 1; 0: none. For tests.

    Returns whether one of the numbers before has failed.
    """
    global failing, to_come
    reached = failing and to_come <= 0
    failing, to_come = number > 0, number
    return reached


def living():
    """Return how many pieces of memory kernels have, those that wait to be used again included."""
    return add(&alive, 0)
