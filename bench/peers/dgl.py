"""DGL: steps by its layers and autograd, GraphSAINT's samplers, neighbours of neighbours.

The graph has 32-bit ids where DGL lets it; all its formats are made beforehand. DGL has no layer of
MixHop, and its products are no operations that torch.compile sees into.
"""

import os

import numpy as np

os.environ["DGLBACKEND"] = "pytorch"  # else it writes a file into the home

import dgl  # noqa: E402
import torch  # noqa: E402
from dgl.dataloading import SAINTSampler  # noqa: E402
from dgl.nn import GATConv, GraphConv  # noqa: E402
from torch.nn import Linear, functional  # noqa: E402

from bench.peers.protocol import MissingError, serve  # noqa: E402
from bench.peers.steps import Step, arrays, versions  # noqa: E402


def graph_of(held, ids=torch.int32):
    """Return a graph whose entries stand by receivers, in the order of the arrays."""
    parts = [torch.from_numpy(held[name]).to(ids) for name in ("indptr", "indices")]
    numbers = torch.arange(len(parts[1]), dtype=ids)  # without them its weighted product fails
    graph = dgl.graph(("csc", (*parts, numbers)), idtype=ids)
    graph = graph.formats(["coo", "csc", "csr"])
    graph.create_formats_()
    return graph


class Model:
    """Two layers, a classifier and softmax cross entropy."""

    def __init__(self, case, held):
        self.kind, hidden = case["model"], case["hidden"]
        if self.kind == "mixhop":
            raise MissingError("no MixHop layer")
        self.graph = graph_of(held)
        self.data = torch.from_numpy(held["data"])
        self.X, self.labels = torch.from_numpy(held["X"]), torch.from_numpy(held["labels"])
        self.layers, self.named, self.turned = [], {}, {"classifier.W"}
        for i, f_in in enumerate((case["f"], hidden)):
            made, straight, turned = layer(self.kind, f_in, hidden)
            self.layers.append(made)
            self.named |= {f"layer{i + 1}.{name}": W for name, W in (straight | turned).items()}
            self.turned |= {f"layer{i + 1}.{name}" for name in turned}
        self.top = Linear(hidden, case["classes"], bias=False)
        self.named["classifier.W"] = self.top.weight
        for name, W in self.named.items():
            array = torch.from_numpy(held[name])
            W.data = self.other_way(name, array[None] if W.dim() == 3 else array).contiguous()

    def other_way(self, name, array):
        """Return an array of ours as DGL lays it out, or one of DGL's as we do."""
        return array.T if name in self.turned else array

    def forward(self, made, x):
        """Return what a layer makes of x."""
        if self.kind == "sage":
            neigh, own = made
            return torch.cat([neigh(self.graph, x), own(x)], 1).relu()
        if self.kind == "gcn":
            return made(self.graph, x, edge_weight=self.data).relu()
        return made(self.graph, x)[:, 0].relu()

    def parameters(self):
        """Return the weights by our names."""
        return self.named

    def backward(self):
        """Set each weight's gradient; return the loss."""
        for W in self.named.values():
            W.grad = None
        x = self.X
        for made in self.layers:
            x = self.forward(made, x)
        loss = functional.cross_entropy(self.top(x), self.labels)
        loss.backward()
        return loss

    def gradients(self):
        """Return the gradients by name, in our layout."""
        return {
            name: W.grad[0] if W.dim() == 3 else self.other_way(name, W.grad)
            for name, W in self.named.items()
        }


def layer(kind, f_in, f_out):
    """Return a layer and its parameters by our names: those laid out as ours, and the turned."""
    lone = {"bias": False, "allow_zero_in_degree": True}
    if kind == "sage":  # SAGEConv adds its halves: GraphConv's mean is the one of the neighbours
        neigh = GraphConv(f_in, f_out - f_out // 2, norm="right", **lone)
        own = Linear(f_in, f_out // 2, bias=False)
        return (neigh, own), {"W_neigh": neigh.weight}, {"W_self": own.weight}
    if kind == "gcn":
        made = GraphConv(f_in, f_out, norm="none", **lone)
        return made, {"W": made.weight}, {}
    made = GATConv(f_in, f_out, 1, **lone)
    return made, {"a_recv": made.attn_r, "a_send": made.attn_l}, {"W": made.fc.weight}


class Subgraphs:
    """`SAINTSampler` by edges or walks."""

    def __init__(self, path, kind, options, _nodes):
        dgl.seed(1)
        torch.manual_seed(1)
        with np.load(path) as held:
            self.graph = graph_of(held, torch.int64)  # walks start at nodes of 64 bits
        budget = options["b"] if kind == "edge" else (options["r"], options["h"])
        self.sampler = SAINTSampler("edge" if kind == "edge" else "walk", budget)

    def __call__(self):
        return self.sampler.sample(self.graph, None)

    def answer(self):
        """Return a subgraph's nodes and the global ends of its entries."""
        drawn = self()
        nodes = drawn.ndata[dgl.NID].numpy()
        cols, rows = (nodes[ends.numpy()] for ends in drawn.edges())
        return {"nodes": nodes, "rows": rows, "cols": cols}


class Batches:
    """Blocks of sampled neighbours: in one kernel a hop ("fused"), or in two ("plain").

    The one kernel has a mapping of all nodes, new for each batch or, as in DGL's NeighborSampler,
    "kept". It is cleared as one of 64 bits: kept on a graph of 32, later batches lack nodes.
    """

    def __init__(self, path, fanouts, way):
        dgl.seed(1)
        ids = torch.int64 if way == "kept" else torch.int32
        with np.load(path) as held:
            self.graph = graph_of(held, ids)
            self.batches = torch.from_numpy(held["batches"]).to(ids)
        self.fanouts, self.way, self.mapping, self.next = fanouts, way, {}, 0

    def hop(self, roots, fanout):
        if self.way == "plain":
            return dgl.to_block(dgl.sampling.sample_neighbors(self.graph, roots, fanout), roots)
        return dgl.sampling.sample_neighbors_fused(self.graph, roots, fanout, mapping=self.mapping)

    def __call__(self):
        roots = self.batches[self.next % len(self.batches)]
        self.next += 1
        if self.way == "fused":
            self.mapping = {}
        blocks = []
        for fanout in self.fanouts:
            blocks.append(self.hop(roots, fanout))
            roots = blocks[-1].srcdata[dgl.NID]
        return blocks

    def answer(self):
        """Return (global receiver, sender) of every edge, the roots and all nodes of a batch."""
        self()  # what a batch leaves behind must not change the next
        blocks, ends = self(), []
        for block in blocks:
            u, v = block.edges()
            to = block.dstdata[dgl.NID][v.long()]
            ends.append(torch.stack([to, block.srcdata[dgl.NID][u.long()]]))
        receivers, senders = torch.cat(ends, 1).numpy()
        return {
            "receivers": receivers,
            "senders": senders,
            "roots": blocks[0].dstdata[dgl.NID].numpy(),
            "nodes": blocks[-1].srcdata[dgl.NID].numpy(),
        }


def step(case):
    """Return a step."""
    return Step(Model(case, arrays(case)))


if __name__ == "__main__":
    serve(
        {"step": step, "batches": Batches, "subgraphs": Subgraphs},
        versions=lambda: versions("dgl"),
    )
