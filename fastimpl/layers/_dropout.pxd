"""Which draws keep an element; nothing depends on the order in which elements are visited."""

from libc.stdint cimport uint64_t

from fastimpl._streams cimport GOLD, mix


cdef inline bint kept(uint64_t key, uint64_t c, uint64_t least) noexcept nogil:
    """Whether the 53 bits of draw c of the stream `key` are at least `least`."""
    return (mix(key + GOLD * (c + 1)) >> 11) >= least
