"""A contestant that trains on sampled neighbours: this project, or torch_geometric.

No library is imported before it is asked for, so that either interpreter can run this.
"""

import numpy as np

from bench.peers.protocol import serve, versions_of


class Ours:
    """An epoch of a trainer."""

    def __init__(self, data, method, model, hidden, fanouts, batch, more):
        import fastimpl
        from bench.figures.training import settings
        from bench.training import data_set

        if method == "fresh":
            more = {"hotness": "none", **more}
        shared = {"layers": len(fanouts), "fanouts": tuple(fanouts), "lr": 0.003}
        config = settings(method, model=model, hidden=hidden, batch_size=batch, **shared, **more)
        dataset = data_set(data)
        self.trainer = fastimpl.make_trainer(dataset, config)
        self.steps = -(-len(dataset.roots) // batch)
        self.done = self.hits = self.lookups = 0

    def __call__(self):
        for _ in range(self.steps):
            counts = self.trainer.step().counts
            self.hits += counts.hits
            self.lookups += counts.lookups
        self.done += self.steps

    def answer(self):
        """Return the seconds of the parts so far, and what was counted."""
        counted = {"steps": self.done, "hits": self.hits, "lookups": self.lookups}
        return {**self.trainer.meter.seconds, **counted}


class Geometric:
    """An epoch of NeighborLoader, torch_geometric's layers, autograd and Adam."""

    def __init__(self, path, model, hidden, fanouts, batch):
        import torch
        from torch_geometric.data import Data
        from torch_geometric.loader import NeighborLoader

        torch.manual_seed(1)
        with np.load(path) as arrays:
            held = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
        n, senders = len(held["indptr"]) - 1, held["indices"].long()
        receivers = torch.repeat_interleave(torch.arange(n), held["indptr"].diff())
        edges = torch.stack([senders, receivers])
        self.loader = NeighborLoader(
            Data(x=held["X"], y=held["labels"], edge_index=edges),
            fanouts,
            input_nodes=held["roots"].long(),
            batch_size=batch,
            shuffle=True,
            is_sorted=True,
        )
        widths = [held["X"].shape[1]] + [hidden] * len(fanouts)
        made = [layer(model, *pair) for pair in zip(widths[:-1], widths[1:], strict=True)]
        self.layers = torch.nn.ModuleList(made)
        self.top = torch.nn.Linear(hidden, int(held["labels"].max()) + 1, bias=False)
        weights = [*self.layers.parameters(), *self.top.parameters()]
        self.optimizer, self.done = torch.optim.Adam(weights, lr=0.003), 0

    def __call__(self):
        for batch in self.loader:
            self.step(batch)
            self.done += 1

    def step(self, batch):
        """Train on a batch; each layer has the rows that the next ones need, if it is known which.

        GCNConv counts degrees in what it is given, so trimming changes its numbers, not its work.
        """
        import torch
        from torch_geometric.utils import trim_to_layer

        x, edges = batch.x, batch.edge_index
        trimmed = "num_sampled_nodes" in batch  # pyg-lib says so, torch-sparse does not
        for i, each in enumerate(self.layers):
            if trimmed:
                sizes = batch.num_sampled_nodes, batch.num_sampled_edges
                x, edges, _ = trim_to_layer(i, *sizes, x, edges)
            x = torch.relu(each(x, edges))
        logits = self.top(x[: batch.batch_size])
        loss = torch.nn.functional.cross_entropy(logits, batch.y[: batch.batch_size])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def answer(self):
        """Return how many steps were done."""
        return {"steps": self.done}


def layer(model, f_in, f_out):
    """Return a layer of torch_geometric as wide as ours, whose halves stand side by side."""
    from torch_geometric.nn import GCNConv

    from bench.peers.geometric import SageLayer

    return GCNConv(f_in, f_out, bias=False) if model == "gcn" else SageLayer(f_in, f_out)


def versions():
    """Return the versions of what the peer is made of."""
    return versions_of(("torch", "torch_geometric", "pyg-lib", "torch_sparse"))


if __name__ == "__main__":
    serve({"ours": Ours, "PyG": Geometric}, versions=versions)
