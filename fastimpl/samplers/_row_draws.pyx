"""Draws of rows, uniform or weighted. Arguments were checked by row_draws.py.

A first pass counts what each row draws, a second pass draws. Nothing is written behind what was
counted, whatever a table holds.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.stdint cimport int32_t, int64_t, uint64_t

from fastimpl._graph cimport prefetch
from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped
from fastimpl._memory cimport allocate_zeros, give_back
from fastimpl._streams cimport FEW, below, floyd_few, floyd_many
from fastimpl._types cimport gnn_max_threads, ids_of, numbers_of, offsets_of
from fastimpl.samplers._weighted_draws cimport AHEAD, Draws, Scratch, draw_weighted, fetch

cdef enum:
    ROWS = 64  # that a thread takes at a time
    MANY = 32  # parts from which threads are worth their start


cdef class RowJob:
    """The draws of one call: `count` fills the bounds, `draw` the entries."""

    cdef Draws draws
    cdef object held

    def __cinit__(
        self, const int64_t[::1] indptr, const int32_t[::1] rows, const uint64_t[::1] keys,  # IN
        const double[::1] weights, const double[::1] prob, const int32_t[::1] alias,  # IN
        const int64_t[::1] times,  # IN
        const int64_t[::1] until, int64_t fanout, int64_t most, bint replace, bint last,  # IN
        int64_t[::1] bounds, int64_t[:, ::1] spans  # OUT
    ):
        self.held = indptr, rows, keys, weights, prob, alias, times, until, bounds, spans
        self.draws.count = rows.shape[0]
        self.draws.fanout = fanout if replace or fanout < 0 else most
        self.draws.replace, self.draws.last = replace, last
        self.draws.indptr, self.draws.rows = offsets_of(indptr), ids_of(rows)
        self.draws.bounds = &bounds[0]
        if rows.shape[0]:
            self.draws.keys, self.draws.spans = &keys[0], &spans[0, 0]
        if weights is not None and weights.shape[0]:
            self.draws.weights = &weights[0]
            self.draws.prob, self.draws.alias = &prob[0], &alias[0]
        if until is not None:
            self.draws.times, self.draws.until = offsets_of(times), offsets_of(until)

    def count(self):
        """Find the entries that each row may draw, and how many it draws."""
        cdef int64_t i, part, parts = (self.draws.count + ROWS - 1) // ROWS
        cdef Draws* draws = &self.draws
        cdef Watch watch = new_watch()
        with nogil:
            for part in prange(parts, schedule="dynamic", use_threads_if=parts > MANY):
                if not stopped(&watch):
                    count_part(draws, part)
            draws.bounds[0] = 0
        raise_if_stopped(&watch)
        for i in range(draws.count):
            draws.bounds[i + 1] += draws.bounds[i]

    def draw(self, int64_t[::1] entries, int64_t max_degree, const double[:, ::1] table):
        """Fill the entries."""
        cdef int64_t part, parts = (self.draws.count + ROWS - 1) // ROWS
        cdef size_t words = <size_t>(max_degree + 63) // 64, most = <size_t>max_degree
        cdef int threads = gnn_max_threads()
        cdef Scratch room = Scratch(NULL, NULL, NULL, NULL)
        cdef Draws* draws = &self.draws
        cdef Watch watch = new_watch()
        draws.entries, draws.series = numbers_of(entries), &table[6, 0]
        try:
            if draws.fanout > FEW or draws.weights != NULL:
                room.bits = <uint64_t*>allocate_zeros(words * threads, sizeof(uint64_t))
                room.values = <double*>allocate_zeros(most * threads, sizeof(double))
                if room.bits == NULL or room.values == NULL:
                    raise MemoryError()
            with nogil, parallel(use_threads_if=parts > MANY):
                for part in prange(parts, schedule="dynamic"):
                    if not stopped(&watch):
                        draw_part(
                            draws, part, room.bits + threadid() * words,
                            room.values + threadid() * most,
                        )
            raise_if_stopped(&watch)
        finally:
            give_back(room.bits)
            give_back(room.values)


cdef void count_part(Draws* self, int64_t part) noexcept nogil:
    """Write the spans of some rows, and how many entries each row draws behind its bound."""
    cdef int64_t i, start, end, begin = part * ROWS, stop = min(begin + ROWS, self.count)
    for i in range(begin, stop):
        prefetch(self.indptr + self.rows[i])
    if self.until != NULL:
        for i in range(begin, stop):
            start, end = self.indptr[self.rows[i]], self.indptr[self.rows[i] + 1]
            prefetch(self.times + (start + end) // 2)
    for i in range(begin, stop):
        start, end = self.indptr[self.rows[i]], self.indptr[self.rows[i] + 1]
        if self.until != NULL:
            end = later(self.times, start, end, self.until[i])
        if self.last and 0 <= self.fanout < end - start:
            start = end - self.fanout
        self.spans[2 * i], self.spans[2 * i + 1] = start, end
        if self.weights != NULL and self.fanout >= 0:
            prefetch(self.weights + start)
    for i in range(begin, stop):
        self.bounds[i + 1] = drawn_of(self, self.spans[2 * i], self.spans[2 * i + 1])


cdef inline int64_t later(
    const int64_t* times, int64_t start, int64_t end, int64_t until
) noexcept nogil:
    """The first of some ascending entries that is later than `until`."""
    cdef int64_t middle
    while start < end:
        middle = (start + end) // 2
        if times[middle] > until:
            end = middle
        else:
            start = middle + 1
    return start


cdef inline int64_t drawn_of(const Draws* self, int64_t start, int64_t end) noexcept nogil:
    """How many entries a row draws."""
    cdef int64_t j, found = 0
    if self.fanout < 0 or end == start:
        return end - start
    if self.fanout == 0:
        return 0
    if self.weights == NULL:
        return self.fanout if self.replace else min(self.fanout, end - start)
    for j in range(start, end):
        found += self.weights[j] > 0
        if found == self.fanout or (self.replace and found):
            return self.fanout
    return found


cdef void draw_part(
    Draws* self, int64_t part, uint64_t* bits, double* values
) noexcept nogil:
    cdef int64_t i, begin = part * ROWS, stop = min(begin + ROWS, self.count)
    cdef int64_t[AHEAD * FEW] places
    cdef double[AHEAD * FEW] shares
    cdef Scratch own = Scratch(bits, values, &places[0], &shares[0])
    if self.weights != NULL and self.fanout >= 0:
        for i in range(begin, min(begin + AHEAD, stop)):
            fetch(self, i, &own)
    for i in range(begin, stop):
        draw_row(self, i, &own)
        if self.weights != NULL and self.fanout >= 0 and i + AHEAD < stop:
            fetch(self, i + AHEAD, &own)


cdef inline void draw_row(Draws* self, int64_t i, Scratch* own) noexcept nogil:
    """Write what a row draws."""
    cdef int64_t start = self.spans[2 * i], n = self.spans[2 * i + 1] - start
    cdef int64_t j, f = self.bounds[i + 1] - self.bounds[i]
    cdef int64_t* where = self.entries + self.bounds[i]
    cdef uint64_t key = self.keys[i]
    if f == 0:
        return
    if self.fanout >= 0 and self.weights != NULL:
        draw_weighted(self, i, own, where)
    elif self.fanout >= 0 and self.replace:
        for j in range(f):
            where[j] = start + below(key, <uint64_t>j, n)
    elif f == n:
        for j in range(n):
            where[j] = start + j
    elif f <= FEW:
        floyd_few(key, n, f, start, where)
    else:
        floyd_many(key, n, f, start, own.bits, where)
