"""The layers that a stack is made of: each kind's weights, and its two passes by name.

A layer's operand is what it aggregates with: an Adjacency, for MixHop a tuple of one each hop,
for R-GCN a `Relations`, None for a layer without a graph. Its patterns are square (a subgraph) or
blocks (layer sampling).

The order of a layer's products is chosen once, from its widths (section 6.1). It is for square
patterns, where both orders have the same dense work. A block has fewer rows than columns, so
there the layer aggregates first, and multiplies the fewer rows by the weights.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from refimpl.adjacency import Adjacency
from refimpl.scheduling import ProductOrders, chain_order, mixhop_depth


class SageLayer:
    """GraphSAGE, half of its output from the neighbours and half from the node itself."""

    def __init__(self, gnn, config, f_in, f_out, first):
        h_neigh = f_out - f_out // 2
        self.gnn, self.concat = gnn, config.concat
        self.shapes = {"W_neigh": (f_in, h_neigh), "W_self": (f_in, f_out // 2)}
        self.shapes |= bias_shape(config, f_out)
        self.order = chain_order(f_in, h_neigh, first=first)  # J8:12 E-F3

    def forward(self, W, A, X):
        """Return the layer's output, and what `backward` needs of this pass."""
        order = order_on(A, self.order)
        out = self.gnn.sage_forward(
            A, X, W["W_neigh"], W["W_self"], order, b=W.get("b"), concat=self.concat
        )  # J1:10
        return out.X_out, out

    def backward(self, W, A, X, out, G_out):
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        gradients = self.gnn.sage_backward(
            A,
            X,
            W["W_neigh"],
            W["W_self"],
            out,
            G_out,
            order_on(A, self.order),
            b=W.get("b"),
            concat=self.concat,
        )
        return by_name(self, gradients), gradients.X


class GcnLayer:
    """The graph convolution of GCN."""

    def __init__(self, gnn, config, f_in, f_out, first):
        self.gnn = gnn
        self.shapes = {"W": (f_in, f_out), **bias_shape(config, f_out)}
        self.order = chain_order(f_in, f_out, first=first)  # J8:12

    def forward(self, W, A, X):
        """Return the layer's output, and what `backward` needs of this pass."""
        order = order_on(A, self.order)
        out = self.gnn.gcn_forward(A, X, W["W"], order, b=W.get("b"))  # J1:10
        return out.X_out, out

    def backward(self, W, A, X, out, G_out):
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        order = order_on(A, self.order)
        gradients = self.gnn.gcn_backward(A, X, W["W"], out, G_out, order, b=W.get("b"))
        return by_name(self, gradients), gradients.X


class MixHopLayer:
    """The powers 0 .. K of the adjacency, each with its own columns of the output.

    All have f_out over K + 1 columns, rounded down, and the first what is left.
    """

    def __init__(self, gnn, config, f_in, f_out, first):
        self.gnn, self.first = gnn, first
        share = f_out // (config.hops + 1)
        widths = [f_out - config.hops * share] + config.hops * [share]
        self.names = [f"W{k}" for k in range(config.hops + 1)]
        self.shapes = {name: (f_in, w) for name, w in zip(self.names, widths, strict=True)}
        self.shapes |= bias_shape(config, f_out)
        self.depth = mixhop_depth(f_in, widths, first=first)  # J8:12 E-F4

    def forward(self, W, A, X):
        """Return the layer's output, and what `backward` needs of this pass."""
        depth = depth_on(A, self.depth)
        out = self.gnn.mixhop_forward(A, X, self._branches(W), depth, b=W.get("b"))  # J1:10
        return out.X_out, out

    def backward(self, W, A, X, out, G_out):
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        gradients = self.gnn.mixhop_backward(
            A,
            X,
            self._branches(W),
            out,
            G_out,
            depth_on(A, self.depth),
            b=W.get("b"),
            need_dx=not self.first,
        )
        named = dict(zip(self.names, gradients.W, strict=True))
        return named if gradients.b is None else {**named, "b": gradients.b}, gradients.X

    def _branches(self, W):
        return tuple(W[name] for name in self.names)


