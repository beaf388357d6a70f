"""Reads of pieces of a file: in a queue of the system's, or a strided share in each thread.

Arguments were checked by direct_reads.py. A thread waits for storage without Python's lock, so
many reads are under way although few threads compute.
"""

from libc.errno cimport EINTR, errno
from libc.stdint cimport int64_t, uint8_t, uint64_t
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

cdef extern from "fastimpl/loader/_queue.h":
    ctypedef struct request "gnn_request":
        pass
    ctypedef struct answer "gnn_answer":
        pass
    uint64_t new_queue "gnn_open_queue"(int64_t depth) nogil
    void ask "gnn_ask"(
        request* one, int file, void* buffer, int64_t count, int64_t at, int64_t place
    ) nogil
    int64_t submit "gnn_submit"(uint64_t queue, request* requests, int64_t count) nogil
    int64_t wait "gnn_answers"(uint64_t queue, answer* answers, int64_t least, int64_t most) nogil
    int64_t place_of "gnn_place"(const answer* one) nogil
    int64_t result_of "gnn_result"(const answer* one) nogil

cdef enum:
    PAGE = 4096
    BATCH = 64  # reads that are asked for, or answered, together


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
    cdef int64_t p, size = cache.shape[1]
    with nogil:
        p = thread
        while p < begin.shape[0]:
            if not fill(
                file, offset, &rows[0], &slots[0], &begin[0], &end[0], &first[0],
                size, p, 0, &cache[0, 0], &buffer[0], &state[0]
            ):
                break
            p += threads


def open_queue(int64_t depth):
    """Return a queue of reads, which lives as long as the process; 0 where there is none."""
    return new_queue(depth)


def read_queued(
    uint64_t queue,  # IN
    int file,  # IN
    int64_t offset,  # IN
    const int64_t[::1] rows,  # IN
    const int64_t[::1] slots,  # IN
    const int64_t[::1] begin,  # IN
    const int64_t[::1] end,  # IN
    const int64_t[::1] first,  # IN
    uint8_t[:, ::1] cache,  # INOUT
    uint8_t[:, ::1] buffers,  # OUT
    int64_t[:, ::1] places,  # OUT
    int64_t[::1] state  # INOUT
):
    """Read all pieces, as many under way as there are buffers, and copy their rows to their slots.

    `places` has the places of buffers that are free, and the piece in each place. The first error
    in the file is written to `state`, as `read_pieces` does.
    """
    cdef int64_t size = cache.shape[1], free = buffers.shape[0], depth = free
    cdef int64_t p = 0, k, taken, asked, under_way = 0, place
    cdef request requests[BATCH]
    cdef answer answers[BATCH]
    with nogil:
        for k in range(depth):
            places[0, k] = k
        while under_way or (p < begin.shape[0] and not state[0]):
            asked = 0
            while asked < BATCH and free and p < begin.shape[0] and not state[0]:
                free -= 1
                place = places[0, free]
                places[1, place] = p
                ask(&requests[asked], file, &buffers[place, 0], end[p] - begin[p], begin[p], place)
                asked += 1
                p += 1
            taken = submit(queue, requests, asked) if asked else 0
            under_way += taken
            for k in range(p - asked + taken, p):  # the queue did not take them: in turn
                place = places[0, free]
                free += 1
                fill(
                    file, offset, &rows[0], &slots[0], &begin[0], &end[0], &first[0],
                    size, k, 0, &cache[0, 0], &buffers[place, 0], &state[0]
                )
            if not under_way or (asked == BATCH and free):
                continue
            taken = wait(queue, answers, min(under_way, max(depth // 4, 1), <int64_t>BATCH), BATCH)
            for k in range(taken):
                place = place_of(&answers[k])
                under_way -= 1
                fill(
                    file, offset, &rows[0], &slots[0], &begin[0], &end[0], &first[0],
                    size, places[1, place], result_of(&answers[k]),
                    &cache[0, 0], &buffers[place, 0], &state[0]
                )
                places[0, free] = place
                free += 1


cdef bint fill(
    int file, int64_t offset, const int64_t* rows, const int64_t* slots,  # IN
    const int64_t* begin, const int64_t* end, const int64_t* first,  # IN
    int64_t size, int64_t p, int64_t got,  # IN
    uint8_t* cache, uint8_t* buffer, int64_t* state  # INOUT
) noexcept nogil:
    """Copy the rows of piece p, `got` bytes of which were read; read it if these are too few.

    Return False, and write the error to `state` if it has none that is nearer to the begin.
    """
    cdef int64_t i, needed = offset + (rows[first[p + 1] - 1] + 1) * size - begin[p]
    if got < needed:
        got = read_whole(file, buffer, end[p] - begin[p], begin[p], needed)
    if got < needed:
        if not state[0] or begin[p] < state[1]:
            state[1] = begin[p]
            state[2] = begin[p] + needed
            state[0] = -1 if got >= 0 else -got
        return False
    for i in range(first[p], first[p + 1]):
        memcpy(
            cache + slots[i] * size, buffer + offset + rows[i] * size - begin[p], <size_t>size
        )
    return True


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
