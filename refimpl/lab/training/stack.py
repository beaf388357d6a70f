"""A stack of layers and a classifier over an implementation: forward, and back by hand."""

import math
from typing import Any

import numpy as np

from refimpl.lab.training.layers import LAYERS, DenseLayer, Relations, WithRowL2
from refimpl.streams import DROPOUT, INIT, key
from refimpl.typed import TypedGraph

BLOCK_KINDS = {"sage": "row", "gcn": "sym", "mixhop": "sym", "gat": "loop"}
ATTENTION = ("a_recv", "a_send")


class Stack:
    """L layers of one kind and a linear classifier; weights are a dict by name.

    The names are ``layer1.W_neigh``, .., ``classifier.W``. Layers take the operands that
    `operands` or `block_operands` returns, one each.
    """

    def __init__(self, gnn, config, f_in, classes, multilabel):
        self.gnn, self.config = gnn, config
        widths = [f_in] + [config.hidden] * config.layers
        kind = LAYERS[config.model]
        self.layers: dict[str, Any] = {
            f"layer{i + 1}": kind(gnn, config, widths[i], widths[i + 1], first=i == 0)
            for i in range(config.layers)
        }
        if config.row_l2:
            last = f"layer{config.layers}"
            self.layers[last] = WithRowL2(gnn, self.layers[last])
        self.layers["classifier"] = DenseLayer(
            gnn, config, config.hidden, classes, first=False, relu=config.classifier_relu
        )
        self.loss = gnn.sigmoid_cross_entropy if multilabel else gnn.softmax_cross_entropy

    def shapes(self):
        """Return the shape of every weight by its full name."""
        return {
            f"{place}.{name}": shape
            for place, layer in self.layers.items()
            for name, shape in layer.shapes.items()
        }

    def initial_weights(self, seed, dtype):
        """Return Glorot-uniform weights: entry c of matrix i of layer l is draw c of its key.

        The attention vector of a head counts as a matrix of one row. A bias is zero.
        """
        weights = {}
        for number, (place, layer) in enumerate(self.layers.items()):
            for index, (name, shape) in enumerate(layer.shapes.items()):
                if name == "b":
                    weights[f"{place}.{name}"] = np.zeros(shape, dtype)
                    continue
                rows, cols = shape
                limit = math.sqrt(6 / max((1 if name in ATTENTION else rows) + cols, 1))
                u = self.gnn.streams.uniform(
                    key(seed, INIT, number, index), np.arange(rows * cols, dtype=np.uint64)
                )
                W = ((2 * u - 1) * limit).reshape(rows, cols)
                weights[f"{place}.{name}"] = W.astype(dtype)
        return weights

    def adjacency(self, graph, transpose_perm=None, *, dtype):
        """Return the matrix that the model aggregates with on a whole graph; None for an MLP.

        Parameters
        ----------
        graph : Graph
            Undirected; a TypedGraph for R-GCN.
        transpose_perm : (e,) int64 array, optional
            From `transpose_perm`; without it there may be no backward pass.
        dtype : float32 or float64

        Returns
        -------
        Adjacency, Relations or None

        Raises
        ------
        TypeError, ValueError
            If the graph does not have the types that the model is for.
        """
        if self.config.model == "rgcn":
            self.check_types(graph)
            return self._relations(graph, graph, None, dtype)
        if self.config.model == "sage":
            return self.gnn.adjacency.row_norm(graph, transpose_perm, dtype=dtype)
        if self.config.model == "gat":
            return self.gnn.adjacency.loop_norm(graph, dtype=dtype)
        return (
            None if self.config.model == "mlp" else self.gnn.adjacency.sym_norm(graph, dtype=dtype)
        )

    def operands(self, A):
        """Return the operand of each layer where all aggregate with A."""
        return self._shared_out((A,) * self.config.reach)

    def block_operands(self, mfg, degrees, graph=None, *, dtype):
        """Return the operand of each layer on a message-flow graph.

        Parameters
        ----------
        mfg : MFG
            With as many blocks as ``config.reach``.
        degrees : (n,) integer array
            Of all nodes in the graph that it was sampled from.
        graph : TypedGraph, optional
            That graph, for R-GCN.
        dtype : float32 or float64

        Returns
        -------
        tuple
        """
        return self._shared_out(
            tuple(
                self.block_operand(block, sources, degrees, graph, dtype=dtype)
                for sources, block in zip(mfg.nodes, mfg.blocks, strict=False)
            )
        )

    def block_operand(self, block, sources, degrees, graph=None, *, dtype):
        """Return what one hop aggregates with on a Block, whose sources are these nodes."""
        if self.config.model == "rgcn":
            return self._relations(block, graph, sources, dtype)
        kind = BLOCK_KINDS.get(self.config.model)
        degrees = degrees[sources] if kind == "sym" else None
        return self.gnn.adjacency.block_norm(kind, block, degrees, dtype=dtype)

    def _relations(self, pattern, graph, sources, dtype):
        """Return the operand of an R-GCN layer; the types are those of `graph`."""
        norms = self.gnn.layers.relation_norms(
            pattern, graph.edge_types, graph.relations, dtype=dtype
        )
        types = graph.node_types
        return Relations(norms, types if sources is None or types is None else types[sources])

    def check_types(self, graph):
        """Raise unless the graph has the types that the model is for; any has, but for R-GCN."""
        config = self.config
        if config.model != "rgcn":
            return
        if not isinstance(graph, TypedGraph):
            raise TypeError(
                f'graph must be a TypedGraph where model is "rgcn", got {type(graph).__name__}'
            )
        if graph.relations != config.relations:
            raise ValueError(
                f"relations must be {graph.relations} as in the graph, got {config.relations}"
            )
        if config.node_types and not 0 < graph.kinds <= config.node_types:
            raise ValueError(
                f"node_types must be 0, or at least the {graph.kinds} of a graph that has types "
                f"of nodes, got {config.node_types}"
            )

    def _shared_out(self, hops):
        """Return each layer's part of the matrices of all hops."""
        layers, K = self.config.layers, self.config.hops
        if self.config.model == "mlp":
            return (None,) * layers
        if self.config.model == "mixhop":
            return tuple(hops[K * i : K * (i + 1)] for i in range(layers))
        return hops

    def forward(self, weights, operands, X, iteration=None):
        """Return the logits, and what `gradients` needs of this pass.

        Parameters
        ----------
        weights : dict of arrays
        operands : tuple
            One a layer.
        X : (n_src, f) float array
        iteration : int, optional
            Number of the training step from 0, which dropout's masks depend on. Without it
            nothing is dropped.

        Returns
        -------
        logits : (n_dst, C) array
        kept : dict
            By layer: its input as it was used, what its `backward` needs, the key of its mask.
        """
        kept = {}
        places = zip(self.layers.items(), (*operands, None), strict=True)
        for number, ((place, layer), A) in enumerate(places):  # J1:9 12
            mask = None
            if iteration is not None and self.config.dropout:
                mask = key(self.config.rng, DROPOUT, iteration, number)
                X = self.gnn.dropout(X, self.config.dropout, mask)
            Y, needed = layer.forward(weights_of(weights, place), A, X)
            kept[place] = X, needed, mask
            X = Y
        return X, kept

    def gradients(self, weights, operands, kept, G):
        """Return the gradient of every weight, from the gradient of the logits."""
        gradients = {}
        places = list(zip(self.layers.items(), (*operands, None), strict=True))
        for (place, layer), A in reversed(places):
            X, needed, mask = kept[place]
            dW, G = layer.backward(weights_of(weights, place), A, X, needed, G)
            if mask is not None and G is not None:
                G = self.gnn.dropout(G, self.config.dropout, mask)
            gradients.update({f"{place}.{name}": grad for name, grad in dW.items()})
        return gradients


def weights_of(weights, place):
    """Return one layer's weights by their short names."""
    prefix = place + "."
    return {name[len(prefix) :]: W for name, W in weights.items() if name.startswith(prefix)}
