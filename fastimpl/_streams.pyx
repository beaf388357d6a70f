"""Kernels for the keyed generator. Arguments were checked by fastimpl/streams.py."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from fastimpl._graph cimport prefetch
from fastimpl._interrupts cimport NUMBERS, Watch, new_watch, raise_if_stopped, stopped, stopped_at
from fastimpl._memory cimport allocate, give_back

cdef extern from "fastimpl/_draws.h":
    void mix_all "gnn_mix_many"(
        uint64_t plus, const uint64_t* x, int64_t count, uint64_t* out
    ) noexcept nogil
    void uniform_all "gnn_uniform_many"(
        uint64_t k, const uint64_t* c, int64_t count, double* out
    ) noexcept nogil
    void below_all "gnn_below_many"(
        uint64_t k, const uint64_t* c, int64_t n, int64_t count, int64_t* out
    ) noexcept nogil

cdef enum:
    AHEAD = 16  # places between the one that is swapped and the one being fetched


def mix_one(uint64_t x):
    return mix(x)


def mix_many(const uint64_t[::1] x, uint64_t[::1] out):
    cdef int64_t first = 0, count = x.shape[0]
    cdef Watch watch = new_watch()
    with nogil:
        while first < count:
            if stopped(&watch):
                break
            mix_all(0, &x[first], min(NUMBERS, count - first), &out[first])
            first += NUMBERS
    raise_if_stopped(&watch)


def absorb_one(uint64_t k, uint64_t part):
    return absorb(k, part)


def absorb_many(uint64_t k, const uint64_t[::1] parts, uint64_t[::1] out):
    cdef int64_t first = 0, count = parts.shape[0]
    cdef Watch watch = new_watch()
    with nogil:
        while first < count:
            if stopped(&watch):
                break
            mix_all(k + GOLD, &parts[first], min(NUMBERS, count - first), &out[first])
            first += NUMBERS
    raise_if_stopped(&watch)


def uniform_one(uint64_t k, uint64_t c):
    return uniform(k, c)


def uniform_many(uint64_t k, const uint64_t[::1] c, double[::1] out):
    cdef int64_t first = 0, count = c.shape[0]
    cdef Watch watch = new_watch()
    with nogil:
        while first < count:
            if stopped(&watch):
                break
            uniform_all(k, &c[first], min(NUMBERS, count - first), &out[first])
            first += NUMBERS
    raise_if_stopped(&watch)


def below_one(uint64_t k, uint64_t c, int64_t n):
    return below(k, c, n)


def below_many(uint64_t k, const uint64_t[::1] c, int64_t n, int64_t[::1] out):
    cdef int64_t first = 0, count = c.shape[0]
    cdef Watch watch = new_watch()
    with nogil:
        while first < count:
            if stopped(&watch):
                break
            below_all(k, &c[first], n, min(NUMBERS, count - first), &out[first])
            first += NUMBERS
    raise_if_stopped(&watch)


cdef int64_t displaced_size(int64_t m) noexcept nogil:
    """Number of int32 that partial_shuffle needs beside its result: 2 per table entry."""
    cdef int64_t entries = 16
    while entries < 4 * m:
        entries *= 2
    return 2 * entries


cdef inline int64_t find(const int32_t* table, int64_t mask, int32_t position) noexcept nogil:
    """The entry of the open-addressing table that holds `position`, or where it would go."""
    cdef int64_t entry = <int64_t>(<uint64_t>position * GOLD >> 32) & mask
    while table[2 * entry] >= 0 and table[2 * entry] != position:
        entry = (entry + 1) & mask
    return entry


cdef void partial_shuffle(
    uint64_t k, uint64_t c, int64_t N, int64_t m,  # IN
    int32_t* picked, int32_t* displaced,  # OUT
    Watch* watch  # INOUT
) noexcept nogil:
    """Partial Fisher-Yates. `displaced` maps positions to values where they differ.

    A table of the displaced values alone stays in the L1 cache; the whole array would not. Where
    it was stopped, what was not picked is as it was.
    """
    cdef int64_t i, j, at_j, at_i
    cdef int64_t mask = displaced_size(m) // 2 - 1
    cdef int32_t value_i
    memset(displaced, 0xFF, <size_t>displaced_size(m) * sizeof(int32_t))
    for i in range(m):
        if stopped_at(watch, i):
            return
        j = i + below(k, c + <uint64_t>i, N - i)
        at_i = find(displaced, mask, <int32_t>i)
        value_i = displaced[2 * at_i + 1] if displaced[2 * at_i] >= 0 else <int32_t>i
        at_j = find(displaced, mask, <int32_t>j)
        picked[i] = displaced[2 * at_j + 1] if displaced[2 * at_j] >= 0 else <int32_t>j
        displaced[2 * at_j] = <int32_t>j
        displaced[2 * at_j + 1] = value_i


def pick_without_replacement(uint64_t k, uint64_t c, int64_t N, int32_t[::1] picked):
    cdef int64_t m = picked.shape[0]
    cdef int32_t* displaced
    cdef Watch watch = new_watch()
    if m == 0:
        return
    displaced = <int32_t*>allocate(<size_t>displaced_size(m) * sizeof(int32_t))
    if displaced == NULL:
        raise MemoryError()
    with nogil:
        partial_shuffle(k, c, N, m, &picked[0], displaced, &watch)
    give_back(displaced)
    raise_if_stopped(&watch)


def floyd(uint64_t k, int64_t n, int32_t[::1] chosen):
    """Fill `chosen`, ascending where it holds at most FEW; return whether it does."""
    cdef int64_t f = chosen.shape[0], c, i, at, mask
    cdef int64_t[FEW] where
    cdef int32_t* table
    cdef Watch watch = new_watch()
    if f <= FEW:
        floyd_few(k, n, f, 0, where)
        for i in range(f):
            chosen[i] = <int32_t>where[i]
        return True
    table = <int32_t*>allocate(<size_t>displaced_size(f) * sizeof(int32_t))
    if table == NULL:
        raise MemoryError()
    with nogil:
        memset(table, 0xFF, <size_t>displaced_size(f) * sizeof(int32_t))
        mask = displaced_size(f) // 2 - 1
        for c in range(f):
            if stopped_at(&watch, c):
                break
            chosen[c] = <int32_t>below(k, <uint64_t>c, n - f + c + 1)
            at = find(table, mask, chosen[c])
            if table[2 * at] >= 0:
                chosen[c] = <int32_t>(n - f + c)
                at = find(table, mask, chosen[c])
            table[2 * at] = chosen[c]
        give_back(table)
    raise_if_stopped(&watch)
    return False


def permute(uint64_t k, int32_t[::1] deck):
    """Shuffle `deck` in place; a draw can be computed before its turn, and its place fetched."""
    cdef int64_t n = deck.shape[0], i, j
    cdef int64_t[AHEAD] coming
    cdef Watch watch = new_watch()
    with nogil:
        for i in range(n + AHEAD):
            if stopped_at(&watch, i):
                break
            if i >= AHEAD:
                j = coming[i % AHEAD]
                deck[i - AHEAD], deck[j] = deck[j], deck[i - AHEAD]
            if i < n:
                j = i + below(k, <uint64_t>i, n - i)
                coming[i % AHEAD] = j
                prefetch(&deck[j])
    raise_if_stopped(&watch)
