"""The pin-and-tile Dashboard (JPDC'21 Algorithms 3 and 4); tile t is slot t of the frontier."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from fastimpl.samplers._probes cimport CHUNK, Probes, first_hit, occupy, start_probes, vacate
from fastimpl.samplers._walker cimport FIRST, SECOND, THIRD, Walker, room, together, weight_of
from fastimpl.samplers._walking cimport walk

ctypedef struct Tile:
    int64_t start
    int64_t end
    int64_t column

ctypedef struct Column:
    int64_t start
    int32_t tile
    int32_t live

ctypedef struct Board:
    int32_t* DB
    int64_t capacity
    Column* IA
    int64_t cnt
    int64_t used  # IA[cnt].start
    int64_t valid
    Probes probes
    Tile* tiles


cdef inline Board* board_of(Walker* walker) noexcept nogil:
    return <Board*>walker.buffers[FIRST].memory


cdef int set_up(Walker* walker) noexcept nogil:
    """Pin the roots (Algorithm 3, lines 1 to 19)."""
    cdef int64_t m = walker.options.m, i, weights = 0
    cdef int at_once = walker.options.at_once
    cdef Board* board = <Board*>room(walker, FIRST, sizeof(Board) + <size_t>m * sizeof(Tile))
    if board == NULL:
        return -1
    start_probes(&board.probes, walker.probe)
    board.tiles = <Tile*>(board + 1)
    board.IA = <Column*>room(walker, SECOND, <size_t>(walker.options.n + 1) * sizeof(Column))
    if board.IA == NULL:
        return -1
    for i in range(m):  # J3:8
        board.IA[i] = Column(weights, <int32_t>i, 1)  # J3:9-10
        board.tiles[i] = Tile(weights, weights + weight_of(walker, i), i)  # J3:13-14
        weights = board.tiles[i].end
    board.IA[m] = Column(weights, -1, 0)  # J3:12
    board.cnt, board.used, board.valid = m, weights, weights  # J3:19
    board.capacity = max(walker.options.capacity, weights)  # J3:2
    board.DB = <int32_t*>room(walker, THIRD, <size_t>(board.capacity + CHUNK) * sizeof(int32_t))
    if board.DB == NULL:
        return -1
    for i in range(m):
        occupy(  # J3:15-16
            board.DB + board.tiles[i].start, weight_of(walker, i), <int32_t>i, at_once
        )
    memset(board.DB + weights, 0xFF, <size_t>(board.capacity - weights) * sizeof(int32_t))  # J3:2
    walker.counts.capacity = board.capacity
    return 0


cdef inline int64_t pop(Walker* walker) noexcept nogil:
    """Probe until a pin is hit, and take away all pins of its tile."""
    cdef Board* board = board_of(walker)
    cdef int64_t limit = board.used if walker.options.probe_used else board.capacity
    cdef int64_t tries
    cdef int32_t pin
    cdef Tile* tile
    if board.valid == 0:
        return -1
    pin = board.DB[  # J4:11
        first_hit(&board.probes, board.DB, limit, walker.options.at_once, &tries)  # J4:2-7
    ]
    walker.counts.probes += tries
    walker.counts.rounds += (tries + walker.options.lanes - 1) // walker.options.lanes
    tile = &board.tiles[pin]  # J4:12
    vacate(board.DB + tile.start, tile.end - tile.start, walker.options.at_once)  # J4:13-14
    board.valid -= tile.end - tile.start
    board.IA[tile.column].live = 0  # J4:16
    return pin  # J4:17


cdef void clean_up(Walker* walker, Board* board) noexcept nogil:
    """Pin the live columns again from the front on, after listing them with their lengths."""
    cdef int64_t i, length, k = 0, j = 0, live
    cdef Column* IA = board.IA
    for i in range(board.cnt):  # a branch would be guessed wrong: half of them are dead
        length = IA[i + 1].start - IA[i].start  # J4:21
        live = IA[i].live
        IA[j] = Column(length, IA[i].tile, 1)
        j += live
    for i in range(j):  # J4:22
        length = IA[i].start
        occupy(board.DB + k, length, IA[i].tile, walker.options.at_once)  # J4:23
        board.tiles[IA[i].tile] = Tile(k, k + length, i)
        IA[i].start = k  # J4:25-26
        k += length
    memset(board.DB + k, 0xFF, <size_t>(board.used - k) * sizeof(int32_t))
    IA[j] = Column(k, -1, 0)
    board.cnt, board.used = j, k  # J4:28
    walker.counts.cleanups += 1
    walker.counts.moved += k


cdef int enlarge(Walker* walker, Board* board, int64_t weight) noexcept nogil:
    """Double the Dashboard until `weight` pins fit; return -1 when memory runs out."""
    cdef int64_t before = board.capacity
    while weight > board.capacity - board.used:
        board.capacity *= 2
    board.DB = <int32_t*>room(walker, THIRD, <size_t>(board.capacity + CHUNK) * sizeof(int32_t))
    if board.DB == NULL:
        return -1
    memset(board.DB + before, 0xFF, <size_t>(board.capacity - before) * sizeof(int32_t))
    walker.counts.capacity = board.capacity
    return 0


cdef inline int replace(Walker* walker, int64_t slot, int64_t weight) noexcept nogil:
    """Pin the new node behind the last column, after a clean-up if there is no room."""
    cdef Board* board = board_of(walker)
    cdef int64_t end
    if weight > board.capacity - board.used:  # J3:23
        clean_up(walker, board)  # J3:24-25
        if walker.options.grow and weight > board.capacity - board.used:
            if enlarge(walker, board, weight):
                return -1
    end = board.used + min(weight, board.capacity - board.used)
    walker.counts.truncated += end - board.used < weight
    board.tiles[slot] = Tile(board.used, end, board.cnt)  # J4:32
    occupy(  # J4:33-34
        board.DB + board.used, end - board.used, <int32_t>slot, walker.options.at_once
    )
    board.valid += end - board.used
    board.IA[board.cnt] = Column(board.used, <int32_t>slot, 1)  # J4:31
    board.cnt += 1  # J3:29
    board.used = end
    board.IA[board.cnt] = Column(end, -1, 0)
    return 0


cdef void pin_tile_together(Walker* walkers, int group) noexcept nogil:
    walk(walkers, group, set_up, pop, replace)


KERNEL = together(pin_tile_together)
