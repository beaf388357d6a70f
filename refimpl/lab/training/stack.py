"""A stack of layers that gives logits, over an implementation: forward, and back by hand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from refimpl.adjacency import Adjacency
from refimpl.lab.training.models.base import DenseLayer, stages_of
from refimpl.lab.training.sparse_inputs import dropped_entries
from refimpl.streams import ATTENTION, DROPOUT, INIT, NODE_DROPOUT, key

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from refimpl.block import MFG, Block
    from refimpl.graph import Graph
    from refimpl.hints import Absent, FloatDtype, Floats, Ids, Matrix
    from refimpl.lab.hints import Weights
    from refimpl.lab.training.models.base import Input, ModelSettings, Shapes, StackConfig, Stage
    from refimpl.losses import Loss


class Stack:
    """L layers of one kind and a linear classifier, if the last layer is none; weights by name.

    The names are ``layer1.W_neigh``, .., ``classifier.W``. Layers take the operands that
    `operands` or `block_operands` returns, one each.
    """

    def __init__(
        self, gnn: Any, config: StackConfig, f_in: int, classes: int, multilabel: bool
    ) -> None:
        self.gnn, self.config, self.model = gnn, config, config.model
        self.f_in, self.classes = f_in, classes
        widths = [f_in] + [config.hidden] * config.layers
        below = config.layers - (config.classifier == "layer")
        self.layers: dict[str, Any] = {
            f"layer{i + 1}": self.model.layer(gnn, config, widths[i], widths[i + 1], first=i == 0)
            for i in range(below)
        }
        last = f"layer{config.layers}"
        if config.classifier == "layer":
            self.layers[last] = self.model.last_layer(
                gnn, config, widths[below], classes, first=below == 0
            )
        else:
            if config.row_l2:
                self.layers[last] = WithRowL2(gnn, self.layers[last], self.model)
            self.layers["classifier"] = DenseLayer(
                gnn, config, config.hidden, classes, first=False, relu=config.classifier_relu
            )
        self.multilabel = multilabel

    @property
    def top(self) -> str:
        """The name of what gives the logits: ``classifier``, or the last layer."""
        return list(self.layers)[-1]

    def loss(self, logits: Matrix[Any], Y: Matrix[Any], weights: Floats[Any] | None = None) -> Loss:
        """Return the loss and its gradient: sigmoid or softmax, by the labels."""
        gnn = self.gnn
        loss = gnn.sigmoid_cross_entropy if self.multilabel else gnn.softmax_cross_entropy
        return loss(logits, Y, weights)

    def shapes(self) -> Shapes:
        """Return the shape of every weight by its full name."""
        return {
            f"{place}.{name}": shape
            for place, layer in self.layers.items()
            for name, shape in layer.shapes.items()
        }

    def initial_weights(self, seed: int, dtype: FloatDtype) -> Weights:
        """Return Glorot-uniform weights: entry c of matrix i of layer l is draw c of its key.

        The attention vector of a head counts as a matrix of one row. A bias is zero.
        """
        weights: Weights = {}
        for number, (place, layer) in enumerate(self.layers.items()):
            for index, (name, shape) in enumerate(layer.shapes.items()):
                if name == "b":
                    weights[f"{place}.{name}"] = np.zeros(shape, dtype)
                    continue
                rows, cols = shape
                fan_in = 1 if name in getattr(layer, "vectors", ()) else rows
                limit = math.sqrt(6 / max(fan_in + cols, 1))
                u = self.gnn.streams.uniform(
                    key(seed, INIT, number, index), np.arange(rows * cols, dtype=np.uint64)
                )
                W = ((2 * u - 1) * limit).reshape(rows, cols)
                weights[f"{place}.{name}"] = W.astype(dtype)
        return weights

    def adjacency(
        self, graph: Graph, transpose_perm: Ids | None = None, *, dtype: FloatDtype
    ) -> Any:
        """Return what the model aggregates with on a whole graph; None for an MLP.

        Parameters
        ----------
        graph : Graph
            Undirected; a TypedGraph for R-GCN.
        transpose_perm : (e,) int32 array, optional
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
        return self.model.adjacency(self.gnn, graph, transpose_perm, dtype)

    def operands(self, A: Any) -> tuple[Any, ...]:
        """Return the operand of each layer where all aggregate with A."""
        return (self.operand(A),) * self.depth

    def operand(self, A: Any) -> Any:
        """Return the operand of every layer where all aggregate with A."""
        return self.model.operand((A,) * self.model.hops_a_layer)

    def block_operands(self, mfg: MFG, graph: Graph, *, dtype: FloatDtype) -> tuple[Any, ...]:
        """Return the operand of each layer on a message-flow graph.

        Parameters
        ----------
        mfg : MFG
            With as many blocks as ``config.reach``.
        graph : Graph
            That it was sampled from.
        dtype : float32 or float64

        Returns
        -------
        tuple
        """
        model, K = self.model, self.model.hops_a_layer
        hops = tuple(
            model.block_operand(self.gnn, block, sources, graph, dtype)
            for sources, block in zip(mfg.nodes, mfg.blocks, strict=False)
        )
        return tuple(model.operand(hops[K * i : K * (i + 1)]) for i in range(self.depth))

    @property
    def depth(self) -> int:
        """How many layers there are, without a linear classifier."""
        return self.config.layers

    def forward(
        self, weights: Weights, operands: tuple[Any, ...], X: Input, iteration: int | None = None
    ) -> tuple[Matrix[Any], dict[str, Any]]:
        """Return the logits, and what `gradients` needs of this pass.

        Parameters
        ----------
        weights : dict of arrays
        operands : tuple
            One a layer.
        X : (n_src, f) float array
        iteration : int, optional
            Number of the training step from 0, which dropout's masks depend on, those of
            attention too. Without it nothing is dropped.

        Returns
        -------
        logits : (n_dst, C) array
        kept : dict
            By layer: its input as it was used, what its `backward` needs, the key of its mask.
        """
        passes = Passes(self, weights, iteration)
        for l, A in enumerate(operands, start=1):
            X = passes.forward(l, A, X)
        logits = passes.classify(X)
        kept = (needed for _, *needed in passes.kept.values())
        return logits, dict(zip(self.layers, kept, strict=True))

    def gradients(
        self, weights: Weights, operands: tuple[Any, ...], kept: dict[str, Any], G: Matrix[Any]
    ) -> Weights:
        """Return the gradient of every weight, from the gradient of the logits.

        What `kept` and `G` hold is used up: layers write over it.
        """
        passes = Passes(self, weights)
        operands = (*operands, None)  # the last one is a linear classifier's, if there is one
        for l, (place, A) in enumerate(zip(list(kept), operands, strict=False), start=1):
            passes.kept[l] = A, *kept.pop(place)
        for l in range(len(passes.kept), 0, -1):
            G = passes.backward(l, G)
        return passes.gradients


