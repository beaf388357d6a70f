"""Take a random node off the first Dashboard, where entries find their node by offsets."""

import math

import numpy as np

from refimpl.lab.apps.course.look import look
from refimpl.samplers.nodes import node_sample
from refimpl.streams import Stream

INV = -1


class Board:
    """The Dashboard of IPDPS'19: each entry has three slots, and an index says where columns are.

    A node of degree w owns w entries in a row. Of entry k, node[k] is its node, or INV; column[k]
    its column in the index; offset[k] how far back the first entry of the node is, and in that
    first entry minus how many there are: a node of degree 3 has the offsets -3, 1, 2.

    Column i is the entries from IA_start[i] to IA_start[i + 1], those of IA_node[i], and is in
    the frontier if IA_live[i].
    Behind the last column, from IA_start[-1] on, entries are free.
    """

    def __init__(self, capacity):
        self.node, self.offset, self.column = ([INV] * capacity for _ in range(3))
        self.IA_start, self.IA_live, self.IA_node = [0], [], []
        names = ("probes", "rounds", "cleanups", "moved", "truncated")
        self.counts = dict.fromkeys(names, 0)

    def put(self, v, length):
        """Give node v the next `length` entries, as a new column behind the others."""
        first = self.IA_start[-1]
        for k in range(first, first + length):
            self.node[k], self.column[k] = v, len(self.IA_live)
            self.offset[k] = k - first if k > first else -length
        self.IA_start.append(first + length)
        self.IA_live.append(True)
        self.IA_node.append(v)

    def free(self):
        """Return how many entries are free behind the last column."""
        return len(self.node) - self.IA_start[-1]

    def columns(self):
        """Return the node and the length of each column in use."""
        known = zip(self.IA_node, self.IA_live, self.IA_start, self.IA_start[1:], strict=False)
        return [(v, last - first) for v, live, first, last in known if live]

    def state(self):
        """Return the arrays by name, for `look`, with 0 and -1 where an entry has no node."""
        owned = [v != INV for v in self.node]
        return {
            "node": list(self.node),
            "offset": [x if own else 0 for x, own in zip(self.offset, owned, strict=True)],
            "column": [x if own else -1 for x, own in zip(self.column, owned, strict=True)],
            "IA_start": list(self.IA_start),
            "IA_live": list(self.IA_live),
        }


def pop(board, probe, lanes, limit):
    """Take a random frontier node off the Dashboard; return it.

    IPDPS'19 Algorithm 4, "pop". Draw entries, all alike, until one has a node: a node of degree w
    has w entries, so it comes with a probability in proportion to w. The entry says by its offset
    where the first entry of its node is, and that one how many there are. All of them become INV
    in board.node, and the column is no longer live. What else the entries hold may stay.

    Parameters
    ----------
    board : Board
        Changed in place.
    probe : Stream
        Each entry is one draw, `probe.below(limit)`.
    lanes : int
        Probes are counted in board.counts["probes"], and in rounds of `lanes` at a time, the last
        of a pop perhaps not full, in board.counts["rounds"].
    limit : int

    Returns
    -------
    int
        The node.
    """
    entry, tries = probe.below(limit), 1
    while board.node[entry] == INV:
        entry = probe.below(limit)
        tries += 1
    node = board.node[entry]
    offset = board.offset[entry]
    first = entry - offset if offset > 0 else entry
    length = -board.offset[first]
    for k in range(first, first + length):
        board.node[k] = INV
    board.IA_live[board.column[entry]] = False
    board.counts["probes"] += tries
    board.counts["rounds"] += math.ceil(tries / lanes)
    return node


def push(board, node, weight, overflow):
    """Put a node behind the last column; see `pin_tile` for what `overflow` says."""
    while overflow == "grow" and weight > board.free():
        for slots in (board.node, board.offset, board.column):
            slots += [INV] * len(slots)
    length = min(weight, board.free())
    board.counts["truncated"] += length < weight
    board.put(node, length)


def cleaned_up(board):
    """Return a Dashboard with the columns in use only, one behind the other."""
    new = Board(len(board.node))
    for node, length in board.columns():
        new.put(node, length)
    new.counts = board.counts
    new.counts["cleanups"] += 1
    new.counts["moved"] += new.IA_start[-1]
    return new


def dashboard(
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
    probe_range="capacity",
    overflow="truncate",
):
    """Draw the nodes of a subgraph by frontier sampling on the Dashboard: IPDPS'19 Algorithm 3."""
    main, probe = Stream(main), Stream(probe)
    degrees = graph.degrees()
    weights = degrees if deg_cap is None else np.minimum(degrees, deg_cap)
    roots = main.pick_without_replacement(graph.n, m).tolist()
    planned = math.ceil(eta * m * (int(weights.sum()) / graph.n))
    board = Board(max(planned, int(weights[roots].sum())))
    for v in roots:
        board.put(v, int(weights[v]))
    sample, popped, pushed = set(roots), [], []
    look(**board.state(), sample=sorted(sample))
    for _ in range(n - m):
        if all(v == INV for v in board.node):
            break
        limit = len(board.node) if probe_range == "capacity" else board.IA_start[-1]
        u = pop(board, probe, lanes, limit)
        new = int(graph.indices[graph.indptr[u] + main.below(int(degrees[u]))])
        if weights[new] > board.free():
            board = cleaned_up(board)
        push(board, new, int(weights[new]), overflow)
        sample.add(new if include == "pushed" else u)
        popped.append(u)
        pushed.append(new)
        look(**board.state(), sample=sorted(sample))
    counts = {**board.counts, "capacity": len(board.node)}
    return node_sample(graph, sample, popped, pushed, main.c, **counts)
