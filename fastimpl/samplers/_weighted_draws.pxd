"""Draws of one row by weight, for _row_draws.pyx: refimpl/samplers/weighted_draws.py.

Nothing is written behind what was counted, whatever a table holds.
"""

from libc.math cimport INFINITY, nextafter
from libc.stdint cimport int32_t, int64_t, uint64_t

from fastimpl._graph cimport prefetch
from fastimpl._streams cimport FEW, below, lowest_bit, uniform
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


cdef inline int64_t drawn_ahead(const Draws* self, int64_t n, int64_t f) noexcept nogil:
    """How many draws of a row are made ahead: more than f where some will come again."""
    return min(f if self.replace or n > 64 else f + f // 2 + 3, <int64_t>FEW)


cdef inline void fetch(const Draws* self, int64_t i, Scratch* own) noexcept nogil:
    """Have what the first draws of a row read on its way: the reads wait for memory together."""
    cdef int64_t start = self.spans[2 * i], n = self.spans[2 * i + 1] - start, j, c
    cdef int64_t f = self.bounds[i + 1] - self.bounds[i], count = drawn_ahead(self, n, f)
    cdef int64_t* places = own.places + i % AHEAD * FEW
    if n <= LONG * f and not self.replace:
        for j in range(start, start + n, 8):
            prefetch(self.weights + j)
        return
    places_of(self.keys[i], count, n, places, own.shares + i % AHEAD * FEW)
    for c in range(count):
        prefetch(self.prob + start + places[c])
        prefetch(self.alias + start + places[c])


cdef inline void draw_weighted(Draws* self, int64_t i, Scratch* own, int64_t* where) noexcept nogil:
    """Write what a row draws by weight: at least one of its entries has one."""
    cdef int64_t row = self.rows[i], start = self.spans[2 * i]
    cdef int64_t n = self.spans[2 * i + 1] - start, f = self.bounds[i + 1] - self.bounds[i]
    cdef bint whole = start == self.indptr[row] and n == self.indptr[row + 1] - start
    cdef int64_t j, found = 0
    cdef bint ascending = n <= 64
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
        found = by_draws(self, i, own, where) if n > 64 else by_few_draws(self, i, own, where)
    if found < f:
        ascending = by_race(self, i, found, own.values, where) and found == 0
    if not ascending:
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
    cdef int64_t start = self.spans[2 * i], n = self.spans[2 * i + 1] - start, j, other
    cdef double share
    if c < drawn_ahead(self, n, self.bounds[i + 1] - self.bounds[i]):
        j, share = own.places[i % AHEAD * FEW + c], own.shares[i % AHEAD * FEW + c]
    else:
        j = below(self.keys[i], 2 * <uint64_t>c, n)
        share = uniform(self.keys[i], 2 * <uint64_t>c + 1)
    other = self.alias[start + j] - j
    return j + (other & -<int64_t>(not share < self.prob[start + j]))


cdef inline int64_t by_draws(
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


cdef inline int64_t by_few_draws(
    const Draws* self, int64_t i, const Scratch* own, int64_t* where
) noexcept nogil:
    """The same for a row of at most 64 entries, which are a word; those that were found ascend."""
    cdef int64_t start = self.spans[2 * i], n = self.spans[2 * i + 1] - start, j, c
    cdef int64_t f = self.bounds[i + 1] - self.bounds[i], found = 0
    cdef uint64_t word = 0, bit
    for c in range(2 * f + 8):
        j = by_alias(self, i, c, own)
        if j < 0 or j >= n:
            continue
        bit = <uint64_t>1 << j
        found += not word & bit
        word |= bit
        if found == f:
            break
    for c in range(found):
        where[c] = start + lowest_bit(word)
        word &= word - 1
    return found


cdef inline void by_inversion(Draws* self, int64_t i, double* sums, int64_t* where) noexcept nogil:
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


cdef inline void take_all(
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


cdef inline bint by_race(
    Draws* self, int64_t i, int64_t found, double* numbers, int64_t* where
) noexcept nogil:
    """Complete a row with the smallest numbers of Efraimidis and Spirakis; say if they ascend."""
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
            return True
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
    return False


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
