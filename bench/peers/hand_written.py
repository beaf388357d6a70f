"""A careful step in plain torch: gradients by hand, every large result written to a kept buffer.

No autograd: it could not write to buffers, and new pages for 16 MB results cost as much as the
products. Sparse products go to MKL with 32-bit indices, both ways by a matrix of their own;
attention takes inner products at the entries (`sampled_addmm`), no array of entries x features.
"""

import torch
from torch.nn import functional

SLOPE = 0.2


class Sparse:
    """A and its transpose on one symmetric pattern; attention overwrites the values of both."""

    def __init__(self, held):
        self.offsets = torch.from_numpy(held["indptr"])
        self.senders = torch.from_numpy(held["indices"])
        self.perm = torch.from_numpy(held["perm"])
        lengths = self.offsets[1:] - self.offsets[:-1]
        self.n, self.e = len(lengths), len(self.senders)
        self.rows = torch.repeat_interleave(torch.arange(self.n, dtype=torch.int32), lengths)
        self.A, self.A_t = self.matrix(held["data"]), self.matrix(held["data_t"])

    def matrix(self, data):
        """Return values on the pattern as a sparse matrix; its `values()` can be overwritten."""
        offsets = self.offsets.to(torch.int32)
        values = torch.from_numpy(data).clone()  # each layer overwrites its own
        return torch.sparse_csr_tensor(offsets, self.senders, values, (self.n, self.n))

    def sums(self, values):
        """Return the sum of each row's values."""
        return torch.segment_reduce(values, "sum", offsets=self.offsets)


def product(A, X, out):
    """Write A X to `out`, A sparse."""
    return torch.addmm(out, A, X, beta=0, out=out)


def unmasked(G_out, Y, out):
    """Write to `out` the gradient before a ReLU whose result is Y."""
    return torch.ops.aten.threshold_backward.grad_input(G_out, Y, 0, grad_input=out)


class Layer:
    """A layer's weights, their gradients and its buffers; both passes overwrite them."""

    def __init__(self, sparse, weights, order, first):
        self.sparse, self.W, self.order, self.first = sparse, weights, order, first
        self.dW = {name: torch.empty_like(W) for name, W in weights.items()}
        self.buffers = {}

    def buffer(self, name, *shape):
        """Return the same array each time."""
        if name not in self.buffers:
            self.buffers[name] = torch.empty(shape)
        return self.buffers[name]


class Aggregating(Layer):
    """Z = A X W in the given order of products, for GCN and for one half of GraphSAGE."""

    def aggregate(self, X, W, Z):
        if self.order[0] == 1:
            torch.mm(product(self.sparse.A, X, self.buffer("AX", *X.shape)), W, out=Z)
        else:
            XW = torch.mm(X, W, out=self.buffer("XW", len(X), W.shape[1]))
            product(self.sparse.A, XW, Z)

    def aggregate_back(self, X, W, G, dW):
        """Write the gradient of W; return that of X, or None in the first layer."""
        _, dw, dx = self.order
        if dw == 1:
            torch.mm(self.buffer("AX", *X.shape).T, G, out=dW)
        else:
            AtG = product(self.sparse.A_t, G, self.buffer("AtG", *G.shape))
            torch.mm(X.T, AtG, out=dW)
        if self.first:
            return None
        dX = self.buffer("dX", *X.shape)
        if dx == 1:
            return torch.mm(AtG, W.T, out=dX)
        GW = torch.mm(G, W.T, out=self.buffer("GW", *X.shape))
        return product(self.sparse.A_t, GW, dX)


class Sage(Aggregating):
    def forward(self, X):
        W_neigh, W_self = self.W["W_neigh"], self.W["W_self"]
        h = W_neigh.shape[1]
        Z = self.buffer("Z", len(X), h + W_self.shape[1])
        self.aggregate(X, W_neigh, Z[:, :h])
        torch.mm(X, W_self, out=Z[:, h:])
        return Z.relu_()

    def backward(self, X, G_out):
        W_neigh, W_self = self.W["W_neigh"], self.W["W_self"]
        h = W_neigh.shape[1]
        G = unmasked(G_out, self.buffer("Z"), self.buffer("G", *G_out.shape))
        dX = self.aggregate_back(X, W_neigh, G[:, :h], self.dW["W_neigh"])
        torch.mm(X.T, G[:, h:], out=self.dW["W_self"])
        return None if dX is None else dX.addmm_(G[:, h:], W_self.T)


class Gcn(Aggregating):
    def forward(self, X):
        Z = self.buffer("Z", len(X), self.W["W"].shape[1])
        self.aggregate(X, self.W["W"], Z)
        return Z.relu_()

    def backward(self, X, G_out):
        G = unmasked(G_out, self.buffer("Z"), self.buffer("G", *G_out.shape))
        return self.aggregate_back(X, self.W["W"], G, self.dW["W"])


