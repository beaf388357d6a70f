"""The shares of one layer. Arguments were checked by hotness.py."""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t

from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped, stopped_at
from fastimpl._memory cimport allocate_zeros, give_back
from fastimpl._types cimport ids_of, offsets_of

cdef enum:
    ROWS = 512  # that a thread takes at a time
    FEW = 16384  # entries at most that are not worth a second thread


def split(
    const int64_t[::1] start, const int64_t[::1] end, const int32_t[::1] indices,
    const double[::1] charge, double[::1] result
):
    """Split each source's charge evenly among its consumers; fill `result` with their sums."""
    cdef int64_t n_dst = start.shape[0], n_src = charge.shape[0]
    cdef int64_t batch, batches = (n_dst + ROWS - 1) // ROWS
    cdef const int64_t* starts = offsets_of(start)
    cdef const int64_t* ends = offsets_of(end)
    cdef const int32_t* sources = ids_of(indices)
    cdef double* sums
    cdef double* portion
    cdef Watch watch = new_watch()
    if n_dst == 0:
        return
    portion = <double*>allocate_zeros(<size_t>n_src, sizeof(double))
    if portion == NULL:
        raise MemoryError()
    sums = &result[0]
    with nogil:
        divide(starts, ends, sources, n_dst, n_src, &charge[0], portion, &watch)
        for batch in prange(
            batches, schedule="dynamic", use_threads_if=indices.shape[0] > FEW
        ):
            if stopped(&watch):
                continue
            collect(
                starts, ends, sources, portion, sums, batch * ROWS, min((batch + 1) * ROWS, n_dst)
            )
        give_back(portion)
    raise_if_stopped(&watch)


cdef void divide(
    const int64_t* start, const int64_t* end, const int32_t* indices, int64_t n_dst,  # IN
    int64_t n_src, const double* charge,  # IN
    double* portion, Watch* watch  # INOUT
) noexcept nogil:
    """Count the consumers of each source, then turn the numbers into what each consumer gets."""
    cdef int64_t i, j
    for i in range(n_dst):
        if stopped_at(watch, i):
            return
        portion[i] += 1
        for j in range(start[i], end[i]):
            portion[indices[j]] += 1
    for i in range(n_src):
        if stopped_at(watch, i):
            return
        portion[i] = charge[i] / max(portion[i], <double>1)


cdef void collect(
    const int64_t* start, const int64_t* end, const int32_t* indices, const double* portion,  # IN
    double* result,  # OUT
    int64_t first, int64_t last  # IN
) noexcept nogil:
    cdef int64_t i, j
    cdef double total
    for i in range(first, last):
        total = portion[i]
        for j in range(start[i], end[i]):
            total = total + portion[indices[j]]
        result[i] = total
