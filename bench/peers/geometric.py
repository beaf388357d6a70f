"""torch_geometric: steps by its layers and autograd, its loaders of samples.

The adjacency is normalised beforehand. GCN, GraphSAGE and MixHop get it as a sparse matrix, the
path that multiplies without an array of entries x features and was the fastest, compiled or not;
attention gets edges, as its layer has no such path. Indices are 32-bit where the layer allows it,
as MKL wants them.
"""

import numpy as np
import torch
from torch.nn import Linear, Module, Parameter, functional
from torch_geometric import typing
from torch_geometric.data import Data
from torch_geometric.loader import GraphSAINTRandomWalkSampler, NeighborLoader
from torch_geometric.nn import GATConv, GCNConv, MixHopConv, SAGEConv

from bench.peers.geometric_inference import Inference
from bench.peers.protocol import serve
from bench.peers.steps import Step, arrays, versions


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


class Loader:
    """One of torch_geometric's loaders, without features, in the process that asks."""

    def __init__(self, make):
        torch.manual_seed(1)
        self.loader = make()
        self.iterator = iter(self.loader)

    def draw(self):
        """Return the next sample; the epoch begins anew at its end."""
        try:
            return next(self.iterator)
        except StopIteration:
            self.iterator = iter(self.loader)
            return next(self.iterator)

    def __call__(self):
        self.draw()


class Batches(Loader):
    """NeighborLoader on one of its two samplers."""

    def __init__(self, path, fanouts, backend):
        if backend == "pyg-lib":
            import pyg_lib  # noqa: F401  (missing, it is named as such)
        else:
            import torch_sparse  # noqa: F401
        self.on_pyg_lib = backend == "pyg-lib"
        with np.load(path) as held:
            data, batches = graph_of(held), held["batches"]
        super().__init__(
            lambda: NeighborLoader(
                data,
                fanouts,
                input_nodes=torch.from_numpy(batches.reshape(-1)).long(),
                batch_size=batches.shape[1],
                is_sorted=True,
            )
        )

    def draw(self):
        typing.WITH_PYG_LIB = self.on_pyg_lib  # what it asks, batch by batch
        return super().draw()

    def answer(self):
        """Return (global receiver, sender) of every edge, the roots and all nodes of a batch."""
        batch = self.draw()
        senders, receivers = batch.n_id[batch.edge_index].numpy()
        return {
            "receivers": receivers,
            "senders": senders,
            "roots": batch.n_id[: batch.batch_size].numpy(),
            "nodes": batch.n_id.numpy(),
        }


class Subgraphs(Loader):
    """GraphSAINT's sampler of walks, which needs torch-sparse."""

    def __init__(self, path, _kind, options, _nodes):
        import torch_sparse  # noqa: F401

        with np.load(path) as held:
            data = graph_of(held)
        data.n_id = torch.arange(data.num_nodes)
        super().__init__(
            lambda: GraphSAINTRandomWalkSampler(
                data, options["r"], options["h"], num_steps=2**30, log=False
            )
        )

    def answer(self):
        """Return a subgraph's nodes and the global ends of its entries."""
        drawn = self.draw()
        rows, cols = drawn.n_id[drawn.edge_index].numpy()
        return {"nodes": drawn.n_id.numpy(), "rows": rows, "cols": cols}


def graph_of(held):
    """Return a graph without features, its edges sorted by their receivers."""
    offsets, senders = torch.from_numpy(held["indptr"]), torch.from_numpy(held["indices"]).long()
    n = len(offsets) - 1
    receivers = torch.repeat_interleave(torch.arange(n), offsets[1:] - offsets[:-1])
    return Data(edge_index=torch.stack([senders, receivers]), num_nodes=n)


def step(case, way):
    """Return a step, eager or compiled."""
    return Step(Geometric(case, arrays(case)), compiled=way == "compiled")


def inference(case, way):
    """Return an exact pass, of the whole graph at once or layer by layer."""
    return Inference(case, way, adjacency)


if __name__ == "__main__":
    serve(
        {"step": step, "inference": inference, "batches": Batches, "subgraphs": Subgraphs},
        versions=lambda: versions("torch_geometric", "pyg-lib", "torch_sparse"),
    )
