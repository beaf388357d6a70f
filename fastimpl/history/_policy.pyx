"""Kernels of the cache policy. Arguments were checked by fastimpl/history/policy.py."""

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from fastimpl._interrupts cimport NUMBERS, Watch, new_watch, raise_if_stopped, stopped, stopped_at
from fastimpl._types cimport offsets_of

cdef enum:
    DIGIT = 11  # bits of a value that a round tells apart
    BUCKETS = 1 << DIGIT
    WORTH = 1 << 14  # numbers below which a second thread costs more than it brings
    SIDE = 8  # rows whose squares are added side by side
    PART = 64  # of their columns at a time
    ROWS = 64  # rows that a thread takes at a time


cdef double norm(const floating* row, Py_ssize_t f) noexcept nogil:
    cdef double x, total = 0
    cdef Py_ssize_t j
    for j in range(f):
        x = row[j]
        total += x * x
    return sqrt(total)


cdef void eight_norms(const floating* rows, Py_ssize_t f, double* norms) noexcept nogil:
    """Eight rows side by side: each sum waits for its last addition, but not for the others'."""
    cdef double[SIDE * PART] squares
    cdef double x, s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0
    cdef Py_ssize_t begin = 0, count, r, j
    while begin < f:
        count = min(<Py_ssize_t>PART, f - begin)
        for r in range(SIDE):
            for j in range(count):
                x = rows[r * f + begin + j]
                squares[r * PART + j] = x * x
        for j in range(count):
            s0 += squares[j]
            s1 += squares[PART + j]
            s2 += squares[2 * PART + j]
            s3 += squares[3 * PART + j]
            s4 += squares[4 * PART + j]
            s5 += squares[5 * PART + j]
            s6 += squares[6 * PART + j]
            s7 += squares[7 * PART + j]
        begin += count
    norms[0], norms[1], norms[2], norms[3] = sqrt(s0), sqrt(s1), sqrt(s2), sqrt(s3)
    norms[4], norms[5], norms[6], norms[7] = sqrt(s4), sqrt(s5), sqrt(s6), sqrt(s7)


cdef void norms_of_rows(
    const floating* rows, Py_ssize_t count, Py_ssize_t f, double* norms
) noexcept nogil:
    cdef Py_ssize_t i = 0
    while i + SIDE <= count:
        eight_norms[floating](rows + i * f, f, norms + i)
        i += SIDE
    while i < count:
        norms[i] = norm[floating](rows + i * f, f)
        i += 1


def gradient_norms(
    const floating[:, ::1] G, const int64_t[::1] taken,  # IN
    double[::1] norms, floating[:, ::1] rows  # OUT
):
    """Each row's squares are added from left to right. The rows `taken`, ascending, are copied.

    A row is copied while it is in the first-level cache.
    """
    cdef int64_t k, part, first, last, m = G.shape[0], f = G.shape[1]
    cdef int64_t count = 0 if taken is None else taken.shape[0]
    cdef const floating* top = &G[0, 0] if m and f else NULL
    cdef const int64_t* at = offsets_of(taken) if count else NULL
    cdef floating* to = &rows[0, 0] if count and f else NULL
    cdef Watch watch = new_watch()
    for part in prange(
        (m + ROWS - 1) // ROWS, nogil=True, schedule="static", use_threads_if=m * f > WORTH
    ):
        if stopped_at(&watch, part):
            continue
        first = part * ROWS
        last = min(first + ROWS, m)
        norms_of_rows[floating](top + first * f, last - first, f, &norms[first])  # V1:20
        if to != NULL:
            k = first_from(at, count, first)
            while k < count and at[k] < last:
                memcpy(to + k * f, top + at[k] * f, <size_t>f * sizeof(floating))
                k = k + 1
    raise_if_stopped(&watch)


