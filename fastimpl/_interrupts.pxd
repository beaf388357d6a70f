"""Ctrl-C in kernels: each call has a watch, and asks it before each piece of work.

    cdef Watch watch = new_watch()
    for v in prange(n, nogil=True):
        if stopped_at(&watch, v):
            continue
        ..
    raise_if_stopped(&watch)
"""

from libc.stdint cimport int64_t

cdef extern from "fastimpl/_interrupts.h":
    ctypedef struct Watch "gnn_watch":
        int stop
        const char* unwanted
        bint handles
        int64_t next
    bint has_stopped "gnn_has_stopped"(const Watch* watch) noexcept nogil
    bint stopped "gnn_stopped"(Watch* watch) noexcept nogil
    bint stopped_at "gnn_stopped_at"(Watch* watch, int64_t i) noexcept nogil
    int64_t milliseconds "gnn_milliseconds"() noexcept nogil
    int64_t BETWEEN "GNN_MILLISECONDS"

cdef enum:
    NUMBERS = 1 << 14  # a piece of work, where there is one short step a number

cdef Watch new_watch()
cdef int raise_if_stopped(Watch* watch) except -1
