"""Vose's construction of an alias table. Arguments were checked by alias.py."""

from libc.stdint cimport int64_t

from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped


def alias_build(double[::1] p, double[::1] prob, int64_t[::1] alias, int64_t[::1] stack):
    """Fill `prob` and `alias` from p, which adds up to its length."""
    cdef Watch watch = new_watch()
    with nogil:
        vose(&p[0], p.shape[0], &prob[0], &alias[0], &stack[0], &watch)
    raise_if_stopped(&watch)
