"""Draws of rows, uniform or weighted. Arguments were checked by row_draws.py.

A first pass counts what each row draws, a second pass draws. Nothing is written behind what was
counted, whatever a table holds.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport INFINITY, nextafter
from libc.stdint cimport int32_t, int64_t, uint64_t

from fastimpl._graph cimport prefetch
from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped
from fastimpl._memory cimport allocate_zeros, give_back
from fastimpl._streams cimport FEW, below, floyd_few, floyd_many, uniform
from fastimpl._types cimport gnn_max_threads, ids_of, numbers_of, offsets_of
from fastimpl.samplers._labor cimport sort_places

cdef extern from "fastimpl/samplers/_race.h":
    void race "gnn_race"(
        uint64_t key, uint64_t c, const double* weights, int64_t count, const double* series,
        double* numbers
    ) noexcept nogil
    void count_below "gnn_ranks"(
        const double* numbers, int64_t count, int64_t* ranks
    ) noexcept nogil
    void count_before "gnn_order"(
        const int64_t* places, int64_t count, int64_t* ranks
    ) noexcept nogil
    void places_of "gnn_places"(
        uint64_t key, int64_t count, int64_t n, int64_t* places, double* shares
    ) noexcept nogil

cdef enum:
    AHEAD = 4  # rows between the one that draws and the one whose memory is fetched
    ROWS = 64  # that a thread takes at a time
    MANY = 32  # parts from which threads are worth their start
    LONG = 2  # rows with more entries than this times the fan-out are drawn from, not scanned

# What all rows have in common; pointers into arrays that Python holds.
ctypedef struct Draws:
    const int64_t* indptr
    const int32_t* rows
    const uint64_t* keys
    const double* weights
    const double* prob
    const int32_t* alias
    const int64_t* times
    const int64_t* until
    int64_t count
    int64_t fanout
    bint replace
    bint last
    int64_t* bounds  # count + 1
    int64_t* spans  # where the entries that a row may draw begin and end
    int64_t* entries
    const double* series  # of the logarithm

# The memory of a thread.
ctypedef struct Scratch:
    uint64_t* bits  # a set of places in a row, empty between two rows
    double* values
    int64_t* places  # of the first FEW draws of AHEAD rows, and their shares
    double* shares


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


cdef inline void fetch(const Draws* self, int64_t i, Scratch* own) noexcept nogil:
    """Have what the first draws of a row read on its way: the reads wait for memory together."""
    cdef int64_t start = self.spans[2 * i], n = self.spans[2 * i + 1] - start, j, c
    cdef int64_t f = self.bounds[i + 1] - self.bounds[i], count = min(f, <int64_t>FEW)
    cdef int64_t* places = own.places + i % AHEAD * FEW
    if n <= LONG * f and not self.replace:
        for j in range(start, start + n, 8):
            prefetch(self.weights + j)
        return
    places_of(self.keys[i], count, n, places, own.shares + i % AHEAD * FEW)
    for c in range(count):
        prefetch(self.prob + start + places[c])
        prefetch(self.alias + start + places[c])


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


cdef void draw_weighted(Draws* self, int64_t i, Scratch* own, int64_t* where) noexcept nogil:
    """Write what a row draws by weight: at least one of its entries has one."""
    cdef int64_t row = self.rows[i], start = self.spans[2 * i]
    cdef int64_t n = self.spans[2 * i + 1] - start, f = self.bounds[i + 1] - self.bounds[i]
    cdef bint whole = start == self.indptr[row] and n == self.indptr[row + 1] - start
    cdef int64_t j, found = 0
    if self.replace:
        if whole:
            for j in range(f):
                where[j] = start + by_alias(self, i, j, own)
        else:
            by_inversion(self, i, own.values, where)
        return
    if f < self.fanout or f == n:  # no more have a weight
        take_all(self.weights + start, n, f, start, where)
        return
    if whole and n > LONG * f:
        found = by_draws(self, i, own, where)
    if found < f:
        by_race(self, i, found, own.values, where)
    sort_few(own.values, where, f)


cdef inline void sort_few(double* values, int64_t* where, int64_t count) noexcept nogil:
    """Sort places that differ; a few by how many are before each, which takes no branch."""
    cdef int64_t[FEW] ranks, before
    cdef int64_t j
    if count > FEW:
        sort_places(values, where, count)
        return
    count_before(where, count, ranks)
    for j in range(count):
        before[j] = where[j]
    for j in range(count):
        where[ranks[j]] = before[j]


cdef inline int64_t by_alias(
    const Draws* self, int64_t i, int64_t c, const Scratch* own
) noexcept nogil:
    """Draw c of a row: its place there, or a number that is none if the table is damaged."""
    cdef int64_t start = self.spans[2 * i], j, other
    cdef double share
    if c < FEW and c < self.bounds[i + 1] - self.bounds[i]:
        j, share = own.places[i % AHEAD * FEW + c], own.shares[i % AHEAD * FEW + c]
    else:
        j = below(self.keys[i], 2 * <uint64_t>c, self.spans[2 * i + 1] - start)
        share = uniform(self.keys[i], 2 * <uint64_t>c + 1)
    other = self.alias[start + j] - j
    return j + (other & -<int64_t>(not share < self.prob[start + j]))


cdef int64_t by_draws(
    const Draws* self, int64_t i, Scratch* own, int64_t* where
) noexcept nogil:
    """Draw until enough entries differ, or for long enough; return how many were found."""
    cdef int64_t start = self.spans[2 * i], n = self.spans[2 * i + 1] - start, j, c
    cdef int64_t f = self.bounds[i + 1] - self.bounds[i], found = 0
    cdef uint64_t* bits = own.bits
    for c in range(2 * f + 8):
        j = by_alias(self, i, c, own)
        if j < 0 or j >= n or bits[j >> 6] >> (j & 63) & 1:
            continue
        bits[j >> 6] |= <uint64_t>1 << (j & 63)
        where[found] = start + j
        found += 1
        if found == f:
            break
    for c in range(found):
        j = where[c] - start
        bits[j >> 6] &= ~(<uint64_t>1 << (j & 63))
    return found


cdef void by_inversion(Draws* self, int64_t i, double* sums, int64_t* where) noexcept nogil:
    """Draw from a part of a row, by its running sums."""
    cdef int64_t start = self.spans[2 * i], n = self.spans[2 * i + 1] - start, j
    cdef int64_t f = self.bounds[i + 1] - self.bounds[i]
    cdef double total = 0
    for j in range(n):
        total += self.weights[start + j]
        sums[j] = total
    for j in range(f):
        where[j] = start + above(sums, n, uniform(self.keys[i], <uint64_t>j) * total)


cdef inline int64_t above(const double* sums, int64_t n, double x) noexcept nogil:
    """The first of n sums above x, or where the last sum is reached."""
    cdef int64_t low = 0, length = n, half
    if not x < sums[n - 1]:
        x = nextafter(sums[n - 1], 0)
    while length > 0:
        half = length // 2
        if sums[low + half] > x:
            length = half
        else:
            low += half + 1
            length -= half + 1
    return low if low < n else n - 1


cdef void take_all(
    const double* weights, int64_t n, int64_t f, int64_t start, int64_t* where
) noexcept nogil:
    """Write the f entries that have a weight."""
    cdef int64_t j, found = 0
    for j in range(n):
        if weights[j] > 0 and found < f:
            where[found] = start + j
            found += 1
    for j in range(found, f):  # another thread has changed the weights
        where[j] = start


cdef void by_race(
    Draws* self, int64_t i, int64_t found, double* numbers, int64_t* where
) noexcept nogil:
    """Complete a row with the smallest numbers of Efraimidis and Spirakis."""
    cdef int64_t start = self.spans[2 * i], n = self.spans[2 * i + 1] - start, j, held = 0
    cdef int64_t f = self.bounds[i + 1] - self.bounds[i], want = f - found
    cdef int64_t[FEW] ranks
    cdef int64_t[FEW + 1] chosen
    cdef int64_t* places = where + found
    race(
        self.keys[i], 2 * <uint64_t>(2 * f + 8), self.weights + start, n, self.series, numbers
    )
    for j in range(found):
        numbers[where[j] - start] = INFINITY
    if n <= FEW:
        count_below(numbers, n, ranks)
        for j in range(n):
            chosen[held] = start + j
            held += ranks[j] < want
        if held == want:  # more where numbers are equal, or a weight was changed meanwhile
            for j in range(want):
                places[j] = chosen[j]
            return
    held = 0
    for j in range(n):  # a heap of places, which has the largest number on top
        if not numbers[j] < INFINITY:
            continue
        if held < want:
            places[held] = start + j
            held += 1
            if held == want:
                heap_of(numbers, start, places, want)
        elif numbers[j] < numbers[places[0] - start]:
            lower(numbers, start, places, 0, want, start + j)
    for j in range(held, want):  # another thread has changed the weights
        places[j] = start


cdef inline void heap_of(
    const double* numbers, int64_t start, int64_t* places, int64_t count
) noexcept nogil:
    cdef int64_t i
    for i in range(count // 2 - 1, -1, -1):
        lower(numbers, start, places, i, count, places[i])


cdef inline void lower(
    const double* numbers, int64_t start, int64_t* places, int64_t i, int64_t count, int64_t place
) noexcept nogil:
    """Put a place into a heap at i: above are larger numbers, of equal ones the later place."""
    cdef int64_t child = 2 * i + 1
    while child < count:
        if child + 1 < count and less(numbers, start, places[child], places[child + 1]):
            child += 1
        if less(numbers, start, places[child], place):
            break
        places[i] = places[child]
        i, child = child, 2 * child + 1
    places[i] = place


cdef inline bint less(
    const double* numbers, int64_t start, int64_t one, int64_t other
) noexcept nogil:
    cdef double x = numbers[one - start], y = numbers[other - start]
    return x < y or (x == y and one < other)
