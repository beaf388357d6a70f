"""A stack of layers and a classifier over an implementation: forward, and back by hand."""

import math

import numpy as np

from refimpl.scheduling import sage_order
from refimpl.streams import INIT, key


class SageLayer:
    """GraphSAGE, half of its output from the neighbours and half from the node itself."""

    def __init__(self, gnn, f_in, f_out, first):
        h_neigh = f_out - f_out // 2
        self.gnn, self.first = gnn, first
        self.shapes = {"W_neigh": (f_in, h_neigh), "W_self": (f_in, f_out // 2)}
        self.order = sage_order(f_in, h_neigh, first=first)  # A8:12 E-F3

    def forward(self, W, A, X):
        """Return the layer's output, and what `backward` needs of this pass."""
        out = self.gnn.sage_forward(A, X, W["W_neigh"], W["W_self"], self.order)  # A1:10
        return out.X_out, out

    def backward(self, W, A, X, out, G_out):
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        gradients = self.gnn.sage_backward(A, X, W["W_neigh"], W["W_self"], out, G_out, self.order)
        return {"W_neigh": gradients.W_neigh, "W_self": gradients.W_self}, gradients.X


class DenseLayer:
    """ReLU(X W): a layer that does not look at the graph; without `relu`, a classifier."""

    def __init__(self, gnn, f_in, f_out, first, relu=True):
        self.gnn, self.first, self.relu = gnn, first, relu
        self.shapes = {"W": (f_in, f_out)}

    def forward(self, W, A, X):
        """Return the layer's output, twice: `backward` needs it."""
        Y = self.gnn.dense_forward(X, W["W"], relu=self.relu)
        return Y, Y

    def backward(self, W, A, X, Y, G_out):
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        gradients = self.gnn.dense_backward(
            X, W["W"], Y, G_out, relu=self.relu, need_dx=not self.first
        )
        return {"W": gradients.W}, gradients.X


LAYERS = {"sage": SageLayer, "mlp": DenseLayer}


class Stack:
    """L layers of one kind and a linear classifier; weights are a dict by name.

    The names are ``layer1.W_neigh``, .., ``classifier.W``.
    """

    def __init__(self, gnn, config, f_in, classes, multilabel):
        widths = [f_in] + [config.hidden] * config.layers
        layer = LAYERS[config.model]
        self.layers = {
            f"layer{i + 1}": layer(gnn, widths[i], widths[i + 1], first=i == 0)
            for i in range(config.layers)
        }
        self.layers["classifier"] = DenseLayer(
            gnn, config.hidden, classes, first=False, relu=config.classifier_relu
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
        """Return Glorot-uniform weights: entry c of matrix i of layer l is draw c of its key."""
        weights = {}
        for number, (place, layer) in enumerate(self.layers.items()):
            for index, (name, (rows, cols)) in enumerate(layer.shapes.items()):
                limit = math.sqrt(6 / max(rows + cols, 1))
                u = layer.gnn.uniform(
                    key(seed, INIT, number, index), np.arange(rows * cols, dtype=np.uint64)
                )
                W = ((2 * u - 1) * limit).reshape(rows, cols)
                weights[f"{place}.{name}"] = W.astype(dtype)
        return weights

    def forward(self, weights, A, X):
        """Return the logits, and each layer's (input, kept) for `gradients`."""
        kept = {}
        for place, layer in self.layers.items():  # A1:9 12
            Y, needed = layer.forward(_part(weights, place), A, X)
            kept[place] = X, needed
            X = Y
        return X, kept

    def gradients(self, weights, A, kept, G):
        """Return the gradient of every weight, from the gradient of the logits."""
        gradients = {}
        for place, layer in reversed(self.layers.items()):
            dW, G = layer.backward(_part(weights, place), A, *kept[place], G)
            gradients.update({f"{place}.{name}": grad for name, grad in dW.items()})
        return gradients


def _part(weights, place):
    """Return one layer's weights by their short names."""
    prefix = place + "."
    return {name[len(prefix) :]: W for name, W in weights.items() if name.startswith(prefix)}
