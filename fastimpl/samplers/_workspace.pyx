"""Memory that one thread reuses from sample to sample: no allocation, and no work in proportion
to the graph, once a thread has drawn its first."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset


cdef void* room(Scratch* scratch, int which, size_t size) noexcept nogil:
    """Return at least `size` bytes of the buffer, its content kept; NULL when memory runs out."""
    cdef Buffer* buffer = &scratch.buffers[which]
    cdef void* memory
    if size > buffer.size or buffer.memory == NULL:
        memory = realloc(buffer.memory, size + size // 4 + 64)
        if memory == NULL:
            return NULL
        buffer.memory = memory
        buffer.size = size + size // 4 + 64
    return buffer.memory


cdef int prepare(Scratch* scratch, int64_t n) noexcept nogil:
    """Make room for a sample of n nodes and steps; return -1 when memory runs out."""
    scratch.nodes = <int32_t*>room(scratch, 0, <size_t>n * sizeof(int32_t))
    scratch.popped = <int32_t*>room(scratch, 1, <size_t>n * sizeof(int32_t))
    scratch.pushed = <int32_t*>room(scratch, 2, <size_t>n * sizeof(int32_t))
    scratch.s = 0
    memset(&scratch.counts, 0, sizeof(Counts))
    return 0 if scratch.nodes and scratch.popped and scratch.pushed else -1


cdef void add_node(Scratch* scratch, int32_t v) noexcept nogil:
    """Add v to the sample unless it is there."""
    scratch.nodes[scratch.s] = v
    scratch.s += scratch.mark[v] < 0
    scratch.mark[v] = 0


cdef int finish(Scratch* scratch) noexcept nogil:
    """Sort the sample (radix, 11 bits a pass) and clear its marks."""
    cdef int64_t s = scratch.s, i
    cdef int64_t[2048] starts
    cdef int64_t total, count
    cdef int shift, digit
    cdef int32_t* a = scratch.nodes
    cdef int32_t* b = <int32_t*>room(scratch, 3, <size_t>s * sizeof(int32_t))
    if b == NULL:
        return -1
    for i in range(s):
        scratch.mark[a[i]] = -1
    for shift in range(0, 33, 11):
        memset(starts, 0, sizeof(starts))
        for i in range(s):
            starts[(a[i] >> shift) & 2047] += 1
        if starts[0] == s:  # no id has this digit
            continue
        total = 0
        for digit in range(2048):
            count = starts[digit]
            starts[digit] = total
            total += count
        for i in range(s):
            digit = (a[i] >> shift) & 2047
            b[starts[digit]] = a[i]
            starts[digit] += 1
        a, b = b, a
    if a != scratch.nodes:
        memcpy(scratch.nodes, a, <size_t>s * sizeof(int32_t))
    return 0


cdef class Workspace:
    """The scratch memory of every thread, for samples of one graph."""

    def __cinit__(self, int64_t graph_nodes):
        self.graph_nodes = graph_nodes
        self.threads = NULL
        self.count = 0

    cdef object reserve(self, int count):
        """Have scratch memory for at least `count` threads."""
        cdef Scratch* grown
        cdef Scratch* scratch

        if count <= self.count:
            return
        grown = <Scratch*>realloc(self.threads, <size_t>count * sizeof(Scratch))
        if grown == NULL:
            raise MemoryError()
        self.threads = grown
        while self.count < count:
            scratch = &self.threads[self.count]
            memset(scratch, 0, sizeof(Scratch))
            scratch.mark = <int32_t*>malloc(<size_t>self.graph_nodes * sizeof(int32_t) + 1)
            if scratch.mark == NULL:
                raise MemoryError()
            memset(scratch.mark, 0xFF, <size_t>self.graph_nodes * sizeof(int32_t))
            self.count += 1

    def __dealloc__(self):
        cdef int i, j
        for i in range(self.count):
            free(self.threads[i].mark)
            for j in range(8):
                free(self.threads[i].buffers[j].memory)
        free(self.threads)
