"""A step by torch's autograd and autocast: dense products in bfloat16, features kept in it.

Sparse products are MKL's in float32, which torch has not in bfloat16.
"""

import torch
from torch.nn import functional

from bench.peers.hand_written import Sparse, part, product
from bench.peers.protocol import MissingError


class Aggregation(torch.autograd.Function):
    """A X, with A^T G as its gradient."""

    @staticmethod
    def forward(ctx, X, sparse):
        ctx.sparse = sparse
        return product(sparse.A, X.float(), torch.empty(X.shape))

    @staticmethod
    def backward(ctx, G):
        return product(ctx.sparse.A_t, G.float().contiguous(), torch.empty(G.shape)), None


class Autocast:
    """Two layers of GraphSAGE or GCN in our order of products, and a classifier."""

    def __init__(self, case, held):
        if case["model"] not in ("sage", "gcn"):
            raise MissingError(f"no step of {case['model']} with autocast")
        self.X = torch.from_numpy(held["X"]).bfloat16()
        self.labels = torch.from_numpy(held["labels"])
        self.sparse, self.orders = Sparse(held), case["orders"]
        places = ("layer1", "layer2", "classifier")
        self.layers = [part(held, f"{place}.") for place in places]
        self.weights = {
            f"{place}.{name}": W.requires_grad_()
            for place, layer in zip(places, self.layers, strict=True)
            for name, W in layer.items()
        }

    def parameters(self):
        """Return the weights by name."""
        return self.weights

    def aggregate(self, X, W, order):
        """Return A X W."""
        if order[0] == 1:
            return Aggregation.apply(X, self.sparse) @ W
        return Aggregation.apply(X @ W, self.sparse)

    def layer(self, X, weights, order):
        """Return a layer's output."""
        if "W" in weights:
            return self.aggregate(X, weights["W"], order).relu()
        halves = self.aggregate(X, weights["W_neigh"], order), X @ weights["W_self"]
        return torch.cat([half.bfloat16() for half in halves], 1).relu()

    def backward(self):
        """Set each weight's gradient; return the loss."""
        with torch.autocast("cpu", torch.bfloat16):
            X = self.X
            for weights, order in zip(self.layers, self.orders, strict=False):
                X = self.layer(X, weights, order)
            scores = X @ self.layers[-1]["W"]
        loss = functional.cross_entropy(scores.float(), self.labels)
        for W in self.weights.values():
            W.grad = None
        loss.backward()
        return loss.detach()

    def gradients(self):
        """Return the gradients by name."""
        return {name: W.grad for name, W in self.weights.items()}
