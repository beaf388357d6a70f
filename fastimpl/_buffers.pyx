"""Memory for large results, used again: a page that the system has just given is dear to touch.

`empty` is numpy.empty, but when its array dies, its memory waits here for the next one of about
that size, or of more than half of it. After a training step has been done once, the next ones ask
the system for nothing.
"""

import math
import os

import cython
import numpy as np
from cpython.buffer cimport PyBuffer_FillInfo

from fastimpl._memory cimport PAGE, allocate_pages, give_back, spoil

cdef enum:
    SMALLEST = 1 << 15  # below this NumPy's own memory is as good
    STEPS = 4  # from a power of two to the next: subgraphs of about one size share memory
    PLACES = STEPS * 64

MOST = 1 << 60  # bytes of an array: below what sizes are rounded to there is no overflow

cdef size_t MOST_WAITING = <size_t>1 << 30  # bytes that may wait; more goes back to the system

# The first bytes of memory that waits say where the next of its size is.
ctypedef struct Piece:
    Piece* next

cdef Piece* waiting[PLACES]  # a list for each size
cdef size_t waiting_bytes = 0
cdef Py_ssize_t allocations = 0
# Of these three. No Python runs under it, so that no other array dies there; a fork waits for it.
cdef cython.pymutex lock


cdef size_t rounded(size_t size) noexcept nogil:
    """Return a size that is enough: 4 to 7 times a power of two, or whole large pages."""
    cdef int shift = 0
    while size >> shift >= 2 * STEPS:
        shift += 1
    size = (size + (<size_t>1 << shift) - 1) >> shift << shift
    return size if size < PAGE // 2 else (size + PAGE - 1) // PAGE * PAGE


cdef int place_of(size_t size) noexcept nogil:
    """Return which list memory of a rounded size waits in."""
    cdef int shift = 0
    while size >> shift >= 2 * STEPS:
        shift += 1
    return shift * STEPS + <int>(size >> shift) - STEPS


cdef size_t size_in(int place) noexcept nogil:
    """Return the size of the memory that waits in a list."""
    return <size_t>(STEPS + place % STEPS) << (place // STEPS)


cdef void* take_waiting(size_t size) noexcept nogil:
    """Return memory that waits, or NULL."""
    global waiting_bytes
    cdef Piece* piece
    cdef int place = place_of(size)
    with lock:
        piece = waiting[place]
        if piece != NULL:
            waiting[place] = piece.next
            waiting_bytes -= size
    spoil(piece, 0, size)
    return piece


cdef bint let_wait(void* memory, size_t size) noexcept nogil:
    """Keep memory for another array; return whether there was room for it."""
    global waiting_bytes
    cdef Piece* piece = <Piece*>memory
    cdef int place = place_of(size)
    cdef bint kept
    with lock:
        kept = waiting_bytes + size <= MOST_WAITING
        if kept:
            piece.next = waiting[place]
            waiting[place] = piece
            waiting_bytes += size
    return kept


cdef void count_allocation() noexcept nogil:
    global allocations
    with lock:
        allocations += 1


cdef void* borrow(size_t size) noexcept nogil:
    """Return memory, which `put_back` or an array of `handed_over` ends; NULL: there is none."""
    cdef void* memory
    size = rounded(max(size, sizeof(Piece)))
    memory = take_waiting(size)
    if memory == NULL:
        memory = allocate_pages(size)
        if memory != NULL:
            count_allocation()
    return memory


cdef void put_back(void* memory, size_t size) noexcept nogil:
    """End what `borrow` gave for this size; NULL is nothing."""
    if memory != NULL and not let_wait(memory, rounded(max(size, sizeof(Piece)))):
        give_back(memory)


cdef Buffer handed_over(void** memory, size_t size):
    """Return what `borrow` gave for this size as a Buffer; NULL stays where it was."""
    cdef Buffer buffer = Buffer.__new__(Buffer)
    buffer.address, buffer.size = memory[0], size
    memory[0] = NULL
    return buffer


cdef class Buffer:
    """One piece of memory; when the last array on it dies, it waits for another."""

    def __dealloc__(self):
        put_back(self.address, self.size)

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.address, <Py_ssize_t>self.size, 0, flags)


def empty(shape, dtype):
    """Return an uninitialised C-contiguous array."""
    dtype = np.dtype(dtype)
    count = math.prod(shape)
    size = count * dtype.itemsize
    if size < SMALLEST:
        return np.empty(shape, dtype)
    if size > MOST:
        raise MemoryError(f"no memory for an array of {size} bytes")
    return np.frombuffer(borrowed(size), dtype, count).reshape(shape)


cdef Buffer borrowed(size_t size):
    """Return memory of at least this size: what waits may be up to twice as large."""
    cdef int place = place_of(rounded(size)), larger
    cdef size_t found = size
    cdef void* memory = NULL
    for larger in range(place, place + STEPS):
        found = size_in(larger)
        memory = take_waiting(found)
        if memory != NULL:
            break
    if memory == NULL:
        found = size
        memory = borrow(size)
    if memory == NULL:
        raise MemoryError(f"no memory for an array of {size} bytes")
    return handed_over(&memory, found)


def empty_like(array):
    """Return an uninitialised C-contiguous array of the shape and dtype of `array`."""
    return empty(array.shape, array.dtype)


def allocated():
    """Return how often the system was asked for memory so far."""
    with lock:
        return allocations


def release_waiting():
    """Give the memory that waits back to the system."""
    global waiting_bytes
    cdef int place
    cdef Piece* piece
    with lock:
        for place in range(PLACES):
            while waiting[place] != NULL:
                piece = waiting[place]
                waiting[place] = piece.next
                give_back(piece)
        waiting_bytes = 0


def _hold():
    """Before a fork: no other thread is within the lock, or its child would wait for ever."""
    lock.acquire()


def _let_go():
    lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_let_go)
