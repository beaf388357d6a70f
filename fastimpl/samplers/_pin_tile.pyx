"""JPDC'21 Algorithms 3 and 4 on flat arrays that a thread keeps from sample to sample."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from fastimpl._streams cimport below, displaced_size, partial_shuffle
from fastimpl.samplers._workspace cimport Counts, Options, Scratch, add_node, prepare, room

ctypedef struct Tile:
    int64_t start
    int64_t end
    int32_t node
    int32_t slot

ctypedef struct Column:
    int64_t start
    int32_t tile
    int32_t live

ctypedef struct Board:
    int32_t* DB
    int64_t capacity
    Tile* tiles
    Column* IA
    int64_t cnt
    int64_t used  # IA[cnt].start
    int64_t valid


cdef inline void fill(int32_t* DB, int64_t start, int64_t end, int32_t pin) noexcept nogil:
    cdef int64_t k
    for k in range(start, end):
        DB[k] = pin


cdef int set_up(
    const int64_t* indptr, const Options* options, int64_t graph_nodes, uint64_t main,
    Scratch* scratch, Board* board
) noexcept nogil:
    """Pin the roots (lines 1 to 19); return -1 when memory runs out."""
    cdef int64_t m = options.m, i, weights = 0
    cdef int32_t* FS = <int32_t*>room(
        scratch, 4, <size_t>(m + displaced_size(m)) * sizeof(int32_t)
    )
    board.tiles = <Tile*>room(scratch, 5, <size_t>m * sizeof(Tile))
    board.IA = <Column*>room(scratch, 6, <size_t>(options.n + 1) * sizeof(Column))
    if prepare(scratch, options.n) or not (FS and board.tiles and board.IA):
        return -1
    partial_shuffle(main, 0, graph_nodes, m, FS, FS + m)
    for i in range(m):
        board.IA[i] = Column(weights, <int32_t>i, 1)
        board.tiles[i] = Tile(weights, 0, FS[i], <int32_t>i)
        weights += min(indptr[FS[i] + 1] - indptr[FS[i]], options.deg_cap)
        board.tiles[i].end = weights
        add_node(scratch, FS[i])
    board.IA[m] = Column(weights, -1, 0)
    board.cnt, board.used, board.valid = m, weights, weights
    board.capacity = max(options.capacity, weights)
    board.DB = <int32_t*>room(scratch, 7, <size_t>board.capacity * sizeof(int32_t))
    if board.DB == NULL:
        return -1
    for i in range(m):
        fill(board.DB, board.tiles[i].start, board.tiles[i].end, <int32_t>i)
    memset(board.DB + weights, 0xFF, <size_t>(board.capacity - weights) * sizeof(int32_t))
    return 0


cdef void clean_up(Board* board, Counts* counts) noexcept nogil:
    """Move live columns to the front in place: each moves left, over entries already read."""
    cdef int64_t i, length, k = 0, j = 0
    cdef int32_t t
    cdef Tile* tile
    for i in range(board.cnt):
        if not board.IA[i].live:
            continue
        t = board.IA[i].tile
        tile = &board.tiles[t]
        length = tile.end - tile.start
        fill(board.DB, k, k + length, t)
        tile.start, tile.end, tile.slot = k, k + length, <int32_t>j
        board.IA[j] = Column(k, t, 1)
        k += length
        j += 1
    memset(board.DB + k, 0xFF, <size_t>(board.used - k) * sizeof(int32_t))
    board.IA[j] = Column(k, -1, 0)
    board.cnt, board.used = j, k
    counts.cleanups += 1
    counts.moved += k


cdef int enlarge(Board* board, int64_t weight, Scratch* scratch) noexcept nogil:
    """Double the dashboard until `weight` pins fit; return -1 when memory runs out."""
    cdef int64_t capacity = board.capacity
    while weight > capacity - board.used:
        capacity *= 2
    board.DB = <int32_t*>room(scratch, 7, <size_t>capacity * sizeof(int32_t))
    if board.DB == NULL:
        return -1
    memset(
        board.DB + board.capacity, 0xFF, <size_t>(capacity - board.capacity) * sizeof(int32_t)
    )
    board.capacity = capacity
    return 0


cdef int pin_tile(
    const int64_t* indptr, const int32_t* indices, int64_t graph_nodes, const Options* options,
    uint64_t main, uint64_t probe, Scratch* scratch
) noexcept nogil:
    """Draw the nodes of one sample; return -1 when memory runs out."""
    cdef Board board
    cdef Counts* counts = &scratch.counts
    cdef int64_t m = options.m, i, tries, limit, deg, weight, end
    cdef uint64_t c = 0
    cdef int32_t v_pop, v_new, pin
    cdef Tile* tile
    if set_up(indptr, options, graph_nodes, main, scratch, &board):
        return -1
    for i in range(options.n - m):
        if board.valid == 0:
            break
        limit = board.used if options.probe_used else board.capacity
        tries = 0
        pin = -1
        while pin < 0:
            pin = board.DB[below(probe, c, limit)]
            c += 1
            tries += 1
        tile = &board.tiles[pin]
        v_pop = tile.node
        memset(board.DB + tile.start, 0xFF, <size_t>(tile.end - tile.start) * sizeof(int32_t))
        board.valid -= tile.end - tile.start
        board.IA[tile.slot].live = 0

        deg = indptr[v_pop + 1] - indptr[v_pop]
        v_new = indices[indptr[v_pop] + below(main, <uint64_t>(m + i), deg)]
        counts.pops += 1
        counts.probes += tries
        counts.rounds += (tries + options.lanes - 1) // options.lanes
        counts.popped_degree_sum += deg
        deg = indptr[v_new + 1] - indptr[v_new]
        counts.added_degree_sum += deg
        weight = min(deg, options.deg_cap)

        if weight > board.capacity - board.used:
            clean_up(&board, counts)
            if options.grow and weight > board.capacity - board.used:
                if enlarge(&board, weight, scratch):
                    return -1
        end = board.used + min(weight, board.capacity - board.used)
        counts.truncated += end - board.used < weight
        tile[0] = Tile(board.used, end, v_new, <int32_t>board.cnt)
        fill(board.DB, board.used, end, pin)
        board.valid += end - board.used
        board.IA[board.cnt] = Column(board.used, pin, 1)
        board.cnt += 1
        board.used = end
        board.IA[board.cnt] = Column(end, -1, 0)

        add_node(scratch, v_pop if options.include_popped else v_new)
        scratch.popped[i] = v_pop
        scratch.pushed[i] = v_new
    counts.capacity = board.capacity
    return 0