def attention_keys(
    gnn: ModuleType,
    layer: Any,
    config: StackConfig,
    iteration: int | None,
    number: int,
    A: Any,
    nodes: Ids | None = None,
) -> dict[str, Any]:
    """Return, as an argument of `forward`, a key for each row of a layer that draws in training.

    Layer `number` is from 0; its input has a row for each of `nodes`, those of its output first.
    Without them the number of a row stands for its node.
    """
    if iteration is None or not getattr(layer, "draws", False):
        return {}
    n_dst = A.graph.n_dst
    rows = np.arange(n_dst) if nodes is None else nodes[:n_dst]
    keys = gnn.streams.key(config.rng, ATTENTION, iteration, number, rows.astype(np.uint64))
    return {"keys": keys}


def weights_of(weights: Weights, place: str) -> Weights:
    """Return one layer's weights by their short names."""
    prefix = place + "."
    return {name[len(prefix) :]: W for name, W in weights.items() if name.startswith(prefix)}


class Passes:
    """Forward and back through a stack in one iteration, a layer at a time.

    It is the `model` of `graph_iteration`. Layer l is from 1 to L, a linear classifier is layer
    L + 1; where the last layer is the classifier, nothing stands behind it, and layer L + 1 passes
    on what it is given. Without the number of an `iteration` nothing is dropped.

    Where `nodes` are given, a layer's input has a row for each of them, those of its output first.
    A node then has one dropout mask in each layer, whichever rows there are: its key is (rng,
    NODE_DROPOUT, iteration, l - 1, node), that of its attention (rng, ATTENTION, iteration, l - 1,
    node). These rows are kept because other layers read them. Without `nodes`, or in a layer that
    is `spent`, `backward` overwrites them.
    """

    def __init__(self, stack: Stack, weights: Weights, iteration: int | None = None) -> None:
        self.gnn, self.weights, self.iteration = stack.gnn, weights, iteration
        self.config, self.places = stack.config, list(stack.layers.items())
        self.depth, self.loss = stack.depth, stack.loss
        self.kept: dict[int, Any] = {}  # by layer: A, its input as it was used, what else
        self.nodes: dict[int, Ids] = {}  # by layer: those of the rows of its input
        self.spent: set[int] = set()  # layers whose output, and its gradient, only they read
        self.gradients: Weights = {}
        self.own = True  # whether G may be overwritten: its layer does not need it any more

    def forward(self, l: int, A: Any, X: Input, nodes: Ids | None = None) -> Matrix[Any]:
        """Return the output of layer `l` from its input X."""
        place, layer = self.places[l - 1]
        X, mask = self._dropped(l, X, nodes)
        drawn = attention_keys(self.gnn, layer, self.config, self.iteration, l - 1, A, nodes)
        Y: Matrix[Any]
        Y, needed = layer.forward(weights_of(self.weights, place), A, X, **drawn)
        self.kept[l] = A, X, needed, mask
        if nodes is not None:
            self.nodes[l] = nodes
        return Y

    def again(self, l: int, A: Any, arranged: Callable[[Any], Any]) -> Matrix[Any]:
        """Return what layer `l` makes of its input's rows, `arranged` anew, with another matrix.

        The rows are those that `forward` used, after dropout. Nothing is kept for `backward`.
        """
        place, layer = self.places[l - 1]
        _, X, _, _ = self.kept[l]
        nodes = arranged(self.nodes[l])
        drawn = attention_keys(self.gnn, layer, self.config, self.iteration, l - 1, A, nodes)
        return layer.forward(weights_of(self.weights, place), A, arranged(X), **drawn)[0]

    def classify(self, X: Matrix[Any], nodes: Ids | None = None) -> Matrix[Any]:
        """Return the logits, from the rows of the last layer."""
        if self.config.classifier == "layer":
            return X
        return self.forward(len(self.places), None, X, nodes)

    def backward(self, l: int, G: Matrix[Any], rows: int | None = None) -> Matrix[Any] | Absent:
        """Keep the gradients of the weights of layer `l`; return that of its input.

        Parameters
        ----------
        l : int
        G : array
            The gradient of its output; without `nodes` it is used up.
        rows : int, optional
            Only so many first rows of the input have a gradient: the others are constants.

        Returns
        -------
        array or None
            None in the first layer.
        """
        if l > len(self.places):
            return G
        place, layer = self.places[l - 1]
        by_node = l in self.nodes
        A, X, needed, mask = self.kept[l] if by_node else self.kept.pop(l)
        overwrites = getattr(layer, "overwrites", False)
        own = l in self.spent or self.own and not by_node
        reuse = {"overwrite": own} if overwrites else {}
        dW, G = layer.backward(weights_of(self.weights, place), A, X, needed, G, **reuse)
        self.own = overwrites or mask is not None
        self.gradients |= {f"{place}.{name}": grad for name, grad in dW.items()}
        if G is None:
            return None
        if rows is not None:
            G, mask = G[:rows], mask if mask is None else mask[:rows]
        return G if mask is None else self.gnn.dropout(G, self.config.dropout, mask)

    def _dropped(self, l: int, X: Input, nodes: Ids | None) -> tuple[Input, Any]:
        """Return X with the dropout of layer l's input, and the key of the mask, or of each row."""
        if self.iteration is None or not self.config.dropout:
            return X, None
        seed = self.config.rng
        if nodes is None:
            mask = key(seed, DROPOUT, self.iteration, l - 1)
        else:
            ids = nodes.astype(np.uint64)
            mask = self.gnn.streams.key(seed, NODE_DROPOUT, self.iteration, l - 1, ids)
        if isinstance(X, Adjacency):
            return dropped_entries(self.gnn, X, self.config.dropout, mask), mask
        return self.gnn.dropout(X, self.config.dropout, mask), mask


