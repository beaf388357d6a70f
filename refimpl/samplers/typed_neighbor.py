"""Neighbour sampling on typed graphs, with a fan-out for each relation."""

import numpy as np

from refimpl.block import as_mfg, sources
from refimpl.streams import NEIGHBOR, RELATION, key


def typed_mfg(draw_rows, graph, roots, fanouts, name):
    """Return the message-flow graph of a batch with fan-outs by relation.

    In layer l and relation r, node v draws from its neighbours in r alone, with the key (seed,
    RELATION, epoch, batch, l, r, v). In a layer with one fan-out it draws from them all, as if
    the graph were not typed.

    Parameters
    ----------
    draw_rows : function
        Of refimpl or fastimpl: draws one hop, given the key of a node without the node.
    graph : TypedGraph
    roots : (b,) int32 array
    fanouts : tuple of ints and of tuples of R ints
    name : (seed, epoch, batch)

    Returns
    -------
    MFG
    """
    seed, epoch, batch = name
    nodes, hops = [roots], []
    for layer, fanout in zip(range(len(fanouts), 0, -1), fanouts, strict=True):
        dst = nodes[0]
        if isinstance(fanout, tuple):
            bounds, edge_ids = _rows_by_relation(draw_rows, graph, dst, fanout, (*name, layer))
        else:
            hop_key = key(seed, NEIGHBOR, epoch, batch, layer)
            bounds, edge_ids = draw_rows(graph, dst, fanout, hop_key)
        src, indices = sources(dst, graph.indices[edge_ids])
        nodes.insert(0, src)
        hops.append((bounds, indices, edge_ids))
    return as_mfg(nodes, hops)


def _rows_by_relation(draw_rows, graph, dst, fanouts, name):
    """Return (row bounds, positions) of what the nodes `dst` draw in all relations.

    `name` is (seed, epoch, batch, layer).
    """
    seed, epoch, batch, layer = name
    row, edge_ids = [], []
    for r, ((part, where), fanout) in enumerate(zip(graph.relation_graphs, fanouts, strict=True)):
        hop_key = key(seed, RELATION, epoch, batch, layer, r)
        bounds, drawn = draw_rows(part, dst, fanout, hop_key)
        row.append(np.repeat(np.arange(len(dst)), np.diff(bounds)))
        edge_ids.append(where[drawn])
    return _merged(np.concatenate(row), np.concatenate(edge_ids), len(dst))


def _merged(row, edge_ids, n_dst):
    """Return (row bounds, positions) of entries in given rows: those of a row ascend."""
    order = np.lexsort((edge_ids, row))
    bounds = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n_dst))])
    return bounds, edge_ids[order]
