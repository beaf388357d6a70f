"""The variates of refimpl/samplers/labor.py, by which nodes are chosen. Not in the papers.

The quantiles are those of refimpl/samplers/normal_quantiles.py, from its table.
"""

from libc.math cimport copysign, fabs, frexp, sqrt
from libc.stdint cimport int32_t, int64_t, uint64_t

from fastimpl._streams cimport uniform

cdef enum:
    TERMS = 8  # of a polynomial of the table

# The variates of a hop, as in the reference; without a table there are none.
ctypedef struct Variates:
    uint64_t now
    uint64_t later
    double cos
    double sin
    bint exact
    const double* table


cdef inline double horner(const double* coefficients, int terms, double x) noexcept nogil:
    cdef double y = coefficients[terms - 1]
    cdef int i
    for i in range(terms - 2, -1, -1):
        y = y * x + coefficients[i]
    return y


cdef inline double logarithm(const double* table, double x) noexcept nogil:
    cdef int e
    cdef double s, m = frexp(x, &e)
    if m < 0.7071067811865476:
        m, e = 2 * m, e - 1
    s = (m - 1) / (m + 1)
    return 2 * s * horner(table + 6 * TERMS, 2 * TERMS, s * s) + e * 0.6931471805599453


cdef inline double normal_quantile(const double* table, double p) noexcept nogil:
    cdef double q, s
    if p < 5.551115123125783e-17:  # 2**-54
        p = 5.551115123125783e-17
    q = p - 0.5
    if fabs(q) <= 0.425:
        s = 0.180625 - q * q
        return q * (horner(table, TERMS, s) / horner(table + TERMS, TERMS, s))
    s = sqrt(-logarithm(table, min(p, 1 - p)))
    if s > 5:
        s, table = s - 5, table + 4 * TERMS
    else:
        s, table = s - 1.6, table + 2 * TERMS
    return copysign(horner(table, TERMS, s) / horner(table + TERMS, TERMS, s), q)


cdef inline double variate_of(const Variates* self, int32_t node) noexcept nogil:
    """What orders a node as its r_t does."""
    cdef double drawn = uniform(self.now, <uint64_t>node)
    if self.sin == 0:
        return drawn
    return self.cos * normal_quantile(self.table, drawn) + self.sin * normal_quantile(
        self.table, uniform(self.later, <uint64_t>node)
    )


cdef inline int64_t pick_below(
    const Variates* self, const int32_t* row, int64_t degree, int64_t fanout, int64_t first,
    int64_t* where
) noexcept nogil:
    """Return how many of a row are below its bound; write where, each plus `first`, if asked to."""
    cdef double bound = <double>fanout / <double>degree
    cdef int64_t j, count = 0
    if self.sin != 0:
        bound = normal_quantile(self.table, bound)
    for j in range(degree):
        if variate_of(self, row[j]) < bound:
            if where != NULL:
                where[count] = first + j
            count += 1
    return count


cdef inline void pick_smallest(
    const Variates* self,  # IN
    const int32_t* row, int64_t degree, int64_t fanout, int64_t first,  # IN
    double* values, int64_t* where  # OUT
) noexcept nogil:
    """Write where the `fanout` smallest of a row are, ascending; of equal ones the first.

    The ones found are a heap, the largest at its top; `values` has room for as many.
    """
    cdef int64_t j
    cdef double value
    for j in range(fanout):
        values[j], where[j] = variate_of(self, row[j]), first + j
    make_heap(values, where, fanout)
    for j in range(fanout, degree):
        value = variate_of(self, row[j])
        if value < values[0]:
            sink(values, where, 0, fanout, value, first + j)
    sort_places(values, where, fanout)


cdef inline void sort_places(double* values, int64_t* where, int64_t count) noexcept nogil:
    """Sort some places: a few one by one, more by a heap, whose keys are in `values`."""
    cdef int64_t i, last, place
    cdef double value
    if count <= 16:
        for i in range(1, count):
            place, last = where[i], i
            while last > 0 and where[last - 1] > place:
                where[last] = where[last - 1]
                last -= 1
            where[last] = place
        return
    for i in range(count):
        values[i] = <double>where[i]
    make_heap(values, where, count)
    for last in range(count - 1, 0, -1):
        value, place = values[last], where[last]
        values[last], where[last] = values[0], where[0]
        sink(values, where, 0, last, value, place)


cdef inline void make_heap(double* values, int64_t* where, int64_t count) noexcept nogil:
    cdef int64_t i
    for i in range(count // 2 - 1, -1, -1):
        sink(values, where, i, count, values[i], where[i])


cdef inline void sink(
    double* values, int64_t* where, int64_t i, int64_t count, double value, int64_t place
) noexcept nogil:
    """Put a value in place i of a heap, under which all is in order: the larger is above."""
    cdef int64_t child = 2 * i + 1
    while child < count:
        if child + 1 < count and less(values, where, child, values[child + 1], where[child + 1]):
            child += 1
        if less(values, where, child, value, place):
            break
        values[i], where[i] = values[child], where[child]
        i, child = child, 2 * child + 1
    values[i], where[i] = value, place


cdef inline bint less(
    const double* values, const int64_t* where, int64_t i, double value, int64_t place
) noexcept nogil:
    """Is place i below (value, place)?"""
    return values[i] < value or (values[i] == value and where[i] < place)