class Gat(Layer):
    """One head, softmax over each row's LeakyReLU scores."""

    def forward(self, X):
        s, W = self.sparse, self.W["W"]
        H = torch.mm(X, W, out=self.buffer("H", len(X), W.shape[1]))
        sigma, tau = H @ self.W["a_recv"][0], H @ self.W["a_send"][0]
        self.above = sigma[s.rows] + tau[s.senders]
        beta = functional.leaky_relu(self.above, SLOPE)
        beta -= torch.segment_reduce(beta, "max", offsets=s.offsets)[s.rows]
        P = s.A.values().copy_(beta.exp_())
        P /= s.sums(P)[s.rows]
        return product(s.A, H, self.buffer("Z", *H.shape)).relu_()

    def backward(self, X, G_out):
        s, W, H = self.sparse, self.W["W"], self.buffer("H")
        G = unmasked(G_out, self.buffer("Z"), self.buffer("G", *G_out.shape))
        P = s.A.values()
        Pi = torch.sparse.sampled_addmm(s.A, G, H.T, beta=0).values()
        d_beta = P * (Pi - s.sums(P * Pi)[s.rows])
        epsilon = torch.where(self.above > 0, d_beta, SLOPE * d_beta)
        d_sigma, d_tau = s.sums(epsilon), s.sums(epsilon[s.perm])
        torch.index_select(P, 0, s.perm, out=s.A_t.values())
        dH = product(s.A_t, G, self.buffer("dH", *H.shape))
        dH.addr_(d_sigma, self.W["a_recv"][0]).addr_(d_tau, self.W["a_send"][0])
        torch.mv(H.T, d_sigma, out=self.dW["a_recv"][0])
        torch.mv(H.T, d_tau, out=self.dW["a_send"][0])
        torch.mm(X.T, dH, out=self.dW["W"])
        return None if self.first else torch.mm(dH, W.T, out=self.buffer("dX", *X.shape))


class MixHop(Layer):
    """Powers up to `order` are taken of X, the others of the products with the weights."""

    def branches(self):
        """Yield (k, its W, its columns of the output)."""
        end = 0
        for k in range(len(self.W)):
            W = self.W[f"W{k}"]
            end += W.shape[1]
            yield k, W, slice(end - W.shape[1], end)

    def powers(self, X):
        return [X] + [self.buffer(f"B{j}", *X.shape) for j in range(1, self.order + 1)]

    def forward(self, X):
        B, A = self.powers(X), self.sparse.A
        for j in range(self.order):
            product(A, B[j], B[j + 1])
        Z = self.buffer("Z", len(X), sum(W.shape[1] for W in self.W.values()))
        for k, W, columns in self.branches():
            hops = max(k - self.order, 0)
            targets = [self.buffer(f"R{k}{i}", len(X), W.shape[1]) for i in range(hops)]
            targets.append(Z[:, columns])
            torch.mm(B[min(k, self.order)], W, out=targets[0])
            for here, there in zip(targets, targets[1:], strict=False):
                product(A, here, there)
        return Z.relu_()

    def backward(self, X, G_out):
        G = unmasked(G_out, self.buffer("Z"), self.buffer("G", *G_out.shape))
        B, A_t, T = self.powers(X), self.sparse.A_t, {}
        for k, W, columns in self.branches():
            R, j = G[:, columns], min(k, self.order)
            for i in range(k - j):
                R = product(A_t, R, self.buffer(f"R{k}{i}", len(X), W.shape[1]))
            torch.mm(B[j].T, R, out=self.dW[f"W{k}"])
            if not self.first and j in T:
                T[j].addmm_(R, W.T)
            elif not self.first:
                T[j] = torch.mm(R, W.T, out=self.buffer(f"T{j}", *X.shape))
        if self.first:
            return None
        for j in reversed(range(self.order)):
            T[j] += product(A_t, T[j + 1], self.buffer("AtT", *X.shape))
        return T[0]


LAYERS = {"sage": Sage, "gcn": Gcn, "gat": Gat, "mixhop": MixHop}


class HandWritten:
    """Two layers, a classifier and softmax cross entropy."""

    def __init__(self, case, held):
        self.X, self.labels = (
            torch.from_numpy(held["X"]),
            torch.from_numpy(held["labels"]),
        )
        self.layers = [
            LAYERS[case["model"]](
                Sparse(held),
                part(held, f"layer{i + 1}."),
                case["orders"][i],
                first=i == 0,
            )
            for i in range(2)
        ]
        self.top = Layer(None, {"W": torch.from_numpy(held["classifier.W"])}, None, first=False)
        self.each = torch.arange(len(self.labels))

    def parameters(self):
        """Return the weights by name."""
        places = zip(("layer1", "layer2", "classifier"), [*self.layers, self.top], strict=True)
        return {f"{place}.{name}": W for place, layer in places for name, W in layer.W.items()}

    @torch.no_grad()
    def backward(self):
        """Set each weight's gradient; return the loss."""
        X1 = self.layers[0].forward(self.X)
        X2 = self.layers[1].forward(X1)
        W = self.top.W["W"]
        scores = torch.log_softmax(X2 @ W, 1)
        loss = -scores[self.each, self.labels].mean()
        G = scores.exp_()
        G[self.each, self.labels] -= 1
        G /= len(G)
        torch.mm(X2.T, G, out=self.top.dW["W"])
        dX2 = torch.mm(G, W.T, out=self.top.buffer("dX", *X2.shape))
        dX1 = self.layers[1].backward(X1, dX2)
        self.layers[0].backward(self.X, dX1)
        for layer in (*self.layers, self.top):
            for name, weight in layer.W.items():
                weight.grad = layer.dW[name]
        return loss

    def gradients(self):
        """Return the gradients by name."""
        return {name: W.grad for name, W in self.parameters().items()}


def part(held, prefix):
    """Return one layer's weights by their short names."""
    return {
        name.removeprefix(prefix): torch.from_numpy(array)
        for name, array in held.items()
        if name.startswith(prefix)
    }
