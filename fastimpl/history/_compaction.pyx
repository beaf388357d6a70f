"""The live rows of blocks, numbered anew. Arguments were checked by compaction.py."""

import numpy as np

from fastimpl._buffers import empty
from refimpl.history.compaction import by_node

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from fastimpl._interrupts cimport (
    NUMBERS, Watch, has_stopped, new_watch, raise_if_stopped, stopped, stopped_at
)
from fastimpl._types cimport ids_of, offsets_of
from fastimpl.history._slots cimport fetch


def order_below(
    const int64_t[::1] above, const uint8_t[::1] comp, const uint8_t[::1] live,
    uint8_t[::1] computed, int32_t[::1] place, int64_t[::1] below
):
    """Fill `computed`, `place` and `below`; return the rows computed, -1 if one is dead below.

    `place` is where a computed row stands in `below`, and -1 for any other: see `number`.
    """
    cdef int64_t i, j, count = 0, last, rows = above.shape[0], n = live.shape[0]
    cdef bint dead = False
    cdef Watch watch = new_watch()
    with nogil:
        for i in range(n):
            if stopped_at(&watch, i):
                break
            place[i] = -1
        for j in range(rows):
            if stopped_at(&watch, j):
                break
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
            if stopped_at(&watch, i):
                break
            if live[i] and place[i] < 0:
                below[last] = i
                last += 1
    raise_if_stopped(&watch)
    return -1 if dead else count


def number(const int64_t[::1] below, int64_t first, int32_t[::1] place):
    """Fill `place` for the rows of ``below[first:]``, which stand in their order."""
    cdef int64_t j, rows = below.shape[0]
    cdef Watch watch = new_watch()
    with nogil:
        for j in range(first, rows):
            if stopped_at(&watch, j):
                break
            place[below[j]] = <int32_t>j
    raise_if_stopped(&watch)


def bounds(
    const int64_t[::1] start, const int64_t[::1] end, const int64_t[::1] rows, int64_t[::1] ends
):
    """Fill `ends` of the first rows, one behind the other; return where each begins."""
    cdef int64_t j, total = 0, count = ends.shape[0]
    found = empty((count,), np.int64)
    cdef int64_t[::1] starts = found
    cdef Watch watch = new_watch()
    with nogil:
        for j in range(count):
            if stopped_at(&watch, j):
                break
            starts[j] = total
            total += end[rows[j]] - start[rows[j]]
            ends[j] = total
    raise_if_stopped(&watch)
    return found


