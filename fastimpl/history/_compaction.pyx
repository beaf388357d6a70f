"""The live rows of blocks, numbered anew. Arguments were checked by compaction.py."""

import numpy as np

from fastimpl._buffers import empty

from libc.stdint cimport int32_t, int64_t, uint8_t

from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped_at


def order_below(
    const int64_t[::1] above, const uint8_t[::1] comp, const uint8_t[::1] live,
    uint8_t[::1] computed, int32_t[::1] place, int64_t[::1] below
):
    """Fill `computed`, `place` and `below`; return the rows computed, -1 if one is dead below.

    `place` is where a row of the layer below stands in `below`, and -1 for a dead one.
    """
    cdef int64_t i, j, count = 0, last, rows = above.shape[0], n = live.shape[0]
    cdef bint dead = False
    with nogil:
        for i in range(n):
            place[i] = -1
        for j in range(rows):
            i = above[j]
            computed[j] = comp[i] != 0
            if comp[i] and not live[i]:
                dead = True
                break
            if comp[i]:
                place[i] = <int32_t>count
                below[count] = i
                count += 1
        last = count
        for i in range(0 if dead else n):
            if live[i] and place[i] < 0:
                place[i] = <int32_t>last
                below[last] = i
                last += 1
    return -1 if dead else count


def bounds(
    const int64_t[::1] start, const int64_t[::1] end, const int64_t[::1] rows, int64_t[::1] ends
):
    """Fill `ends` of the first rows, one behind the other; return where each begins."""
    cdef int64_t j, total = 0, count = ends.shape[0]
    found = empty((count,), np.int64)
    cdef int64_t[::1] starts = found
    with nogil:
        for j in range(count):
            starts[j] = total
            total += end[rows[j]] - start[rows[j]]
            ends[j] = total
    return found


def entries(
    const int64_t[::1] start, const int64_t[::1] end, const int32_t[::1] indices,
    const int64_t[::1] edge_ids, const int64_t[::1] rows, const int32_t[::1] place,
    const int64_t[::1] starts, int32_t[::1] new_indices, int64_t[::1] new_ids
):
    """Copy the entries of the first rows, columns by `place`; return if all sources are live."""
    cdef int64_t j, k, to, count = starts.shape[0]
    cdef int32_t least = 0
    cdef bint named = edge_ids is not None
    cdef Watch watch = new_watch()
    with nogil:
        for j in range(count):
            if stopped_at(&watch, j):
                break
            to = starts[j]
            for k in range(start[rows[j]], end[rows[j]]):
                new_indices[to] = place[indices[k]]
                least = min(least, new_indices[to])
                if named:
                    new_ids[to] = edge_ids[k]
                to += 1
    raise_if_stopped(&watch)
    return least == 0
