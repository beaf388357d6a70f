"""A contestant that samples batches: this project's neighbour sampling, or NeighborLoader.

No library is imported before it is asked for, so that either interpreter can run this.
"""

import platform
from time import process_time

import numpy as np

from bench.peers.protocol import serve


class Ours:
    """`sample_mfg`, batch by batch, or several batches in one call."""

    def __init__(self, path, fanouts, mode, together):
        import fastimpl
        from refimpl import Graph

        with np.load(path) as arrays:
            self.graph = Graph(arrays["indptr"], arrays["indices"])
            self.batches = list(arrays["batches"])
        self.gnn, self.fanouts, self.together = fastimpl, fanouts, together
        self.options = {"seed": 1, "epoch": 0, "mode": mode}
        self.next = 0

    def draw(self):
        """Return the graphs of the next batches; numbers go on, so no draw is repeated."""
        first = self.next
        self.next += self.together
        if self.together == 1:
            roots = self.batches[first % len(self.batches)]
            return [
                self.gnn.sample_mfg(self.graph, roots, self.fanouts, batch=first, **self.options)
            ]
        batches = [self.batches[b % len(self.batches)] for b in range(first, self.next)]
        return self.gnn.samplers.sample_mfg_many(
            self.graph, batches, self.fanouts, first_batch=first, **self.options
        )

    def __call__(self):
        self.draw()

    def answer(self):
        """Return (global receiver, sender) of every edge, and the roots, of one batch."""
        mfg = self.draw()[0]
        edges = np.unique(np.concatenate([block.edge_ids for block in mfg.blocks]))
        row = np.searchsorted(self.graph.indptr, edges, side="right") - 1
        return {
            "receivers": row,
            "senders": self.graph.indices[edges],
            "roots": mfg.nodes[-1],
            "nodes": mfg.nodes[0],
        }


class Geometric:
    """torch_geometric's NeighborLoader without features, in the process that asks."""

    def __init__(self, path, fanouts):
        import torch
        from torch_geometric.data import Data
        from torch_geometric.loader import NeighborLoader

        torch.manual_seed(1)
        with np.load(path) as arrays:
            indptr, batches = torch.from_numpy(arrays["indptr"]), arrays["batches"]
            senders = torch.from_numpy(arrays["indices"]).long()
        n = len(indptr) - 1
        receivers = torch.repeat_interleave(torch.arange(n), indptr[1:] - indptr[:-1])
        data = Data(edge_index=torch.stack([senders, receivers]), num_nodes=n)
        self.loader = NeighborLoader(
            data,
            fanouts,
            input_nodes=torch.from_numpy(batches.reshape(-1)).long(),
            batch_size=batches.shape[1],
            is_sorted=True,
        )
        self.iterator = iter(self.loader)

    def draw(self):
        """Return the next batch; the epoch begins anew at its end."""
        try:
            return next(self.iterator)
        except StopIteration:
            self.iterator = iter(self.loader)
            return next(self.iterator)

    def __call__(self):
        self.draw()

    def answer(self):
        """Return what `Ours.answer` does."""
        batch = self.draw()
        senders, receivers = batch.n_id[batch.edge_index].numpy()
        return {
            "receivers": receivers,
            "senders": senders,
            "roots": batch.n_id[: batch.batch_size].numpy(),
            "nodes": batch.n_id.numpy(),
        }


def versions():
    """Return the versions of the peer's libraries; of torch_geometric's samplers, those found."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"Python": platform.python_version()}
    for name in ("torch", "torch_geometric", "pyg_lib", "torch_sparse"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


if __name__ == "__main__":
    serve({"ours": Ours, "PyG": Geometric}, versions=versions, spent=process_time)
