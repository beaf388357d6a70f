"""VR-GCN: few sampled neighbours, corrected by histories of all (a control variate).

Chen, Zhu and Song 2018, "Stochastic Training of Graph Convolutional Networks with Variance
Reduction".
"""

import numpy as np

from refimpl.adjacency import Adjacency
from refimpl.block import Block
from refimpl.lab.training.fresh import MessageFlowGraphs
from refimpl.lab.training.gas import HistoryTrainer, rows_of
from refimpl.profiling import timed


class VrGcnTrainer(HistoryTrainer):
    """One run of VR-GCN, an iteration at a time; see `Trainer`.

    With P the matrix of the model on the training graph, h the inputs of a layer and h' their
    histories, a node v with the sampled neighbours S(v), D of them, aggregates

        sum of P[v, u] h'_u over all neighbours u
        + (deg v / D) times the sum of P[v, u] (h_u - h'_u) over S(v).

    The node's own row, where a layer has one, is exact. So the aggregate is exact where h' = h,
    and its mean over S(v) is exact for any h'. The gradient flows through the sampled h_u alone.
    After a step the histories hold every row that it computed. Layer 1 knows its inputs, the
    features, so its aggregate is exact; it is computed once, before training, as the authors do,
    and dropout comes after it. Layers above drop the same elements of h_u and of h'_u, which keeps
    both statements above true; the authors' other estimator for dropout (CVD) is not used.

    An iteration takes O(e f + s f^2) time, with e counting all neighbours of the nodes that
    layers 2 .. L compute, and s these nodes.

    Parameters
    ----------
    gnn, dataset, config, state
        As for `Trainer`; the model is "sage" or "gcn". ``config.fanouts`` has L - 1 numbers, of
        the roots' hop first: D, at the layers L, L - 1, .. 2.

    Raises
    ------
    TypeError, ValueError
        As for `Trainer`, and if the state has no histories, or those of another model.
    """

    def __init__(self, gnn, dataset, config, state=None):
        super().__init__(gnn, dataset, config, state)
        with self.profile:
            self.P, self.PX = self._preprocessed()

    def _minibatches(self):
        graph = self.dataset.train_graph
        return MessageFlowGraphs(self.gnn, graph, self.config, self.state.iterations)

    @timed("normalization")
    def _preprocessed(self):
        """Return the matrix of the model by the edges of the graph, and its product with X."""
        A = self.stack.adjacency(self.graph, dtype=self.dtype)
        return edge_values(self.graph, self.config.model, self.dtype), self.gnn.spmm(
            A.graph, A.data, self.X
        )

    def _passes(self):
        mfg, last = next(self.minibatches), self.config.layers
        nodes = mfg.nodes  # of layers 1 .. L: those that the layer computes
        A, sources = _read_off(len(nodes[0]), self.dtype), np.concatenate([nodes[0], nodes[0]])
        X = np.concatenate([self.X[nodes[0]], self.PX[nodes[0]]])
        H: list[np.ndarray] = []
        kept, count, read = [], [0], 0
        for layer in range(1, last + 1):
            if layer > 1:
                A, sources = self._corrected(mfg.blocks[layer - 2], nodes[layer - 2 : layer])
                outside = sources[len(nodes[layer - 2]) :]
                X = np.concatenate([H[-1], self.histories.read(layer - 1, outside)])
                count.append(len(H[-1]))
                read += len(outside)
            computed, pass_kept = self._forward(layer - 1, A, X, sources)
            H.append(computed)
            kept.append(pass_kept)
        logits, pass_kept = self._forward(last, None, H[-1], nodes[-1])
        loss = self.stack.loss(logits, self.Y[nodes[-1]], None)
        count.append(len(nodes[-1]))
        gradients = self._backward([*kept, pass_kept], count, loss.gradient)
        for layer in range(1, last):
            self.histories.write(layer, nodes[layer - 1], H[layer - 1])
        self._count(2 * len(nodes[0]), read, sum(map(len, nodes[:-1])))
        return loss.value, gradients, len(nodes[-1])

    @timed("sampling")
    def _corrected(self, block, nodes):
        """Return the matrix of a sampled block with its control variate, and its sources."""
        computed, receiving = nodes
        sampled = self._adjacency(block, computed)
        return with_histories(sampled, block, computed, receiving, self.graph, self.P)


