"""Ways of training a model of PyG on sampled neighbours: whose loader, and what the model is given.

PyG's are those that its documentation names for speed, as far as its backend has them. torch and
torch_geometric are imported when something is made.
"""

import warnings
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple

import fastimpl


class Way(NamedTuple):
    """How batches are loaded, and how a GraphSAGE of PyG makes logits of one.

    loader : loader(data, roots, fan-outs, batch size, workers, shuffle) -> iterable
    logits : logits(model, batch) -> the roots' first
    """

    loader: Callable
    logits: Callable


def ways():
    """Return the ways that this environment has, by (whose loader, what the model is given)."""
    from torch_geometric import typing

    found = {
        ("ours", "edge_index"): Way(ours, whole),
        ("ours", "edge_index, trimmed"): Way(ours, trimmed),
        ("ours", "adjs"): Way(partial(ours, adjs=True), by_layers),
    }
    if typing.WITH_PYG_LIB or typing.WITH_TORCH_SPARSE:
        found["PyG", "edge_index"] = Way(theirs, whole)
        found["PyG", "adj_t by ToSparseTensor"] = Way(partial(theirs, sparse=True), whole)
    if typing.WITH_PYG_LIB:  # torch-sparse does not count what a hop met
        found["PyG", "edge_index, trimmed"] = Way(theirs, trimmed)
    if typing.WITH_PYG_LIB and typing.WITH_TORCH_SPARSE:  # torch's own matrices cannot be trimmed
        found["PyG", "adj_t, trimmed"] = Way(partial(theirs, sparse=True), trimmed)
    if typing.WITH_TORCH_SPARSE:
        found["PyG", "adjs of NeighborSampler"] = Way(Former, by_layers)
    return found


def ours(data, roots, fanouts, batch, workers, shuffle=True, adjs=False):
    """Return our loader."""
    options = {"batch_size": batch, "num_workers": workers, "shuffle": shuffle, "seed": 0}
    return fastimpl.lab.pyg.NeighborLoader(data, fanouts, roots, adjs=adjs, **options)


def theirs(data, roots, fanouts, batch, workers, shuffle=True, sparse=False):
    """Return PyG's loader; its processes stay from epoch to epoch."""
    from torch_geometric.loader import NeighborLoader
    from torch_geometric.transforms import ToSparseTensor

    options = {"batch_size": batch, "num_workers": workers, "shuffle": shuffle, "is_sorted": True}
    options |= {"persistent_workers": True, "filter_per_worker": True} if workers else {}
    options |= {"transform": ToSparseTensor(remove_edge_index=False)} if sparse else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that torch-sparse will not be enough some day
        return NeighborLoader(data, fanouts, roots, **options)


class Former:
    """PyG's NeighborSampler, which NeighborLoader has replaced: a matrix for each layer.

    A node draws anew in every hop after it was met, so that there are more edges.
    """

    def __init__(self, data, roots, fanouts, batch, workers, shuffle=True):
        from torch_geometric.loader import NeighborSampler
        from torch_geometric.typing import SparseTensor

        options = {"batch_size": batch, "num_workers": workers, "shuffle": shuffle}
        options |= {"persistent_workers": True} if workers else {}
        sources, targets = data.edge_index
        size = data.num_nodes, data.num_nodes
        adj_t = SparseTensor(row=targets, col=sources, sparse_sizes=size)
        self.data = data
        self.loader = NeighborSampler(adj_t, fanouts, roots, return_e_id=False, **options)

    def __iter__(self):
        for batch_size, n_id, adjs in self.loader:
            layers = [adjs] if len(self.loader.sizes) == 1 else adjs
            x, y = self.data.x[n_id], self.data.y[n_id[:batch_size]]
            adjs = [layer.adj_t for layer in layers]
            yield SimpleNamespace(x=x, y=y, n_id=n_id, adjs=adjs, batch_size=batch_size)


def whole(model, batch):
    """Give the model everything at once."""
    adj_t = getattr(batch, "adj_t", None)
    return model(batch.x, batch.edge_index if adj_t is None else adj_t)


def trimmed(model, batch):
    """Leave out of each layer but the first what it need not have, as PyG does it."""
    adj_t = getattr(batch, "adj_t", None)
    return model(
        batch.x,
        batch.edge_index if adj_t is None else adj_t,
        num_sampled_nodes_per_hop=batch.num_sampled_nodes,
        num_sampled_edges_per_hop=batch.num_sampled_edges,
    )


def by_layers(model, batch):
    """Give each layer its own matrix."""
    x = batch.x
    for conv, adj in zip(model.convs, batch.adjs, strict=True):
        x = conv((x, x[: adj.size(0)]), adj)
        x = x if conv is model.convs[-1] else model.act(x)
    return x