class GatLayer:
    """Graph attention, its heads side by side."""

    def __init__(self, gnn, config, f_in, f_out, first):
        self.gnn, self.norm, self.first = gnn, config.attention, first
        vectors = (config.heads, f_out // config.heads)
        self.shapes = {"W": (f_in, f_out), "a_recv": vectors, "a_send": vectors}
        self.shapes |= bias_shape(config, f_out)

    def forward(self, W, A, X):
        """Return the layer's output, and what `backward` needs of this pass."""
        out = self.gnn.gat_forward(
            A, X, W["W"], W["a_recv"], W["a_send"], norm=self.norm, b=W.get("b")
        )  # J1:10
        return out.X_out, out

    def backward(self, W, A, X, out, G_out):
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        gradients = self.gnn.gat_backward(
            A,
            X,
            W["W"],
            W["a_recv"],
            W["a_send"],
            out,
            G_out,
            norm=self.norm,
            b=W.get("b"),
            need_dx=not self.first,
        )
        return by_name(self, gradients), gradients.X


class Relations(NamedTuple):
    """The operand of an R-GCN layer.

    Attributes
    ----------
    norms : tuple of R Adjacency
        One a relation.
    node_types : (n_src,) integer array or None
        Of the rows of the layer's input.
    """

    norms: tuple[Adjacency, ...]
    node_types: np.ndarray | None


class RgcnLayer:
    """R-GCN: a matrix for every relation, or `bases` for all of them, and one for the node."""

    def __init__(self, gnn, config, f_in, f_out, first):
        self.gnn, self.first = gnn, first
        self.names = [f"W{i}" for i in range(1, (config.bases or config.relations) + 1)]
        self.shapes = dict.fromkeys(["W_self", *self.names], (f_in, f_out))
        if config.bases:
            self.shapes["coefficients"] = config.relations, config.bases
        self.shapes |= bias_shape(config, f_out)

    def forward(self, W, A, X):
        """Return the layer's output, and what `backward` needs of this pass."""
        args, options = self._weights(W)
        out = self.gnn.rgcn_forward(A.norms, X, *args, **options)
        return out.X_out, out

    def backward(self, W, A, X, out, G_out):
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        args, options = self._weights(W)
        gradients = self.gnn.rgcn_backward(
            A.norms, X, *args, out, G_out, **options, need_dx=not self.first
        )
        named = dict(zip(self.names, gradients.W, strict=True))
        rest = self.shapes.keys() - named.keys()
        return named | {name: getattr(gradients, name) for name in rest}, gradients.X

    def _weights(self, W):
        options = {name: W.get(name) for name in ("coefficients", "b")}
        return ([W[name] for name in self.names], W["W_self"]), options


class WithProjections:
    """The first R-GCN layer, its input multiplied by the matrix of each row's type before."""

    def __init__(self, gnn, config, f_in, layer):
        self.gnn, self.layer = gnn, layer
        self.names = [f"P{kind}" for kind in range(config.node_types)]
        self.shapes = {**dict.fromkeys(self.names, (f_in, config.hidden)), **layer.shapes}

    def forward(self, W, A, X):
        """Return the layer's output, and what `backward` needs of this pass."""
        rows = [np.flatnonzero(A.node_types == kind) for kind in range(len(self.names))]
        H = np.empty((len(X), W["W_self"].shape[0]), X.dtype)
        for name, at in zip(self.names, rows, strict=True):
            H[at] = self.gnn.dense_forward(X[at], W[name], relu=False)
        Y, needed = self.layer.forward(W, A, H)
        return Y, (rows, H, needed)

    def backward(self, W, A, X, kept, G_out):
        """Return the gradients of the weights by name, and None: there is no layer below."""
        rows, H, needed = kept
        gradients, G = self.layer.backward(W, A, H, needed, G_out)
        for name, at in zip(self.names, rows, strict=True):
            of_type = self.gnn.dense_backward(
                X[at], W[name], H[at], G[at], relu=False, need_dx=False
            )
            gradients[name] = of_type.W
        return gradients, None


def rgcn_layer(gnn, config, f_in, f_out, first):
    """Return an R-GCN layer, the first with projections where the configuration has them."""
    if not first or not config.node_types:
        return RgcnLayer(gnn, config, f_in, f_out, first)
    layer = RgcnLayer(gnn, config, config.hidden, f_out, first=False)
    return WithProjections(gnn, config, f_in, layer)


class DenseLayer:
    """ReLU(X W): a layer that does not look at the graph; without `relu`, a classifier."""

    def __init__(self, gnn, config, f_in, f_out, first, relu=True):
        self.gnn, self.first, self.relu = gnn, first, relu
        self.shapes = {"W": (f_in, f_out), **bias_shape(config, f_out)}

    def forward(self, W, A, X):
        """Return the layer's output, twice: `backward` needs it."""
        Y = self.gnn.dense_forward(X, W["W"], relu=self.relu, b=W.get("b"))
        return Y, Y

    def backward(self, W, A, X, Y, G_out):
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        gradients = self.gnn.dense_backward(
            X, W["W"], Y, G_out, relu=self.relu, need_dx=not self.first, b=W.get("b")
        )
        return by_name(self, gradients), gradients.X


class WithRowL2:
    """Another layer, with the rows of its output scaled to length 1."""

    def __init__(self, gnn, layer):
        self.gnn, self.layer, self.shapes = gnn, layer, layer.shapes

    def forward(self, W, A, X):
        """Return the scaled output, and what `backward` needs of this pass."""
        Y, needed = self.layer.forward(W, A, X)
        out = self.gnn.layers.row_l2_forward(Y)
        return out.Y, (needed, out)

    def backward(self, W, A, X, kept, G_out):
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        needed, out = kept
        return self.layer.backward(W, A, X, needed, self.gnn.layers.row_l2_backward(out, G_out))


LAYERS: dict[str, Callable[..., Any]] = {
    "sage": SageLayer,
    "gcn": GcnLayer,
    "mixhop": MixHopLayer,
    "gat": GatLayer,
    "rgcn": rgcn_layer,
    "mlp": DenseLayer,
}


def order_on(A, order):
    """Return the order of products on A: `order` where it is square."""
    if A.graph.n_dst == A.graph.n_src:
        return order
    return ProductOrders(1, 1, 2 if order.dx else 0)


def depth_on(hops, depth):
    """Return MixHop's split depth on `hops`: `depth` where they are square."""
    square = all(A.graph.n_dst == A.graph.n_src for A in hops)
    return depth if square else len(hops)


def bias_shape(config, f_out):
    """Return the shape of a layer's bias by name, of none where the configuration has none."""
    return {"b": (f_out,)} if config.bias else {}


def by_name(layer, gradients):
    """Return the gradients of a layer's weights, which are called as the weights are."""
    return {name: getattr(gradients, name) for name in layer.shapes}
