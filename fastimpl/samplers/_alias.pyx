"""Vose's construction of an alias table. Arguments were checked by alias.py."""

from libc.stdint cimport int64_t

from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped_at


def alias_build(double[::1] p, double[::1] prob, int64_t[::1] alias, int64_t[::1] stack):
    """Fill `prob` (ones before) and `alias` from p, which adds up to its length.

    One array holds both stacks, which grow towards each other: together they never hold more
    than the k parts.
    """
    cdef int64_t k = p.shape[0], i, low, high, step = 0
    cdef int64_t small = 0, large = k  # small parts are stack[:small], large ones stack[large:]
    cdef Watch watch = new_watch()
    with nogil:
        for i in range(k):
            if stopped_at(&watch, i):
                break
            alias[i] = i
            if p[i] < 1:
                stack[small] = i
                small += 1
            else:
                large -= 1
                stack[large] = i
        while small > 0 and large < k:
            if stopped_at(&watch, step):
                break
            step += 1
            small -= 1
            low = stack[small]
            high = stack[large]
            large += 1
            prob[low] = p[low]
            alias[low] = high
            p[high] = (p[high] + p[low]) - 1
            if p[high] < 1:
                stack[small] = high
                small += 1
            else:
                large -= 1
                stack[large] = high
    raise_if_stopped(&watch)
