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
    import torch
    from torch_geometric import typing

    found = {
        ("ours", "edge_index"): Way(ours, whole),
        ("ours", "edge_index, trimmed"): Way(ours, trimmed),
        ("ours", "adjs"): Way(partial(ours, adjs=True), by_layers),
    }
    if typing.WITH_PYG_LIB or typing.WITH_TORCH_SPARSE:
        found["PyG", "edge_index"] = Way(theirs, whole)
        found["PyG", "adj_t, sparse_csr"] = Way(partial(theirs, layout=torch.sparse_csr), whole)
    if typing.WITH_PYG_LIB:  # torch-sparse does not count what a hop met
        found["PyG", "edge_index, trimmed"] = Way(theirs, trimmed)
    if typing.WITH_TORCH_SPARSE:
        found["PyG", "adj_t, SparseTensor"] = Way(partial(theirs, layout=None), whole)
        found["PyG", "adjs of NeighborSampler, SparseTensor"] = Way(former, by_layers)
        found["PyG", "adjs of NeighborSampler, sparse_csr"] = Way(
            partial(former, csr=True), by_layers
        )
    if typing.WITH_PYG_LIB and typing.WITH_TORCH_SPARSE:  # torch's own matrices cannot be trimmed
        found["PyG", "adj_t, SparseTensor, trimmed"] = Way(partial(theirs, layout=None), trimmed)
    return found


def ours(data, roots, fanouts, batch, workers, shuffle=True, adjs=False):
    """Return our loader; its processes stay from epoch to epoch."""
    options = {"batch_size": batch, "num_workers": workers, "shuffle": shuffle, "seed": 0}
    options |= {"persistent_workers": True} if workers else {}
    return fastimpl.lab.pyg.NeighborLoader(data, fanouts, roots, adjs=adjs, **options)


def theirs(data, roots, fanouts, batch, workers, shuffle=True, layout="edges"):
    """Return PyG's loader; its processes stay from epoch to epoch, and make the matrix if any.

    With torch-sparse the layout None is its SparseTensor.
    """
    from torch_geometric.loader import NeighborLoader
    from torch_geometric.transforms import ToSparseTensor

    options = {"batch_size": batch, "num_workers": workers, "shuffle": shuffle, "is_sorted": True}
    options |= {"persistent_workers": True, "filter_per_worker": True} if workers else {}
    if layout != "edges":
        options["transform"] = ToSparseTensor(remove_edge_index=False, layout=layout)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that torch-sparse will not be enough some day
        return NeighborLoader(data, fanouts, roots, **options)


def former(data, roots, fanouts, batch, workers, shuffle=True, csr=False):
    """Return PyG's NeighborSampler, which NeighborLoader has replaced: a matrix for each layer.

    A node draws anew in every hop after it was met, so that there are more edges. Rows are copied,
    and matrices turned into torch's own, in its processes.
    """
    from torch_geometric.loader import NeighborSampler
    from torch_geometric.typing import SparseTensor

    def made(batch_size, n_id, adjs):
        layers = [layer.adj_t for layer in ([adjs] if len(fanouts) == 1 else adjs)]
        if csr:
            layers = [adj_t.to_torch_sparse_csr_tensor() for adj_t in layers]
        x, y = data.x[n_id], data.y[n_id[:batch_size]]
        return SimpleNamespace(x=x, y=y, n_id=n_id, adjs=layers, batch_size=batch_size)

    options = {"batch_size": batch, "num_workers": workers, "shuffle": shuffle, "transform": made}
    options |= {"persistent_workers": True} if workers else {}
    sources, targets = data.edge_index
    size = data.num_nodes, data.num_nodes
    adj_t = SparseTensor(row=targets, col=sources, sparse_sizes=size)
    return NeighborSampler(adj_t, fanouts, roots, return_e_id=False, **options)


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