def entries(
    const int64_t[::1] start, const int64_t[::1] end, const int32_t[::1] indices,  # IN
    const int64_t[::1] edge_ids, const int64_t[::1] rows, const int32_t[::1] place,  # IN
    const int64_t[::1] starts,  # IN
    int32_t[::1] new_indices, int64_t[::1] new_ids  # OUT
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


cdef enum:
    AHEAD = 4  # rows between the one copied and the one being fetched


cdef int64_t number_computed(
    const int64_t* above, int64_t rows, const uint8_t* cached,  # IN
    uint8_t* computed,  # OUT
    int32_t* place,  # INOUT
    int64_t* below,  # OUT
    Watch* watch  # INOUT
) noexcept nogil:
    """Number the computed rows: fill `computed`, `place` and the first of `below`; count them."""
    cdef int64_t j, count = 0
    for j in range(rows):
        if stopped_at(watch, j):
            break
        computed[j] = cached[above[j]] == 0  # V1:9
        below[count] = above[j]  # overwritten by the next, if this is a cached row: no branch
        place[above[j]] = <int32_t>count if computed[j] else -1
        count += computed[j]
    return count


cdef int64_t find_needed(
    const uint8_t* needed, int64_t n, int64_t count, const int32_t* place,  # IN
    int64_t* below, Watch* watch  # INOUT
) noexcept nogil:
    """Put what else is needed behind `count` rows of `below`; return how many all are."""
    cdef int64_t i
    for i in range(n):
        if stopped_at(watch, i):
            break
        below[count] = i  # overwritten by the next, if it is not needed or stands there already
        count += needed[i] & (place[i] < 0)
    return count


cdef inline void copy_row(
    const int32_t* sources, int64_t size, int32_t* new_sources, uint8_t* needed
) noexcept nogil:
    """Copy the sources of a row, and mark them."""
    cdef int64_t k
    cdef int32_t source
    for k in range(size):
        source = sources[k]
        new_sources[k] = source
        needed[source] = 1


cdef void renumber(
    int32_t* sources, int64_t count, const int32_t* place, Watch* watch
) noexcept nogil:
    cdef int64_t first, k
    first = 0
    while first < count:
        if stopped(watch):
            return
        for k in range(first, min(first + NUMBERS, count)):
            sources[k] = place[sources[k]]
        first += NUMBERS


def prune(
    const int64_t[::1] start, const int64_t[::1] end, const int32_t[::1] indices,  # IN
    const int64_t[::1] edge_ids, nodes, const int64_t[::1] above,  # IN
    const uint8_t[::1] cached,  # IN
    uint8_t[::1] computed  # OUT
):
    """Fill `computed` of the rows `above`; return (below, starts, ends, indices, edge_ids).

    `below` is the live rows of the layer below, in which row i is ``nodes[i]``: the computed ones,
    then what else they need.
    """
    cdef int64_t i, j, size, to = 0, last = 0, count = 0, total = 0, n_src = len(nodes)
    cdef bint named = edge_ids is not None
    found, marks = empty((n_src + 1,), np.int64), empty((n_src + 1,), np.uint8)
    cdef int64_t[::1] below = found, starts, ends, new_ids
    cdef int32_t[::1] place = empty((n_src + 1,), np.int32), columns
    cdef uint8_t[::1] needed = marks
    cdef const int32_t* sources = ids_of(indices)
    cdef const int64_t* names = offsets_of(edge_ids) if named else NULL
    cdef int32_t* new_sources
    cdef int64_t* new_names
    cdef Watch watch = new_watch()
    with nogil:
        memset(&needed[0], 0, <size_t>n_src)
        memset(&place[0], 255, <size_t>n_src * sizeof(int32_t))
        if above.shape[0]:
            count = number_computed(
                &above[0], above.shape[0], &cached[0], &computed[0], &place[0], &below[0], &watch
            )
        for j in range(count):
            if stopped_at(&watch, j):
                break
            total += end[below[j]] - start[below[j]]
    raise_if_stopped(&watch)
    starts, ends = empty((count,), np.int64), empty((count,), np.int64)
    columns, new_ids = empty((total,), np.int32), empty((total if named else 0,), np.int64)
    new_sources = &columns[0] if total else NULL
    new_names = &new_ids[0] if total and named else NULL
    with nogil:
        for j in range(count):
            if stopped_at(&watch, j):
                break
            if j + AHEAD < count:
                i = start[below[j + AHEAD]]
                size = end[below[j + AHEAD]] - i
                fetch(sources + i, <size_t>size * sizeof(int32_t))
                if named:
                    fetch(names + i, <size_t>size * sizeof(int64_t))
            i = start[below[j]]
            size = end[below[j]] - i
            starts[j] = to
            copy_row(sources + i, size, new_sources + to, &needed[0])
            if named and size:  # else there may be no memory to copy to
                memcpy(new_names + to, names + i, <size_t>size * sizeof(int64_t))
            to += size
            ends[j] = to
        if not has_stopped(&watch):  # else not all sources were copied
            last = find_needed(&needed[0], n_src, count, &place[0], &below[0], &watch)
    raise_if_stopped(&watch)
    found[count:last] = by_node(found[count:last], nodes)
    number(found[:last], count, place)
    with nogil:
        renumber(new_sources, to, &place[0], &watch)
    raise_if_stopped(&watch)
    return (
        found[:last], np.asarray(starts), np.asarray(ends), np.asarray(columns),
        np.asarray(new_ids) if named else None,
    )