cdef inline int64_t first_from(const int64_t* ascending, int64_t count, int64_t low) noexcept nogil:
    """Return how many of some ascending numbers are below `low`."""
    cdef int64_t below = 0, middle
    while below < count:
        middle = (below + count) // 2
        if ascending[middle] < low:
            below = middle + 1
        else:
            count = middle
    return below


cdef inline uint64_t in_order(double x) noexcept nogil:
    """Return an integer that is as large among integers as x is among numbers; -0 is 0."""
    cdef uint64_t bits
    x = x + 0.0
    memcpy(&bits, &x, sizeof(bits))
    return ~bits if bits >> 63 else bits | (<uint64_t>1 << 63)


cdef uint64_t smallest(
    uint64_t* values, int64_t count, int64_t rank, int64_t* below, Watch* watch
) noexcept nogil:
    """Return the value of a rank, from 0; count the values below it. Overwrites `values`.

    Each round sorts by the highest bits in which the values differ and keeps the one bucket that
    holds the rank: linear time for any input, at most six rounds. Where it was stopped, the result
    means nothing.
    """
    cdef int64_t[BUCKETS] sizes
    cdef uint64_t differing
    cdef int64_t first, j, kept, bucket
    cdef int shift
    below[0] = 0
    while True:
        differing = 0
        first = 0
        while first < count:
            if stopped(watch):
                return 0
            for j in range(first, min(first + NUMBERS, count)):
                differing |= values[j] ^ values[0]
            first += NUMBERS
        if differing == 0:
            return values[0]
        shift = 0
        while differing >> shift >= BUCKETS:
            shift += 1
        memset(sizes, 0, sizeof(sizes))
        for j in range(count):
            if stopped_at(watch, j):
                return 0
            sizes[(values[j] >> shift) & (BUCKETS - 1)] += 1
        bucket = 0
        while rank >= sizes[bucket]:
            rank -= sizes[bucket]
            below[0] += sizes[bucket]
            bucket += 1
        kept = 0
        for j in range(count):
            if stopped_at(watch, j):
                return 0
            if <int64_t>((values[j] >> shift) & (BUCKETS - 1)) == bucket:
                values[kept] = values[j]
                kept += 1
        count = kept


cdef void mark(
    const double* score, const int64_t* ids, int64_t m, int64_t k,  # IN
    uint64_t* scratch, uint8_t* low,  # OUT
    Watch* watch  # INOUT
) noexcept nogil:
    """Mark the k rows that are smallest by (score, id, position), for 0 < k < m."""
    cdef int64_t i, below, ties = 0
    cdef uint64_t last, last_id = 0
    for i in prange(m, schedule="static", use_threads_if=m > WORTH):
        scratch[i] = in_order(score[i])
    if stopped(watch):
        return
    last = smallest(scratch, m, k - 1, &below, watch)
    k -= below  # of those with the last score
    for i in range(m):
        if stopped_at(watch, i):
            return
        if in_order(score[i]) == last:
            scratch[ties] = <uint64_t>ids[i]
            ties += 1
    last_id = smallest(scratch, ties, k - 1, &below, watch)
    k -= below  # of those with the last score and id
    for i in range(m):
        if stopped_at(watch, i):
            return
        low[i] = in_order(score[i]) < last
        if in_order(score[i]) == last:
            low[i] = <uint64_t>ids[i] < last_id
            if <uint64_t>ids[i] == last_id and k > 0:
                low[i] = 1
                k -= 1


def select_stable(
    const double[::1] score, const int64_t[::1] ids, int64_t k, uint64_t[::1] scratch,
    uint8_t[::1] low
):
    cdef int64_t m = score.shape[0]
    cdef Watch watch = new_watch()
    if m == 0:
        return
    if k == 0 or k == m:
        memset(&low[0], k > 0, <size_t>m)
        return
    with nogil:
        mark(&score[0], &ids[0], m, k, &scratch[0], &low[0], &watch)  # V1:20
    raise_if_stopped(&watch)
