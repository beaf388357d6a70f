"""Vose's construction of an alias table (refimpl/samplers/alias.py), of one row of weights."""

from libc.stdint cimport int64_t

from fastimpl._interrupts cimport Watch, stopped_at
from fastimpl._types cimport position


cdef inline void vose(
    double* p, int64_t k,  # IN
    double* prob, position* alias,  # OUT
    int64_t* stack,  # OUT
    Watch* watch  # INOUT
) noexcept nogil:
    """Fill `prob` and `alias` from p, which adds up to its length k, and is written over.

    One array holds both stacks, which grow towards each other: together they never hold more
    than the k parts.
    """
    cdef int64_t i, low, high, step = 0
    cdef int64_t small = 0, large = k  # small parts are stack[:small], large ones stack[large:]
    for i in range(k):
        if stopped_at(watch, i):
            return
        prob[i] = 1
        alias[i] = <position>i
        if p[i] < 1:
            stack[small] = i
            small += 1
        else:
            large -= 1
            stack[large] = i
    while small > 0 and large < k:
        if stopped_at(watch, step):
            return
        step += 1
        small -= 1
        low = stack[small]
        high = stack[large]
        large += 1
        prob[low] = p[low]
        alias[low] = <position>high
        p[high] = (p[high] + p[low]) - 1
        if p[high] < 1:
            stack[small] = high
            small += 1
        else:
            large -= 1
            stack[large] = high
