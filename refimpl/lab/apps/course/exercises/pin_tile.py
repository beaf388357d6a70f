"""Draw the next frontier node in constant time: the Dashboard of pins and tiles."""

import math

import numpy as np

from refimpl.lab.apps.course.look import look
from refimpl.samplers.nodes import node_sample
from refimpl.streams import Stream

NULL = -1


class Board:
    """The Dashboard: an array of pins, m tiles, and an index of the columns.

    DB[k] is the tile that entry k is pinned to, or NULL. Tile t belongs to the frontier node
    node[t], whose entries are DB[start[t] : end[t]], as many as the node weighs.

    The index says what stands in DB from the left: column i is the entries from IA_start[i] to
    IA_start[i + 1], is in use if IA_live[i], and belongs to tile IA_tile[i]. slot[t] is the column
    of tile t. Behind the last column, from IA_start[-1] on, DB is free.
    """

    def __init__(self, capacity, nodes, weights):
        self.DB = [NULL] * capacity
        self.IA_start, self.IA_live, self.IA_tile = [0], [], []
        self.node = list(nodes)
        self.start, self.end, self.slot = ([0] * len(nodes) for _ in range(3))
        names = ("probes", "rounds", "cleanups", "moved", "truncated")
        self.counts = dict.fromkeys(names, 0)
        for tile, weight in enumerate(weights):
            self.put(tile, weight)

    def put(self, tile, length):
        """Give a tile the next `length` entries, as a new column behind the others."""
        first = self.IA_start[-1]
        if length > self.free():
            raise IndexError(f"{length} entries do not fit into the {self.free()} that are free")
        self.start[tile], self.end[tile] = first, first + length
        self.slot[tile] = len(self.IA_live)
        self.DB[first : first + length] = [tile] * length
        self.IA_start.append(first + length)
        self.IA_live.append(True)
        self.IA_tile.append(tile)

    def free(self):
        """Return how many entries are free behind the last column."""
        return len(self.DB) - self.IA_start[-1]

    def is_empty(self):
        """Whether no entry belongs to anybody."""
        return all(pin == NULL for pin in self.DB)

    def state(self):
        """Return the arrays by name, for `look`."""
        tiles = [t if live else NULL for t, live in zip(self.IA_tile, self.IA_live, strict=True)]
        names = ("DB", "IA_start", "IA_live", "node", "start", "end", "slot")
        return {**{name: list(getattr(self, name)) for name in names}, "IA_tile": tiles}


def pop(board, probe, lanes, probe_range):
    """Take a random frontier node off the Dashboard; return it and its tile.

    JPDC'21 Algorithm 4, "pop". Draw entries of DB, all alike, until one belongs to a tile: a node
    of weight w has w entries, so it comes with a probability in proportion to w. Then all entries
    of the tile become NULL, and its column is no longer live. The tile keeps its number; the node
    that is pushed next takes it over.

    Parameters
    ----------
    board : Board
        Changed in place.
    probe : Stream
        Each entry is one draw, `probe.below(limit)`: `limit` is the length of DB where
        `probe_range` is "capacity", and the end of the last column where it is "used".
    lanes : int
        Probes are counted in board.counts["probes"], and in rounds of `lanes` at a time, the last
        of a pop perhaps not full, in board.counts["rounds"].
    probe_range : {"capacity", "used"}

    Returns
    -------
    (int, int)
        The node, and its tile.
    """
    limit = len(board.DB) if probe_range == "capacity" else board.IA_start[-1]
    entry, tries = probe.below(limit), 1
    while board.DB[entry] == NULL:
        entry = probe.below(limit)
        tries += 1
    tile = board.DB[entry]
    for k in range(board.start[tile], board.end[tile]):
        board.DB[k] = NULL
    board.IA_live[board.slot[tile]] = False
    board.counts["probes"] += tries
    board.counts["rounds"] += math.ceil(tries / lanes)
    return board.node[tile], tile


def clean_up(board):
    """Move the columns in use to the front of the Dashboard, one behind the other, in order.

    JPDC'21 Algorithm 4, "cleanup". Columns that were popped leave holes; when the free space at
    the end is used up, the holes are given up. A column keeps its tile and its length. All that
    says where it stands has to follow: DB, the index, and the tile's own start, end and slot.
    Columns not in use leave the index.

    Parameters
    ----------
    board : Board
        Changed in place; DB keeps its length. board.counts["cleanups"] goes up by 1, and
        board.counts["moved"] by how many entries are in use.
    """
    DB = [NULL] * len(board.DB)
    IA_start, IA_tile = [0], []
    for i in range(len(board.IA_live)):
        if not board.IA_live[i]:
            continue
        tile = board.IA_tile[i]
        first = IA_start[-1]
        last = first + board.IA_start[i + 1] - board.IA_start[i]
        DB[first:last] = [tile] * (last - first)
        board.start[tile], board.end[tile] = first, last
        board.slot[tile] = len(IA_tile)
        IA_start.append(last)
        IA_tile.append(tile)
    board.DB = DB
    board.IA_start, board.IA_live, board.IA_tile = IA_start, [True] * len(IA_tile), IA_tile
    board.counts["cleanups"] += 1
    board.counts["moved"] += IA_start[-1]


def push(board, node, tile, weight, overflow):
    """Put a node on the Dashboard, with a tile that was popped, behind the last column.

    JPDC'21 Algorithm 4, "add". Where the free entries are too few even after a clean-up: with
    `overflow` "grow", DB is made twice as long, with NULL in its new half, until there is room;
    with "truncate" the node gets the entries that are left, and board.counts["truncated"] goes up.
    """
    while overflow == "grow" and weight > board.free():
        board.DB += [NULL] * len(board.DB)
    length = min(weight, board.free())
    board.counts["truncated"] += length < weight
    board.node[tile] = node
    board.put(tile, length)


def pin_tile(
    graph,
    main,
    probe,
    *,
    m,
    n,
    eta=2.0,
    deg_cap=None,
    include="pushed",
    lanes=8,
    probing="one",
    probe_range="capacity",
    overflow="truncate",
):
    """Draw the nodes of a subgraph by frontier sampling on a Dashboard."""
    main, probe = Stream(main), Stream(probe)
    degrees = graph.degrees()
    weights = degrees if deg_cap is None else np.minimum(degrees, deg_cap)
    roots = main.pick_without_replacement(graph.n, m).tolist()
    planned = math.ceil(eta * m * (int(weights.sum()) / graph.n))
    capacity = max(planned, int(weights[roots].sum()))
    board = Board(capacity, roots, weights[roots].tolist())
    sample, popped, pushed = set(roots), [], []
    look(**board.state(), sample=sorted(sample))
    for _ in range(n - m):
        if board.is_empty():
            break
        u, tile = pop(board, probe, lanes, probe_range)
        new = int(graph.indices[graph.indptr[u] + main.below(int(degrees[u]))])
        if weights[new] > board.free():
            clean_up(board)
        push(board, new, tile, int(weights[new]), overflow)
        sample.add(new if include == "pushed" else u)
        popped.append(u)
        pushed.append(new)
        look(**board.state(), sample=sorted(sample))
    counts = {**board.counts, "capacity": len(board.DB)}
    return node_sample(graph, sample, popped, pushed, main.c, **counts)
