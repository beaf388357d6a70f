"""Kernels of the cache. Arguments were checked by fastimpl/history/entries.py."""

from cython.parallel cimport parallel, prange
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from fastimpl._graph cimport prefetch
from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped_at
from fastimpl.history._slots cimport LINE, fetch as fetch_row, load, store

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #if defined(__SSE2__)
    #include <emmintrin.h>
    /* Copy whole lines past the caches: lines that are not read soon need not be fetched first. */
    static inline void gnn_stream(uint8_t* to, const uint8_t* from, size_t lines)
    {
        for (size_t k = 0; k < 64 * lines; k += 16)
            _mm_stream_si128((__m128i*)(to + k), _mm_loadu_si128((const __m128i*)(from + k)));
    }
    #define gnn_streamed() _mm_sfence()
    #else
    #define gnn_stream(to, from, lines) memcpy(to, from, 64 * (lines))
    #define gnn_streamed() ((void)0)
    #endif
    """
    void stream "gnn_stream"(uint8_t* to, const uint8_t* from_, size_t lines) noexcept nogil
    void streamed "gnn_streamed"() noexcept nogil

cdef enum:
    AHEAD = 16  # entries between the one looked up and the one being fetched
    WORTH = 1 << 15  # entries below which a second thread costs more than it brings
    FOUND = 1 << 12  # the same for entries looked up, each of which waits for memory
    BYTES = 1 << 18  # the same for bytes copied
    NEXT = 4  # rows between the one copied and the one being fetched
    WRITTEN = 1 << 20  # bytes from which on entries are written past the caches
    JOINED = 1 << 22  # the same for rows of a layer, which are read soon


cdef inline bint goes_past(
    const uint8_t* to, int64_t count, size_t width, size_t least
) noexcept nogil:
    """Are rows worth writing past the caches, and does each of them fill whole lines there?"""
    return count * width >= least and width % LINE == 0 and <size_t>to % LINE == 0


def lookup(
    const int32_t[::1] slot_of, const int64_t[::1] back, const int32_t[::1] stamp,  # IN
    const int32_t[::1] ids, int64_t first_key, int64_t oldest,  # IN
    int32_t[::1] slots  # OUT
):
    """The slot of each node's valid entry, or -1. Two reads wait for memory, one for the other.

    Return whether all `ids` are in range. Another thread may change them.
    """
    cdef int64_t j, count = ids.shape[0], places = back.shape[0], n = slot_of.shape[0], outside = 0
    cdef int32_t s, node
    cdef Watch watch = new_watch()
    for j in prange(count, nogil=True, schedule="static", use_threads_if=count > FOUND):
        if stopped_at(&watch, j):
            continue
        if j + 2 * AHEAD < count:
            node = load(&ids[j + 2 * AHEAD])
            if 0 <= node < n:
                prefetch(&slot_of[node])
        if j + AHEAD < count:
            node = load(&ids[j + AHEAD])
            s = load(&slot_of[node]) if 0 <= node < n else -1
            if 0 <= s < places:
                prefetch(&back[s])
                prefetch(&stamp[s])
        node = load(&ids[j])
        s = load(&slot_of[node]) if 0 <= node < n else -1
        outside += not 0 <= node < n
        slots[j] = -1
        if 0 <= s < places and back[s] == first_key + node and stamp[s] >= oldest:  # V1:7
            slots[j] = s
    raise_if_stopped(&watch)
    return outside == 0


def gather(const uint8_t[:, ::1] rows, const int32_t[::1] at, uint8_t[:, ::1] out):
    """Some rows of a matrix, byte for byte: `cache_read`, line 13 of FreshGNN's Algorithm 1."""
    cdef int64_t j, count = at.shape[0]
    cdef size_t width = <size_t>rows.shape[1]
    cdef Watch watch = new_watch()
    for j in prange(count, nogil=True, schedule="static", use_threads_if=count * width > BYTES):
        if stopped_at(&watch, j):
            continue
        if j + NEXT < count:
            fetch_row(&rows[at[j + NEXT], 0], width)
        memcpy(&out[j, 0], &rows[at[j], 0], width)  # V1:13
    raise_if_stopped(&watch)


