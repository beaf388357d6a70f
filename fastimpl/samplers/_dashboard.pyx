"""The Dashboard of IPDPS'19: three slots an entry, each in an array of its own."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memmove, memset

from fastimpl.samplers._probes cimport (
    CHUNK,
    Probes,
    first_hit,
    no_vectors,
    occupy,
    start_probes,
    vacate,
)
from fastimpl.samplers._walker cimport FIRST, SECOND, THIRD, Walker, room, together, weight_of
from fastimpl.samplers._walking cimport walk

ctypedef struct Column:
    int64_t start
    int32_t member  # slot of the frontier, for `walk`; the paper finds the node in the entry
    int32_t live

ctypedef struct Board:
    int32_t* node  # -1: nobody's
    int32_t* offset
    int32_t* column
    int64_t capacity
    Column* IA
    int64_t s
    int64_t used  # IA[s].start
    int64_t valid
    Probes probes


cdef inline Board* board_of(Walker* walker) noexcept nogil:
    return <Board*>walker.buffers[FIRST].memory


cdef int allocate(Walker* walker, Board* board, int64_t capacity) noexcept nogil:
    """Have three arrays of `capacity` entries, what is there kept; new entries are nobody's."""
    cdef int64_t before = board.capacity, old = before + CHUNK, new = capacity + CHUNK
    cdef int32_t* DB = <int32_t*>room(walker, THIRD, <size_t>(3 * new) * sizeof(int32_t))
    if DB == NULL:
        return -1
    board.node, board.offset, board.column = DB, DB + new, DB + 2 * new
    memmove(board.column, DB + 2 * old, <size_t>before * sizeof(int32_t))
    memmove(board.offset, DB + old, <size_t>before * sizeof(int32_t))
    memset(board.node + before, 0xFF, <size_t>(capacity - before) * sizeof(int32_t))
    board.capacity = capacity
    walker.counts.capacity = capacity
    return 0


cdef inline void write_entries(
    Board* board, int64_t start, int64_t length, int32_t node, int32_t column, int width
) noexcept nogil:
    cdef int64_t k
    occupy(board.node + start, length, node, width)  # I3:13 I4:32
    if width == 0:
        for k in range(length):
            board.offset[start + k] = <int32_t>k
            board.column[start + k] = column
            no_vectors()
    else:
        for k in range((length + CHUNK - 1) // CHUNK * CHUNK):  # I4:30-31
            board.offset[start + k] = <int32_t>k  # I3:14 I4:33
            board.column[start + k] = column  # I3:15 I4:34
    if length:
        board.offset[start] = <int32_t>-length  # I3:14 I4:33


cdef int set_up(Walker* walker) noexcept nogil:
    cdef int64_t m = walker.options.m, i, weights = 0
    cdef int at_once = walker.options.at_once
    cdef Board* board = <Board*>room(walker, FIRST, sizeof(Board))
    if board == NULL:
        return -1
    start_probes(&board.probes, walker.probe)
    board.IA = <Column*>room(walker, SECOND, <size_t>(walker.options.n + 1) * sizeof(Column))
    if board.IA == NULL:
        return -1
    for i in range(m):  # I3:8
        board.IA[i] = Column(weights, <int32_t>i, 1)  # I3:9-10
        weights += weight_of(walker, i)
    board.IA[m] = Column(weights, -1, 0)  # I3:10
    board.s, board.used, board.valid, board.capacity = m, weights, weights, 0
    if allocate(walker, board, max(walker.options.capacity, weights)):  # I3:2
        return -1
    for i in range(m):  # I3:11-12
        write_entries(
            board, board.IA[i].start, weight_of(walker, i), walker.members[i].node, <int32_t>i,
            at_once
        )
    return 0


cdef inline int64_t pop(Walker* walker) noexcept nogil:
    cdef Board* board = board_of(walker)
    cdef int64_t limit = board.used if walker.options.probe_used else board.capacity
    cdef int64_t tries, k, start, length
    if board.valid == 0:
        return -1
    k = first_hit(&board.probes, board.node, limit, walker.options.at_once, &tries)  # I4:2-7
    walker.counts.probes += tries
    walker.counts.rounds += (tries + walker.options.lanes - 1) // walker.options.lanes
    start = k - board.offset[k] if board.offset[k] > 0 else k  # I4:10-11
    length = -board.offset[start]  # I4:12
    vacate(board.node + start, length, walker.options.at_once)  # I4:13-14
    board.valid -= length
    board.IA[board.column[k]].live = 0  # I4:16
    return board.IA[board.column[k]].member  # I4:9 17


cdef void clean_up(Walker* walker, Board* board) noexcept nogil:
    """Write the live columns again from the front on, after listing them with their lengths."""
    cdef int64_t i, length, k = 0, j = 0, live
    cdef Column* IA = board.IA
    for i in range(board.s):  # a branch would be guessed wrong: half of them are dead
        length = IA[i + 1].start - IA[i].start  # I4:20
        live = IA[i].live
        IA[j] = Column(length, IA[i].member, 1)
        j += live
    for i in range(j):  # I4:21
        length = IA[i].start
        write_entries(  # I4:22
            board, k, length, walker.members[IA[i].member].node, <int32_t>i, walker.options.at_once
        )
        IA[i].start = k  # I4:23-24
        k += length
    memset(board.node + k, 0xFF, <size_t>(board.used - k) * sizeof(int32_t))
    IA[j] = Column(k, -1, 0)
    board.s, board.used = j, k  # I4:25
    walker.counts.cleanups += 1
    walker.counts.moved += k


cdef inline int replace(Walker* walker, int64_t slot, int64_t weight) noexcept nogil:
    cdef Board* board = board_of(walker)
    cdef int64_t capacity, length
    if weight > board.capacity - board.used:  # I3:20
        clean_up(walker, board)  # I3:21-22
        if walker.options.grow and weight > board.capacity - board.used:
            capacity = board.capacity
            while weight > capacity - board.used:
                capacity *= 2
            if allocate(walker, board, capacity):
                return -1
    length = min(weight, board.capacity - board.used)  # I4:29
    walker.counts.truncated += length < weight
    write_entries(  # I4:28
        board, board.used, length, walker.members[slot].node, <int32_t>board.s,
        walker.options.at_once
    )
    board.IA[board.s] = Column(board.used, <int32_t>slot, 1)  # I4:27
    board.s += 1  # I3:25
    board.used += length
    board.valid += length
    board.IA[board.s] = Column(board.used, -1, 0)
    return 0


cdef void dashboard_together(Walker* walkers, int group) noexcept nogil:
    walk(walkers, group, set_up, pop, replace)


KERNEL = together(dashboard_together)