class BlockModel:
    """A run's layers as `fresh_iteration` asks for them, the classifier behind the last."""

    def __init__(self, run: Any) -> None:
        self.run = run
        self.passes: Passes = run.passes()
        self.latest: Any = None  # the rows that `forward` returned

    def forward(self, l: int, block: Block, nodes: Ids, H: Input) -> Matrix[Any]:
        """Return the rows of layer l from those of layer l - 1: FreshGNN Equation 1."""
        if l > 1 and H is not self.latest:  # copies, beside rows of the cache
            self.passes.spent.add(l - 1)
        self.latest = self.passes.forward(l, self.run.block_operand(block, nodes), H, nodes)
        return self.latest

    def loss(self, H: Matrix[Any], nodes: Ids) -> tuple[float, Matrix[Any]]:
        """Return the loss, and its gradient by the rows of the last layer."""
        run = self.run
        logits = self.passes.classify(H, nodes)
        loss = run.stack.loss(logits, *run.targets(nodes))
        return loss.value, self.passes.backward(run.config.layers + 1, loss.gradient)

    def backward(self, l: int, G: Matrix[Any]) -> Matrix[Any] | Absent:
        """Keep the gradients of the weights of layer l; return that of the rows below."""
        return self.passes.backward(l, G)

    @property
    def gradients(self) -> Weights:
        """The gradients of all weights, by name."""
        return self.passes.gradients


