"""The chances of LABOR-i, and what they keep; see refimpl/samplers/inclusion.py. Not in the papers.

Arguments were checked by neighbor.py.
"""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t

from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped_at
from fastimpl.samplers._labor cimport Variates, normal_quantile, variate_of


def keep(
    const int64_t[::1] bounds, const int32_t[::1] t, const int32_t[::1] src,  # IN
    int64_t fanout, object variates, const double[:, ::1] table,  # IN
    double[::1] pi, double[::1] inverse, double[::1] c,  # OUT
    double[::1] chances, uint8_t[::1] kept  # OUT
):
    """Fill the chances of all entries of rows of local ids `t`, and which of them stay."""
    now, later, cos, sin, exact, rounds = variates
    cdef Variates shared = Variates(now, later, cos, sin, exact, &table[0, 0])
    cdef int64_t i, j, n = bounds.shape[0] - 1, left
    cdef Watch watch = new_watch()
    pi[:] = 1
    for left in range(rounds, -1, -1):
        with nogil:
            for i in range(pi.shape[0]):
                inverse[i] = 1 / pi[i]
            for i in prange(n, schedule="dynamic", chunksize=64):
                if not stopped_at(&watch, i):
                    c[i] = row_scale(&inverse[0], &t[0], bounds[i], bounds[i + 1], fanout)
        raise_if_stopped(&watch)
        if left:
            times_greatest(bounds, t, c, inverse, pi)
    for i in prange(n, nogil=True, schedule="dynamic", chunksize=64):
        if stopped_at(&watch, i):
            continue
        for j in range(bounds[i], bounds[i + 1]):
            chances[j] = min(c[i] * pi[t[j]], 1)
            kept[j] = chances[j] >= 1 or is_below(&shared, src[t[j]], chances[j])
    raise_if_stopped(&watch)


cdef void times_greatest(
    const int64_t[::1] bounds, const int32_t[::1] t, const double[::1] c,  # IN
    double[::1] greatest,  # OUT
    double[::1] pi  # INOUT
) noexcept:
    """Multiply each source's number by the greatest number of its rows."""
    cdef int64_t i, j
    greatest[:] = 0
    with nogil:
        for i in range(bounds.shape[0] - 1):
            for j in range(bounds[i], bounds[i + 1]):
                greatest[t[j]] = max(greatest[t[j]], c[i])
        for i in range(pi.shape[0]):
            pi[i] *= greatest[i]


cdef double row_scale(
    const double* inverse, const int32_t* t, int64_t start, int64_t end, int64_t fanout
) noexcept nogil:
    """Return c_s of a row; entries with `inverse` below the last c_s are certain."""
    cdef int64_t d = end - start, j, certain = 0, found
    cdef double c = 0, total
    if d <= fanout:
        return 1
    while True:
        total = 0
        for j in range(start, end):
            if inverse[t[j]] >= c:
                total += inverse[t[j]]
        c = total / (<double>d * <double>d / <double>fanout - <double>certain)
        found = 0
        for j in range(start, end):
            found += inverse[t[j]] < c
        if found <= certain or found == d:
            return c
        certain = found


cdef inline bint is_below(const Variates* shared, int32_t node, double chance) noexcept nogil:
    """Is the variate of a node below its chance?"""
    if shared.sin != 0:
        chance = normal_quantile(shared.table, chance)
    return variate_of(shared, node) < chance
