"""Sample the neighbours that a minibatch needs, layer by layer."""

import numpy as np

from refimpl.block import MFG, Block
from refimpl.streams import NEIGHBOR, floyd, key


def sample_mfg(graph, roots, fanouts, *, seed, epoch, batch, mode="layered"):
    """Return the message-flow graph of a batch: what L layers compute for some roots.

    FreshGNN, section 2. Hop by hop from the roots: each node v met so far draws neighbours; what
    is met for the first time joins. The roots' hop is layer L, the last one layer 1.

    A node draws with a key of its own, so it does not matter in which order nodes draw:
    key(seed, NEIGHBOR, epoch, batch, layer, v). `floyd(that key, degree, fanout)` are which of
    its neighbours it takes, counted from 0, ascending. If the fan-out is -1, or not below the
    degree, it takes all, and draws nothing.

    Parameters
    ----------
    graph : Graph
        Row v, entries graph.indptr[v] to graph.indptr[v + 1] of graph.indices, are v's neighbours.
    roots : (b,) integer array
    fanouts : sequence of int
        A number for each hop, the roots' first.
    seed, epoch, batch : int
    mode : "layered"
        Has no part in this exercise.

    Returns
    -------
    MFG
        Of nodes, L + 1 int32 arrays, the inputs first and the roots last; and blocks, one for each
        hop, the last hop first. The sources of a block are its destinations in their order, then
        the new nodes, ascending. `Block(start, end, indices, number of sources, edge_ids)`: row i
        is the entries start[i] to end[i]; each is the place of a neighbour among the sources, and
        in `edge_ids` the place of the entry in graph.indices. Rows have the order of the graph.
    """
    nodes, blocks = [np.asarray(roots, np.int32)], []
    for hop, fanout in enumerate(fanouts):
        destinations, rows = nodes[0], []
        layer = len(fanouts) - hop
        for v in destinations.tolist():
            first, last = graph.indptr[v : v + 2].tolist()
            if fanout == -1 or fanout >= last - first:
                rows.append(list(range(first, last)))
            else:
                chosen = floyd(key(seed, NEIGHBOR, epoch, batch, layer, v), last - first, fanout)
                rows.append([first + j for j in chosen.tolist()])
        edge_ids = np.array([j for row in rows for j in row], np.int64)
        met = graph.indices[edge_ids]
        sources = np.concatenate([destinations, np.setdiff1d(met, destinations)]).astype(np.int32)
        place = {u: i for i, u in enumerate(sources.tolist())}
        indices = np.array([place[u] for u in met.tolist()], np.int32)
        bounds = np.cumsum([0, *map(len, rows)])
        blocks.insert(0, Block(bounds[:-1], bounds[1:], indices, len(sources), edge_ids))
        nodes.insert(0, sources)
    return MFG(tuple(nodes), tuple(blocks))


# ---- what follows is the course's ----

PAGE = "learn/fresh_loader"
REFERENCE = "refimpl.samplers.neighbor:sample_mfg"
BESIDE = (
    "The reference shares its parts with other samplers: `draw_rows` and `_pick` draw, `sources` "
    "numbers, `key_of_hop` makes the keys."
)
WITHOUT = ("SHARED", "RELATIONS")
STEPPER = ("pruning", "6", "6")
HINTS = (
    "One hop first: which entries of graph.indices each destination takes, as a list of lists.",
    "`np.setdiff1d(a, b)` is what is in a and not in b, ascending, each once.",
    "A dict from a node to its place among the sources gives the block's indices; row bounds are "
    "sums of the rows' lengths, `np.cumsum([0, *map(len, rows)])`.",
    "Blocks and nodes come last hop first: `blocks.insert(0, ..)`.",
)
MISTAKES = (
    (
        "layer = len(fanouts) - hop",
        "layer = hop + 1",
        "counts layers from the roots, whose layer is the last one",
        "",
    ),
    (
        "batch, layer, v)",
        "batch, layer)",
        "draws with one key for all nodes of a hop",
        "",
    ),
    (
        "np.concatenate([destinations, np.setdiff1d(met, destinations)])",
        "np.union1d(destinations, met)",
        "sorts all sources, where the destinations come first and keep their order",
        "They are the right numbers in another order",
    ),
    (
        "np.concatenate([destinations, np.setdiff1d(met, destinations)])",
        "np.setdiff1d(met, [])",
        "leaves out the destinations themselves, which a layer reads too",
        "",
    ),
    (
        "if fanout == -1 or fanout >= last - first:",
        "if fanout >= last - first:",
        "does not know that a fan-out of -1 means all",
        "A fan-out of -1, or not below the degree",
    ),
    (
        "blocks.insert(0, Block(",
        "blocks.append(Block(",
        "lists the blocks from the roots, where the inputs come first",
        "",
    ),
)
