"""Memory for large results, used again: a page that the system has just given is dear to touch.

`empty` is numpy.empty, but when its array dies, its memory waits here for the next one of about
that size. After a training step has been done once, the next ones ask the system for nothing.
"""

import math

import numpy as np
from cpython.buffer cimport PyBuffer_FillInfo

from fastimpl._memory cimport allocate_pages, give_back

cdef enum:
    SMALLEST = 1 << 15  # below this NumPy's own memory is as good

cdef size_t MOST_WAITING = <size_t>1 << 30  # bytes that may wait; more goes back to the system

cdef dict waiting = {}  # size in bytes -> addresses
cdef size_t waiting_bytes = 0
cdef Py_ssize_t allocations = 0


cdef class Buffer:
    """One piece of memory; when the last array on it dies, it waits for another."""

    cdef void* address
    cdef size_t size

    def __cinit__(self, size_t size):
        global waiting_bytes, allocations
        cdef list addresses = waiting.get(size)
        self.size = size
        if addresses:
            self.address = <void*><size_t>addresses.pop()
            waiting_bytes -= size
            return
        self.address = allocate_pages(size)
        if self.address == NULL:
            raise MemoryError(f"no memory for an array of {size} bytes")
        allocations += 1

    def __dealloc__(self):
        global waiting_bytes
        if self.address == NULL:
            return
        if waiting is None or waiting_bytes + self.size > MOST_WAITING:
            give_back(self.address)
            return
        waiting.setdefault(self.size, []).append(<size_t>self.address)
        waiting_bytes += self.size

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.address, <Py_ssize_t>self.size, 0, flags)


def empty(shape, dtype):
    """Return an uninitialised C-contiguous array."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if size < SMALLEST:
        return np.empty(shape, dtype)
    # Sizes in steps of an eighth to a quarter, so that subgraphs of about one size share memory.
    step = 1 << (int(size).bit_length() - 3)
    buffer = Buffer(-(-size // step) * step)
    return np.frombuffer(buffer, dtype, math.prod(shape)).reshape(shape)


def empty_like(array):
    """Return an uninitialised C-contiguous array of the shape and dtype of `array`."""
    return empty(array.shape, array.dtype)


def allocated():
    """Return how often the system was asked for memory so far."""
    return allocations


def release_waiting():
    """Give the memory that waits back to the system."""
    global waiting_bytes
    for addresses in waiting.values():
        for address in addresses:
            give_back(<void*><size_t>address)
    waiting.clear()
    waiting_bytes = 0