def _read_off(k, dtype):
    """Return the matrix (0 I) that takes the last k of 2 k rows: they are aggregated already."""
    rows, nothing = np.arange(k), np.empty(0, dtype)
    pattern = Block._trusted(rows, rows + 1, (k + rows).astype(np.int32), 2 * k)
    none = Block._trusted(np.zeros(2 * k, np.int64), np.zeros(2 * k, np.int64), rows[:0], k)
    return Adjacency(pattern, np.ones(k, dtype), nothing, none)


def edge_values(graph, model, dtype):
    """Return, for every edge (v, u), what a model multiplies the row of u by at v; shape (e,).

    1 / deg v for "sage". For "gcn" the entry of `sym_norm`, but 0 for a self-loop: a node's own
    row has its own weight.
    """
    degrees = graph.degrees()
    if model == "sage":
        return np.repeat(1 / np.maximum(degrees, 1), degrees).astype(dtype)
    receiving = np.repeat(np.arange(graph.n), degrees)
    values = 1 / np.sqrt((degrees[receiving] + 1) * (degrees[graph.indices] + 1))
    return np.where(receiving == graph.indices, 0, values).astype(dtype)


def with_histories(sampled, block, computed, receiving, graph, P):
    """Return the matrix (S, P - S) of the rows (h, h'), and the nodes of these rows.

    The gradient of h' is not computed: the transpose has empty rows there. A node that has all of
    its neighbours sampled needs no histories. O(k log k) time for k neighbours.

    Parameters
    ----------
    sampled : Adjacency
        S, from `block_norm`: it scales what was sampled up to all neighbours.
    block : Block
        What it was made of, with `edge_ids` in `graph`.
    computed, receiving : int32 arrays
        The sources and the destinations of `block`; `computed` begins with `receiving`.
    graph : Graph
    P : (e,) array
        From `edge_values`.

    Returns
    -------
    (Adjacency, int32 array)
        Each row has the entries of S first, then those for histories in the order of the graph.
        The nodes are `computed`, then those whose histories are read, ascending.
    """
    degrees, taken = graph.degrees()[receiving], block.degrees()
    short = taken < degrees  # rows
    positions, ends = rows_of(graph, receiving[short])
    weights = P[positions]
    row, scale = np.repeat(np.arange(len(receiving)), taken), degrees / np.maximum(taken, 1)
    drawn = block.edge_ids - graph.start[receiving][row]  # the place in its row
    begin = np.zeros(len(receiving), np.int64)
    begin[short] = ends - degrees[short]
    at, row = (begin[row] + drawn)[short[row]], row[short[row]]
    weights[at] *= (1 - scale[row]).astype(weights.dtype)
    others, place = np.unique(graph.indices[positions], return_inverse=True)

    first = sampled.graph.degrees()
    lengths = first + np.where(short, degrees, 0)
    end = np.cumsum(lengths)
    own = np.repeat(end - lengths, first) + _within(first)
    history = np.repeat((end - lengths + first)[short], degrees[short]) + _within(degrees[short])
    indices, data = np.empty(lengths.sum(), np.int32), np.empty(lengths.sum(), weights.dtype)
    indices[own], data[own] = sampled.graph.indices, sampled.data
    indices[history], data[history] = len(computed) + place, weights

    pattern = Block._trusted(end - lengths, end, indices, len(computed) + len(others))
    t, none = sampled.graph_t, np.full(len(others), sampled.graph_t.e)
    t = Block._trusted(
        np.concatenate([t.start, none]), np.concatenate([t.end, none]), t.indices, t.n_src
    )
    return Adjacency(pattern, data, sampled.data_t, t), np.concatenate([computed, others])


def _within(lengths):
    """Return 0 .. k - 1 for every length k, one behind the other."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
