"""Reads of pieces of a file, a strided share of them in each of several threads.

Arguments were checked by direct_reads.py. A thread waits for storage without Python's lock, so
many reads are under way although few threads compute.
"""

from libc.errno cimport EINTR, errno
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

cdef extern from *:
    """
    #include <errno.h>
    #include <stdint.h>
    #ifdef _WIN32
    static int64_t gnn_read_at(int file, void* buffer, size_t count, int64_t at)
    {
        errno = ENOSYS;  /* Python has no os.pread there either */
        return -1;
    }
    #else
    #include <unistd.h>
    #define gnn_read_at pread
    #endif
    """
    int64_t read_at "gnn_read_at"(int file, void* buffer, size_t count, int64_t at) nogil

cdef enum:
    PAGE = 4096


def read_pieces(
    int file,  # IN
    int64_t offset,  # IN
    const int64_t[::1] rows,  # IN
    const int64_t[::1] slots,  # IN
    const int64_t[::1] begin,  # IN
    const int64_t[::1] end,  # IN
    const int64_t[::1] first,  # IN
    uint8_t[:, ::1] cache,  # INOUT
    uint8_t[::1] buffer,  # OUT
    int64_t thread,  # IN
    int64_t threads,  # IN
    int64_t[::1] state  # INOUT
):
    """Read pieces `thread`, `thread + threads`, .. and copy their rows to their slots.

    The first error of this thread is written to `state`: errno, or -1 at the end of the file; the
    byte where the piece begins; and the byte up to which it was needed. Then the thread stops.
    """
    cdef int64_t p, i, size = cache.shape[1], got, needed
    with nogil:
        p = thread
        while p < begin.shape[0]:
            needed = offset + (rows[first[p + 1] - 1] + 1) * size - begin[p]
            got = read_whole(file, &buffer[0], end[p] - begin[p], begin[p], needed)
            if got < needed:
                state[1] = begin[p]
                state[2] = begin[p] + needed
                state[0] = -1 if got >= 0 else -got
                break
            for i in range(first[p], first[p + 1]):
                memcpy(
                    &cache[slots[i], 0], &buffer[offset + rows[i] * size - begin[p]], <size_t>size
                )
            p += threads


cdef int64_t read_whole(
    int file, uint8_t* buffer, int64_t count, int64_t begin, int64_t needed
) noexcept nogil:
    """Read until `needed` bytes are there; return how many are, or -errno."""
    cdef int64_t done = 0, at, got
    while done < needed:
        at = done - done % PAGE  # a direct read cannot go on from within a page
        got = read_at(file, buffer + at, <size_t>(count - at), begin + at)
        if got < 0:
            if errno == EINTR:
                continue
            return -errno
        if at + got <= done:  # the end of the file
            break
        done = at + got
    return done
