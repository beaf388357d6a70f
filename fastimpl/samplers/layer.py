"""refimpl/samplers/layer.py on kernels."""

from fastimpl._lending import lent
from fastimpl._twin import twin
from fastimpl.samplers import _layer
from fastimpl.samplers._relabelling import Relabelling
from refimpl.block import MFG, Block
from refimpl.samplers.layer import layer_arguments


@twin
def layer_sample(graph, roots, fanouts, key):
    graph, roots, fanouts, key = layer_arguments(graph, roots, fanouts, key)
    nodes, draws = [roots], 0
    blocks: list[Block] = []
    with lent(Relabelling, graph, 1) as (relabelling,):
        relabelling.enter(roots)
        for fanout in fanouts:
            # all neighbours, where no node has more: that also bounds the scratch memory
            most = graph.max_degree if fanout < 0 else min(fanout, graph.max_degree)
            src, indptr, indices, edge_ids, draws = _layer.hop(
                relabelling, graph.indptr, graph.indices, nodes[0], most, key, draws
            )
            block = Block._trusted(indptr[:-1], indptr[1:], indices, len(src), edge_ids)
            nodes.insert(0, src)
            blocks.insert(0, block)
        relabelling.leave(nodes[0])
    return MFG(tuple(nodes), tuple(blocks))