class ForwardOnly(BlockModel):
    """A run's layers below the last, as `fresh_iteration` asks for them, without a gradient."""

    gradients: ClassVar[Weights] = {}

    def __init__(self, run: Any) -> None:
        self.run, self.passes = run, run.forward_only()
        self.inputs: dict[int, int] = {}  # rows of the input of each layer

    def forward(self, l: int, block: Block, nodes: Ids, H: Input) -> Matrix[Any]:
        """Return the rows of layer l. Nobody keeps those of the last layer: they are zeros."""
        self.inputs[l] = len(nodes)
        if l < self.run.config.layers:
            return super().forward(l, block, nodes, H)
        return np.zeros((block.n_dst, 1), H.dtype)

    def loss(self, H: Matrix[Any], nodes: Ids) -> tuple[float, Matrix[Any]]:
        """Return no loss, and a gradient of zeros."""
        return 0.0, np.zeros_like(H)

    def backward(self, l: int, G: Matrix[Any]) -> Matrix[Any] | Absent:
        """Return a gradient of zeros, a column wide, for each row below."""
        return np.zeros((self.inputs[l], 1), G.dtype) if l > 1 else None


class WithRowL2:
    """Another layer, with the rows of its output scaled to length 1."""

    def __init__(self, gnn: ModuleType, layer: Any, model: ModelSettings) -> None:
        self.gnn, self.layer, self.model, self.shapes = gnn, layer, model, layer.shapes
        self.vectors = getattr(layer, "vectors", ())
        self.numbers_an_entry = getattr(layer, "numbers_an_entry", 0)
        self.numbers_a_row = getattr(layer, "numbers_a_row", 0)
        self.draws = getattr(layer, "draws", False)
        self.overwrites = getattr(layer, "overwrites", False)

    def forward(self, W: Weights, A: Any, X: Input, **drawn: Any) -> tuple[Matrix[Any], Any]:
        """Return the scaled output, and what `backward` needs of this pass."""
        Y, needed = self.layer.forward(W, A, X, **drawn)
        out = self.gnn.layers.row_l2_forward(Y)
        return out.Y, (needed, out)

    def backward(
        self, W: Weights, A: Any, X: Input, kept: tuple[Any, Any], G_out: Matrix[Any], **reuse: bool
    ) -> Any:
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        needed, out = kept
        G = self.gnn.layers.row_l2_backward(out, G_out)
        return self.layer.backward(W, A, X, needed, G, **reuse)

    def stages(self) -> list[Stage]:
        """Return the parts of an exact pass: the other layer's, its rows scaled in the last."""
        *others, last = stages_of(self.layer, self.model)

        def scaled(W: Weights, hops: tuple[Any, ...], X: Any) -> Any:
            return self.gnn.layers.row_l2_forward(last.run(W, hops, X)).Y

        return [*others, last._replace(run=scaled)]
