"""The step made of torch_geometric's layers and autograd, its normalisation done beforehand.

GCN, GraphSAGE and MixHop get the adjacency as a sparse matrix, the path that multiplies without
an array of entries x features; attention gets edges, as its layer has no such path (and is
slower with a matrix). Indices are 32-bit where the layer allows it, as MKL wants them.
"""

import torch
from torch.nn import Linear, Module, Parameter, functional
from torch_geometric.nn import GATConv, GCNConv, MixHopConv, SAGEConv


class SageLayer(Module):
    """SAGEConv adds its halves: the one of the neighbours is used, and a linear one beside it."""

    def __init__(self, f_in, f_out):
        super().__init__()
        self.neigh = SAGEConv(f_in, f_out - f_out // 2, root_weight=False, bias=False)
        self.own = Linear(f_in, f_out // 2, bias=False)

    def forward(self, x, adjacency):
        return torch.cat([self.neigh(x, adjacency), self.own(x)], 1)

    def weights(self):
        return {"W_neigh": self.neigh.lin_l.weight, "W_self": self.own.weight}


def layer(model, f_in, f_out):
    """Return a layer and its parameters by our names."""
    if model == "sage":
        made = SageLayer(f_in, f_out)
        return made, made.weights()
    if model == "gcn":
        made = GCNConv(f_in, f_out, bias=False, normalize=False)
        return made, {"W": made.lin.weight}
    if model == "gat":
        made = GATConv(f_in, f_out, bias=False, add_self_loops=False)
        return made, {
            "W": made.lin.weight,
            "a_recv": made.att_dst,
            "a_send": made.att_src,
        }
    share = f_out // 3
    made = MixHopConv(f_in, share, add_self_loops=False, bias=False)
    made.lins[0] = Linear(f_in, f_out - 2 * share, bias=False)  # the first branch has the rest
    return made, {f"W{k}": made.lins[k].weight for k in range(3)}


def adjacency(model, held):
    """Return what the layers take as their graph."""
    offsets, senders = (
        torch.from_numpy(held["indptr"]),
        torch.from_numpy(held["indices"]),
    )
    n = len(offsets) - 1
    if model == "gat":
        receivers = torch.repeat_interleave(torch.arange(n), offsets[1:] - offsets[:-1])
        return torch.stack([senders.long(), receivers])
    data = torch.from_numpy(held["data"])
    data = data if model == "gcn" else torch.ones_like(data)
    index = torch.int64 if model == "mixhop" else torch.int32  # MixHopConv normalises by scatter
    return torch.sparse_csr_tensor(offsets.to(index), senders.to(index), data, (n, n))


class Geometric:
    """Two layers, a classifier and softmax cross entropy."""

    def __init__(self, case, held):
        model, hidden = case["model"], case["hidden"]
        self.adjacency = adjacency(model, held)
        self.X, self.labels = (
            torch.from_numpy(held["X"]),
            torch.from_numpy(held["labels"]),
        )
        self.layers, self.named = [], {}
        for i, f_in in enumerate((case["f"], hidden)):
            made, weights = layer(model, f_in, hidden)
            self.layers.append(made)
            self.named |= {f"layer{i + 1}.{name}": W for name, W in weights.items()}
        self.top = Linear(hidden, case["classes"], bias=False)
        self.named["classifier.W"] = self.top.weight
        for name, W in self.named.items():
            array = torch.from_numpy(held[name])
            W.data = (array[None] if W.dim() == 3 else array.T).contiguous()

    def parameters(self) -> dict[str, Parameter]:
        """Return the weights by our names."""
        return self.named

    def backward(self):
        """Set each weight's gradient; return the loss."""
        for W in self.named.values():
            W.grad = None
        x = self.X
        for made in self.layers:
            x = made(x, self.adjacency).relu()
        loss = functional.cross_entropy(self.top(x), self.labels)
        loss.backward()
        return loss

    def gradients(self):
        """Return the gradients by name, in our layout."""
        return {name: W.grad[0] if W.dim() == 3 else W.grad.T for name, W in self.named.items()}
