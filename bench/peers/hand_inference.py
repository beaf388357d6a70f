"""The exact pass over a whole graph in plain torch: 32-bit indices, buffers kept.

Layers are in our order of products; GraphSAGE adds its halves, attention takes a softmax.
"""

import torch

from bench.peers.hand_written import Layer, Sparse, part, product
from bench.peers.steps import arrays


class Gcn(Layer):
    def forward(self, X):
        W, b, A = self.W["W"], self.W["b"], self.sparse.A
        Z = self.buffer("Z", len(X), W.shape[1])
        if self.order[0] == 1:
            return torch.addmm(b, product(A, X, self.buffer("AX", *X.shape)), W, out=Z)
        return product(A, torch.mm(X, W, out=self.buffer("XW", *Z.shape)), Z).add_(b)


class Sage(Layer):
    def forward(self, X):
        W_neigh, A = self.W["W_neigh"], self.sparse.A
        Z = self.buffer("Z", len(X), W_neigh.shape[1])
        torch.addmm(self.W["b"], X, self.W["W_self"], out=Z)
        if self.order[0] == 1:
            return Z.addmm_(product(A, X, self.buffer("AX", *X.shape)), W_neigh)
        XW = torch.mm(X, W_neigh, out=self.buffer("XW", *Z.shape))
        return torch.addmm(Z, A, XW, out=Z)


class Gat(Layer):
    def forward(self, X):
        s, W = self.sparse, self.W["W"]
        H = torch.mm(X, W, out=self.buffer("H", len(X), W.shape[1]))
        sigma, tau = H @ self.W["a_recv"][0], H @ self.W["a_send"][0]
        beta = torch.nn.functional.leaky_relu_(sigma[s.rows] + tau[s.senders], 0.2)
        beta -= torch.segment_reduce(beta, "max", offsets=s.offsets)[s.rows]
        P = s.A.values().copy_(beta.exp_())
        P /= s.sums(P)[s.rows]
        return product(s.A, H, self.buffer("Z", *H.shape)).add_(self.W["b"])


LAYERS = {"sage": Sage, "gcn": Gcn, "gat": Gat}


class Inference:
    """Two layers, the last of which gives the logits."""

    def __init__(self, case):
        held = arrays(case)
        held |= {"perm": held["indices"], "data_t": held["data"]}  # no gradients: no transpose
        self.X, self.logits, sparse = torch.from_numpy(held["X"]), None, Sparse(held)
        self.layers = [
            LAYERS[case["model"]](sparse, part(held, place), order, first=True)
            for place, order in zip(("layer1.", "layer2."), case["orders"], strict=True)
        ]

    @torch.no_grad()
    def __call__(self):
        first, last = self.layers
        self.logits = last.forward(first.forward(self.X).relu_())

    def answer(self):
        """Return the logits."""
        self()
        return {"logits": self.logits.numpy()}
