"""Sample the neighbours that a minibatch needs, layer by layer."""

import numpy as np

from refimpl.block import MFG, Block
from refimpl.streams import NEIGHBOR, floyd, key


def sample_mfg(graph, roots, fanouts, *, seed, epoch, batch, mode="layered", batch_dependency=1):
    """Return the message-flow graph of a batch: what L layers compute for some roots."""
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
