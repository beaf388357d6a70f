"""Kernels for normalised adjacencies. Arguments were checked by fastimpl/adjacency.py."""

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t

from fastimpl._interrupts cimport NUMBERS, Watch, new_watch, raise_if_stopped, stopped, stopped_at
from fastimpl._types cimport COSTLY_TEAM, TEAM, position


def row_norm(const int64_t[::1] indptr, floating[::1] data):
    cdef int64_t v, j
    cdef floating inverse
    cdef bint shared = data.shape[0] > TEAM
    cdef Watch watch = new_watch()
    for v in prange(indptr.shape[0] - 1, nogil=True, schedule="static", use_threads_if=shared):
        if stopped_at(&watch, v):
            continue
        if indptr[v + 1] > indptr[v]:
            inverse = <floating>1 / <floating>(indptr[v + 1] - indptr[v])
            for j in range(indptr[v], indptr[v + 1]):
                data[j] = inverse
    raise_if_stopped(&watch)


def sym_norm(
    const int64_t[::1] indptr, const int32_t[::1] indices, double[::1] lengths,
    floating[::1] data
):
    """1 / sqrt of the lengths of both rows; `lengths` is room for each row's, to look it up once.

    Their product is rounded as that of the integers: either has fewer than 53 bits.
    """
    cdef int64_t v, j
    cdef double own
    cdef bint shared = data.shape[0] > COSTLY_TEAM
    cdef Watch watch = new_watch()
    for v in prange(lengths.shape[0], nogil=True, schedule="static", use_threads_if=shared):
        if stopped_at(&watch, v):
            continue
        lengths[v] = <double>(indptr[v + 1] - indptr[v])
    raise_if_stopped(&watch)
    for v in prange(lengths.shape[0], nogil=True, schedule="static", use_threads_if=shared):
        if stopped_at(&watch, v):
            continue
        own = lengths[v]
        for j in range(indptr[v], indptr[v + 1]):
            data[j] = <floating>(1 / sqrt(own * lengths[indices[j]]))
    raise_if_stopped(&watch)


def permute(const floating[::1] data, const position[::1] perm, floating[::1] out):
    cdef int64_t first, j, count = out.shape[0]
    cdef bint shared = count > TEAM
    cdef Watch watch = new_watch()
    for first in prange(0, count, NUMBERS, nogil=True, schedule="static", use_threads_if=shared):
        if stopped(&watch):
            continue
        for j in range(first, min(first + NUMBERS, count)):
            out[j] = data[perm[j]]
    raise_if_stopped(&watch)


def looped_indptr(
    const int64_t[::1] indptr, const int32_t[::1] indices, int64_t[::1] looped
):
    """Rows of the pattern with self-loops; a node's own place in a row is found by halving."""
    cdef int64_t v, place, n = indptr.shape[0] - 1
    cdef bint shared = indices.shape[0] > COSTLY_TEAM
    cdef Watch watch = new_watch()
    looped[0] = 0
    for v in prange(n, nogil=True, schedule="static", use_threads_if=shared):
        if stopped_at(&watch, v):
            continue
        place = place_of(indices, indptr[v], indptr[v + 1], v)
        looped[v + 1] = indptr[v + 1] - indptr[v]
        if place == indptr[v + 1] or indices[place] != v:
            looped[v + 1] += 1
    raise_if_stopped(&watch)
    with nogil:
        for v in range(n):
            if stopped_at(&watch, v):
                break
            looped[v + 1] += looped[v]
    raise_if_stopped(&watch)


