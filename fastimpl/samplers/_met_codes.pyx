"""Places of codes by a hash table. Arguments were checked by relabelling.py."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from fastimpl._graph cimport prefetch
from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped_at
from fastimpl._memory cimport allocate_zeros, give_back
from fastimpl._streams cimport mix

cdef enum:
    AHEAD = 16  # codes between the one that is looked up and the one whose slot is fetched

# A hash table of places in `codes`, with linear probing.
ctypedef struct Table:
    int32_t* slots  # a place plus 1; 0 in an empty slot
    uint64_t mask
    int64_t* codes
    int64_t count


def relabel(
    const int64_t[::1] known, const int64_t[::1] met,  # IN
    int64_t[::1] codes, int32_t[::1] places  # OUT
):
    """Fill `codes` and `places`; return how many codes there are."""
    cdef int64_t total = known.shape[0] + met.shape[0], size = 16, i
    cdef Watch watch = new_watch()
    cdef Table table
    if total == 0:
        return 0
    while size < 2 * total:
        size *= 2
    table.slots = <int32_t*>allocate_zeros(<size_t>size, sizeof(int32_t))
    if table.slots == NULL:
        raise MemoryError()
    table.mask, table.codes, table.count = <uint64_t>size - 1, &codes[0], known.shape[0]
    with nogil:
        for i in range(known.shape[0]):
            codes[i] = known[i]
        for i in range(known.shape[0]):
            if stopped_at(&watch, i):
                break
            find(&table, known[i], i)
        for i in range(met.shape[0]):
            if stopped_at(&watch, i):
                break
            if i + AHEAD < met.shape[0]:
                prefetch(table.slots + (mix(<uint64_t>met[i + AHEAD]) & table.mask))
            places[i] = <int32_t>find(&table, met[i], table.count)
            if places[i] == table.count:
                table.codes[table.count] = met[i]
                table.count += 1
        give_back(table.slots)
    raise_if_stopped(&watch)
    return table.count


cdef inline int64_t find(Table* self, int64_t code, int64_t place) noexcept nogil:
    """Return the place of a code: where it is, or `place`, which it then has."""
    cdef uint64_t slot = mix(<uint64_t>code) & self.mask
    while self.slots[slot]:
        if self.codes[self.slots[slot] - 1] == code:
            return self.slots[slot] - 1
        slot = (slot + 1) & self.mask
    self.slots[slot] = <int32_t>(place + 1)
    return place
