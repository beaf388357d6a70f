"""GraphFM: GNNAutoScale whose histories move towards what a batch says about its neighbours.

Yu, Wang, Wang, Liu, Gui, Li and Ji 2022, "GraphFM: Improving Large-Scale GNN Training via Feature
Momentum": the variant for out-of-batch nodes (GraphFM-OB).
"""

import numpy as np

from refimpl.block import Block
from refimpl.lab.training.gas import GasTrainer
from refimpl.lab.training.stack import weights_of


class GraphFmTrainer(GasTrainer):
    """One run of GraphFM-OB, an iteration at a time; see `GasTrainer`.

    Before layer l + 1 reads a node u outside the batch from the histories, its row of layer l
    becomes 1 - beta times itself plus beta times what layer l gives for u from u's own input and
    the inputs of its neighbours in the batch. These count as a sample of all its neighbours: the
    mean is taken over them, and GCN's sum is scaled up to the degree of u, as in `block_norm`. (The
    authors' program, which has no GraphSAGE, leaves that sum as it is, and u's own input out.)
    The new rows are constants for the weights, as all that is read from histories. With
    ``config.beta`` 0 this is GNNAutoScale.
    """

    def _around(self, batch):
        around, s = super()._around(batch), len(batch)
        outer = outer_block(around.A.graph_t, s)
        nodes = np.concatenate([around.nodes[s:], batch])
        return around._replace(A_outer=self._adjacency(outer, nodes))

    def _others(self, layer, around, kept):
        s, beta = around.A.graph.n_dst, self.config.beta
        _, X, _, _ = kept  # as dropout has left it
        place, of_layer = self.places[layer - 1]
        inputs = np.concatenate([X[s:], X[:s]])
        partial, _ = of_layer.forward(weights_of(self.state.weights, place), around.A_outer, inputs)
        known = super()._others(layer, around, kept)
        moved = (1 - beta) * known + beta * partial
        self.histories.write(layer, around.nodes[s:], moved)
        return moved


def outer_block(transpose, s):
    """Return the Block from the nodes outside a batch to their neighbours in it.

    Parameters
    ----------
    transpose : Block
        The transpose of a block whose s destinations, a batch, are its first sources.
    s : int

    Returns
    -------
    Block
        Destinations are the sources of the first block from number s; they stand first among the
        sources, then come the nodes of the batch.
    """
    start, end, outside = transpose.start[s:], transpose.end[s:], transpose.n_dst - s
    return Block._trusted(start, end, transpose.indices + np.int32(outside), transpose.n_dst)
