"""Neighbour sampling on typed graphs, with a fan-out for each relation."""

import numpy as np

from refimpl.block import MFG, Block


def by_relation(fanouts):
    """Return whether any layer has a fan-out for each relation."""
    return any(isinstance(fanout, tuple) for fanout in fanouts)


def typed_mfg(sample_mfg, graph, roots, fanouts, name):
    """Return the message-flow graph of a batch with fan-outs by relation.

    In layer l and relation r, node v draws from its neighbours in r alone, with the key
    ``key(name, l, r, 1, v)``; a layer with one fan-out draws from them all, with r = 0.

    Parameters
    ----------
    sample_mfg : function
        Of refimpl or fastimpl: draws one hop.
    graph : TypedGraph
    roots : (b,) int32 array
    fanouts : tuple of ints and of tuples of R ints
    name : int in [0, 2**64)
        Names the batch: ``key(seed, epoch, batch)``.

    Returns
    -------
    MFG
    """
    nodes = [roots]
    blocks: list[Block] = []
    for layer, fanout in zip(range(len(fanouts), 0, -1), fanouts, strict=True):
        if isinstance(fanout, tuple):
            parts = [(*part, f) for part, f in zip(graph.relation_graphs, fanout, strict=True)]
        else:
            parts = [(graph, None, fanout)]
        row, edge_ids = [], []
        for r, (part, where, f) in enumerate(parts):
            hop = sample_mfg(part, nodes[0], (f,), seed=name, epoch=layer, batch=r).blocks[0]
            row.append(np.repeat(np.arange(hop.n_dst), hop.end - hop.start))
            edge_ids.append(hop.edge_ids if where is None else where[hop.edge_ids])
        src, block = merged(graph, nodes[0], np.concatenate(row), np.concatenate(edge_ids))
        nodes.insert(0, src)
        blocks.insert(0, block)
    return MFG(tuple(nodes), tuple(blocks))


def merged(graph, dst, row, edge_ids):
    """Return the sources of `dst`, and the block of the entries `edge_ids` of rows `row`."""
    order = np.lexsort((edge_ids, row))  # in a row in the order of graph.indices
    row, edge_ids = row[order], edge_ids[order]
    picked = graph.indices[edge_ids]
    src = np.concatenate([dst, np.setdiff1d(picked, dst)])  # setdiff1d is sorted
    by_id = np.argsort(src)
    indices = by_id[np.searchsorted(src, picked, sorter=by_id)].astype(np.int32)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(dst)))])
    return src, Block._trusted(bounds[:-1], bounds[1:], indices, len(src), edge_ids)
