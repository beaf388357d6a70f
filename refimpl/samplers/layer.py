"""GraphSAGE layer sampling: a few neighbours of each node, hop by hop, as blocks."""

from __future__ import annotations

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.block import MFG, Block, sources
from refimpl.graph import Graph
from refimpl.graph.csr import checked
from refimpl.hints import Int, Integers
from refimpl.streams import Stream


def layer_arguments(graph, roots, fanouts, key):
    """Check the arguments of `layer_sample`; return them."""
    checked(graph)
    roots = require.ids("roots", roots, 0, graph.n, np.int32)
    if len(np.unique(roots)) < len(roots):
        raise ValueError("roots must be distinct")
    fanouts = require.sequence("fanouts", fanouts)
    fanouts = tuple(require.integer("fanouts", f, -1, 2**31 - 1) for f in fanouts)
    return graph, roots, fanouts, require.word("key", key)


@checked_by(layer_arguments)
def layer_sample(graph: Graph, roots: Integers, fanouts: Integers, key: Int) -> MFG:
    """Draw the message-flow graph of one minibatch by sampling neighbours on every layer.

    The layer sampling that the papers compare with (JPDC'21 section 7.7, there with 512 roots
    and fan-outs 25, 10, .., 10). Hop by hop, from the roots: every node met so far draws
    neighbours without replacement, and those not met before join it (E-G6). O(entries drawn)
    time and memory, on top of sorting the new nodes of each hop.

    Parameters
    ----------
    graph : Graph
        Row v lists whom v aggregates; it need not be undirected.
    roots : (r,) integer array
        Distinct nodes, in any order.
    fanouts : sequence of ints
        How many neighbours a node draws, the roots' hop first: one number a layer, the last
        layer's first. -1 is all of them, and so is any number that is not below the degree. The
        GraphSAGE code reads its list from the other end, 10 at the roots and 25 at their
        neighbours: pass ``fanouts[::-1]`` for that (E-G5).
    key : int in [0, 2**64)
        Key of the stream. Rows draw one after another, on through all hops; a row that takes all
        its neighbours draws nothing.

    Returns
    -------
    MFG
        Its sources are the destinations, then the new nodes, ascending. The entries of a row
        stand in the order of `graph.indices`; `edge_ids` says where.

    Raises
    ------
    TypeError, ValueError
        If `graph` is no Graph, `roots` repeats a node or is out of range, or another argument
        is not an integer, or not in range.
    """
    stream, nodes = Stream(key), [np.asarray(roots, np.int32)]
    blocks: list[Block] = []
    for fanout in fanouts:
        src, block = _hop(graph, nodes[0], fanout, stream)
        nodes.insert(0, src)
        blocks.insert(0, block)
    return MFG(tuple(nodes), tuple(blocks))


def _hop(graph, dst, fanout, stream):
    """Return the sources that the nodes `dst` draw, and the block between them."""
    rows = [_pick(graph, v, fanout, stream) for v in dst.tolist()]
    edge_ids = np.array([j for row in rows for j in row], np.int64)
    src, indices = sources(dst, graph.indices[edge_ids])
    indptr = np.cumsum([0, *map(len, rows)])
    return src, Block._trusted(indptr[:-1], indptr[1:], indices, len(src), edge_ids)


def _pick(graph, v, fanout, stream):
    """Return where the neighbours that v draws stand in `graph.indices`, ascending."""
    start, end = graph.indptr[v : v + 2].tolist()
    if fanout < 0 or end - start <= fanout:
        return range(start, end)
    return sorted(start + i for i in stream.pick_without_replacement(end - start, fanout).tolist())