def join(
    const uint8_t[:, ::1] rows, const int32_t[::1] slots,  # IN
    const uint8_t[:, ::1] computed,  # IN
    int64_t[::1] at, uint8_t[:, ::1] out  # OUT
):
    """The same, with the next row of `computed`, row at[j], where slots[j] is -1.

    Return whether `slots` are in range and need all rows of `computed`; otherwise `out` means
    nothing. Another thread may change `slots`: a row that then has no source is zeros.
    """
    cdef int64_t j, count = slots.shape[0], missing = 0
    cdef int32_t s
    cdef bint good = True
    cdef const uint8_t* row
    cdef size_t width = <size_t>out.shape[1]
    cdef bint past
    cdef Watch watch = new_watch()
    if count == 0 or width == 0:
        return True
    past = goes_past(&out[0, 0], count, width, JOINED)
    with nogil:
        for j in range(count):
            if stopped_at(&watch, j):
                break
            s = load(&slots[j])
            good = good & (-1 <= s < rows.shape[0])
            at[j] = missing
            missing += s < 0
    raise_if_stopped(&watch)
    if not good or missing != computed.shape[0]:
        return False
    with nogil, parallel(use_threads_if=count * width > BYTES):
        for j in prange(count, schedule="static"):
            if stopped_at(&watch, j):
                continue
            if j + NEXT < count:
                s = load(&slots[j + NEXT])
                if 0 <= s < rows.shape[0]:
                    fetch_row(&rows[s, 0], width)
            s = load(&slots[j])
            if 0 <= s < rows.shape[0]:
                row = &rows[s, 0]  # V1:13
            elif at[j] < computed.shape[0]:
                row = &computed[at[j], 0]
            else:
                row = NULL
            if row == NULL:
                memset(&out[j, 0], 0, width)
            elif past:
                stream(&out[j, 0], row, width // LINE)
            else:
                memcpy(&out[j, 0], row, width)
        streamed()
    raise_if_stopped(&watch)
    return True


def fetch(
    const uint8_t[::1] features, const int32_t[::1] rank, const int32_t[::1] ids,  # IN
    int64_t held, int64_t most,  # IN
    uint8_t[::1] rows, uint8_t[::1] hit  # OUT
):
    """The rows of the ranks below `held`, from the end of `features`; zeros for the others."""
    cdef int64_t j, count = ids.shape[0], r
    cdef size_t width = <size_t>(rows.shape[0] // count) if count else 0
    cdef Watch watch = new_watch()
    for j in prange(count, nogil=True, schedule="static", use_threads_if=count * width > BYTES):
        if stopped_at(&watch, j):
            continue
        if j + AHEAD < count:
            prefetch(&rank[ids[j + AHEAD]])
        r = load(&rank[ids[j]])
        hit[j] = 0 <= r < held
        if width and hit[j]:
            memcpy(&rows[j * width], &features[(most - 1 - r) * width], width)  # V1:11
        elif width:
            memset(&rows[j * width], 0, width)
    raise_if_stopped(&watch)


def scatter(
    const uint8_t[:, ::1] values, const int64_t[::1] take, uint8_t[:, ::1] rows,
    const int32_t[::1] slots
):
    """Row j of the list, or row take[j], to slot slots[j]. Slots differ.

    Many rows go past the caches, because the next steps read others.
    """
    cdef int64_t j, source, count = slots.shape[0]
    cdef size_t width = <size_t>rows.shape[1]
    cdef bint taken = take is not None
    if count == 0 or width == 0:
        return
    cdef uint8_t* first = &rows[0, 0]
    cdef bint past = goes_past(first, count, width, WRITTEN)
    with nogil, parallel(use_threads_if=count * width > BYTES):
        for j in prange(count, schedule="static"):
            source = take[j] if taken else j
            if j + 1 < count:
                fetch_row(&values[take[j + 1] if taken else j + 1, 0], width)
            if past:
                stream(first + slots[j] * width, &values[source, 0], width // LINE)
            else:
                memcpy(first + slots[j] * width, &values[source, 0], width)
        streamed()


def enter(
    int32_t[::1] slot_of, int64_t[::1] back, int32_t[::1] stamp,  # INOUT
    const int32_t[::1] ids, const int32_t[::1] slots, int64_t first_key, int32_t i  # IN
):
    """Key, stamp and slot of each entry of the list.

    Slots differ, so only a node that stands in the list twice is written to by two threads: any
    may win, and then all are entered once more, in order.
    """
    cdef int64_t j, count = ids.shape[0], lost = 0
    for j in prange(count, nogil=True, schedule="static", use_threads_if=count > WORTH):
        back[slots[j]] = first_key + ids[j]
        stamp[slots[j]] = i
        store(&slot_of[ids[j]], slots[j])
    for j in prange(count, nogil=True, schedule="static", use_threads_if=count > WORTH):
        lost += slot_of[ids[j]] != slots[j]
    if lost:
        for j in range(count):
            slot_of[ids[j]] = slots[j]
