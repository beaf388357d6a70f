"""The local ids of the nodes that a minibatch has met: destinations first, then what is new."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from fastimpl._graph cimport prefetch
from fastimpl._interrupts cimport Watch, stopped_at
from fastimpl._memory cimport allocate, give_back
from fastimpl.samplers._walker cimport FOUND, release_buffers, room, sort_unique

cdef enum:
    AHEAD = 16  # entries between the one looked up and the one being fetched
    NEW = -1  # local id of a node that was not met


cdef class Relabelling:
    """The local ids of the nodes that a minibatch has met so far.

    Made once for a graph. Whoever has met nodes makes them new again, so that no minibatch does
    work in proportion to the graph.
    """

    def __cinit__(self, int64_t graph_nodes):
        memset(&self.walker, 0, sizeof(Walker))
        self.local = <int32_t*>allocate(<size_t>graph_nodes * sizeof(int32_t) + 1)
        if self.local == NULL:
            raise MemoryError()
        memset(self.local, 0xFF, <size_t>graph_nodes * sizeof(int32_t))

    def __dealloc__(self):
        release_buffers(&self.walker)
        give_back(self.local)

    def enter(self, const int32_t[::1] nodes):
        """Number the nodes, before the first hop."""
        cdef int64_t i
        for i in range(nodes.shape[0]):
            self.local[nodes[i]] = <int32_t>i

    def leave(self, const int32_t[::1] nodes):
        """Make the nodes new again, after the last hop."""
        cdef int64_t i
        with nogil:
            for i in range(nodes.shape[0]):
                self.local[nodes[i]] = NEW


cdef int64_t find_new(
    int32_t* local, Walker* walker, const int32_t* ids, int64_t entries, int64_t graph_nodes,
    Watch* watch
) noexcept nogil:
    """Put the new nodes among `ids` into `walker.found`, ascending, and mark them as met.

    Return how many they are; -1 when memory runs out or it was stopped.
    """
    cdef int64_t k, count = 0
    cdef int32_t is_new
    cdef int32_t* found = <int32_t*>room(
        walker, FOUND, <size_t>(min(entries, graph_nodes) + 1) * sizeof(int32_t)
    )
    if found == NULL:
        return -1
    for k in range(entries):
        if stopped_at(watch, k):
            return -1
        if k + AHEAD < entries:
            prefetch(local + ids[k + AHEAD])
        is_new = local[ids[k]] == NEW
        found[count] = ids[k]  # overwritten by the next where it is not new
        count += is_new
        local[ids[k]] -= is_new  # no longer: any other number will do until `number_new`
    walker.found, walker.s = found, count
    return -1 if sort_unique(walker) else count


cdef void number_new(
    int32_t* local, const Walker* walker, int64_t n_dst, int32_t* src
) noexcept nogil:
    """Number what `find_new` found behind the destinations, and append it to `src`."""
    cdef int64_t i
    for i in range(walker.s):
        src[n_dst + i] = walker.found[i]
        local[walker.found[i]] = <int32_t>(n_dst + i)