def looped_indices(
    const int64_t[::1] indptr, const int32_t[::1] indices, const int64_t[::1] looped,
    int32_t[::1] out
):
    cdef int64_t v, j, place, shift
    cdef bint shared = out.shape[0] > COSTLY_TEAM
    cdef Watch watch = new_watch()
    for v in prange(indptr.shape[0] - 1, nogil=True, schedule="static", use_threads_if=shared):
        if stopped_at(&watch, v):
            continue
        place = place_of(indices, indptr[v], indptr[v + 1], v)
        shift = looped[v] - indptr[v]
        for j in range(indptr[v], place):
            out[j + shift] = indices[j]
        out[place + shift] = <int32_t>v
        if looped[v + 1] - looped[v] > indptr[v + 1] - indptr[v]:
            shift = shift + 1
        for j in range(place, indptr[v + 1]):
            out[j + shift] = indices[j]
    raise_if_stopped(&watch)


cdef inline int64_t place_of(
    const int32_t[::1] indices, int64_t low, int64_t high, int64_t v
) noexcept nogil:
    """Return the first position in an ascending row whose entry is at least v."""
    cdef int64_t middle
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < v:
            low = middle + 1
        else:
            high = middle
    return low


def block_starts(const int64_t[:] start, const int64_t[:] end, const int32_t[::1] indices,
                 bint loops, int64_t[::1] starts):
    """Where each row of the normalised block starts: with `loops`, itself and the others."""
    cdef int64_t v, j, n = start.shape[0]
    cdef bint shared = indices.shape[0] > COSTLY_TEAM
    cdef Watch watch = new_watch()
    starts[0] = 0
    for v in prange(n, nogil=True, schedule="static", use_threads_if=shared):
        if stopped_at(&watch, v):
            continue
        starts[v + 1] = end[v] - start[v]
        if loops:
            starts[v + 1] += 1
            for j in range(start[v], end[v]):
                if indices[j] == v:
                    starts[v + 1] -= 1
    raise_if_stopped(&watch)
    with nogil:
        for v in range(n):
            if stopped_at(&watch, v):
                break
            starts[v + 1] += starts[v]
    raise_if_stopped(&watch)


cdef inline double sum_of(
    const double[::1] weights, const int32_t[::1] indices, int64_t start, int64_t end, int64_t but
) noexcept nogil:
    """The sum of a row's weights in their order, without that of the column `but`."""
    cdef double total = 0
    cdef int64_t j
    for j in range(start, end):
        if indices[j] != but:
            total = total + weights[j]
    return total


def block_values(
    const int64_t[:] start, const int64_t[:] end, const int32_t[::1] indices,  # IN
    const double[::1] weights, const int64_t[::1] degrees, bint loops,  # IN
    const int64_t[::1] starts,  # IN
    int32_t[::1] out, floating[::1] data  # OUT
):
    """Columns and values of the normalised block; `degrees` (None: the mean) makes it "sym".

    Each value is multiplied by the entry's weight over the mean of its row, if there are weights.
    """
    cdef int64_t v, u, j, k, length
    cdef double value, sum_of_row
    cdef bint shared = out.shape[0] > COSTLY_TEAM
    cdef Watch watch = new_watch()
    for v in prange(start.shape[0], nogil=True, schedule="static", use_threads_if=shared):
        if stopped_at(&watch, v):
            continue
        k = starts[v]
        length = starts[v + 1] - starts[v]
        sum_of_row = 0
        if weights is not None:
            sum_of_row = sum_of(weights, indices, start[v], end[v], v if loops else -1)
        if loops:
            out[k] = <int32_t>v
            if degrees is None:
                data[k] = <floating>1 / <floating>length
            else:
                data[k] = <floating>(1 / <double>(degrees[v] + 1))
            k = k + 1
        for j in range(start[v], end[v]):
            u = indices[j]
            if loops and u == v:
                continue
            out[k] = <int32_t>u
            if degrees is None and weights is None:
                data[k] = <floating>1 / <floating>length
            else:
                value = 1 / <double>length
                if degrees is not None:
                    value = <double>degrees[v] / <double>(length - 1)
                    value = value / sqrt(<double>((degrees[u] + 1) * (degrees[v] + 1)))
                if weights is not None:
                    value = value * (weights[j] * <double>(length - loops) / sum_of_row)
                data[k] = <floating>value
            k = k + 1
    raise_if_stopped(&watch)
