"""PyG's own loaders, given this project's sampler, and the switch that gives it to all of them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
import torch_geometric
from torch_geometric import loader as peer
from torch_geometric import sampler as peer_sampler
from torch_geometric.loader import link_neighbor_loader, neighbor_loader

from refimpl._support import require
from refimpl.lab.pyg.budgets import HGTLoader, HGTSampler
from refimpl.lab.pyg.clusters import ClusterData, ClusterLoader
from refimpl.lab.pyg.plugs import Epochs, begin_epoch
from refimpl.lab.pyg.saint import (
    GraphSAINTEdgeSampler,
    GraphSAINTNodeSampler,
    GraphSAINTRandomWalkSampler,
    GraphSAINTSampler,
)
from refimpl.lab.pyg.sampler import NeighborSampler
from refimpl.lab.pyg.shadow import ShaDowKHopSampler

__all__ = [
    "ClusterData",
    "ClusterLoader",
    "GraphSAINTEdgeSampler",
    "GraphSAINTNodeSampler",
    "GraphSAINTRandomWalkSampler",
    "GraphSAINTSampler",
    "HGTLoader",
    "HGTSampler",
    "LinkLoader",
    "LinkNeighborLoader",
    "NeighborLoader",
    "NeighborSampler",
    "NodeLoader",
    "ShaDowKHopSampler",
    "disable",
    "enable",
]

PLUGGED_IN = (
    peer.ShaDowKHopSampler,
    peer.GraphSAINTSampler,
    peer.ClusterData,
    peer_sampler.HGTSampler,
)
_before: dict[tuple[Any, str], Any] = {}  # what `enable` has replaced


class NodeLoader(Epochs, peer.NodeLoader):
    """PyG's NodeLoader; a `NeighborSampler` of this project counts its epochs.

    Parameters
    ----------
    *args, **kwargs
        As for ``torch_geometric.loader.NodeLoader``.
    """


class LinkLoader(Epochs, peer.LinkLoader):
    """PyG's LinkLoader; a `NeighborSampler` of this project counts its epochs.

    Parameters
    ----------
    *args, **kwargs
        As for ``torch_geometric.loader.LinkLoader``.
    """


class NeighborLoader(Epochs, peer.NeighborLoader):
    """PyG's NeighborLoader with a `NeighborSampler` of this project.

    Parameters
    ----------
    data, num_neighbors, *args, **options
        As for ``torch_geometric.loader.NeighborLoader``, except what `NeighborSampler` refuses.
    adjs : bool
        Give each batch the matrices of its layers as well: see below. Only for a ``Data`` and
        ``subgraph_type="directional"``.
    seed : int, numpy.random.Generator, torch.Generator or None
        As for `NeighborSampler`.

    Notes
    -----
    With `adjs` a batch also has ``adjs``, a list with a `torch.sparse_csr` tensor a layer, the
    outermost hop first. ``adjs[i]`` has a row for each target of layer i and a column for each of
    its sources, whose first are the targets: ``x = conv((x, x[: len(adj)]), adj)`` for one after
    the other ends with the rows of the roots. PyG's layers multiply by such a matrix instead of
    copying a row for each edge, and no layer computes rows that the roots do not need. The values
    are 1, of the type of `x`; the indices are those of `edge_index`, not copies.
    """

    def __init__(
        self,
        data: Any,
        num_neighbors: Any,
        *args: Any,
        adjs: bool = False,
        seed: Any = None,
        **options: Any,
    ) -> None:
        given = with_sampler(super().__init__, self.gnn, seed, data, num_neighbors, args, options)
        if require.switch("adjs", adjs):
            check_adjs(data, given["neighbor_sampler"])
            given["transform"] = WithAdjs(given.get("transform"))
        super().__init__(**given)


class LinkNeighborLoader(Epochs, peer.LinkNeighborLoader):
    """PyG's LinkNeighborLoader with a `NeighborSampler` of this project.

    Negatives depend on the seed, the epoch and the edges of a batch alone.

    Parameters
    ----------
    data, num_neighbors, *args, **options
        As for ``torch_geometric.loader.LinkNeighborLoader``, except what `NeighborSampler`
        refuses.
    seed : int, numpy.random.Generator, torch.Generator or None
        As for `NeighborSampler`.
    """

    def __init__(
        self, data: Any, num_neighbors: Any, *args: Any, seed: Any = None, **options: Any
    ) -> None:
        given = with_sampler(super().__init__, self.gnn, seed, data, num_neighbors, args, options)
        super().__init__(**given)


def with_sampler(
    start: Callable[..., None],
    gnn: ModuleType,
    seed: Any,
    data: Any,
    num_neighbors: Any,
    args: tuple[Any, ...],
    options: dict[str, Any],
) -> dict[str, Any]:
    """Return the arguments of a loader by name, with a sampler made of them if none was given."""
    bound = inspect.signature(start).bind(data, num_neighbors, *args, **options).arguments
    keywords = bound.pop("kwargs", {})
    given: dict[str, Any] = bound | keywords
    if given.get("neighbor_sampler") is None:
        own = inspect.signature(NeighborSampler.__bases__[-1].__init__).parameters
        shared = {name: given[name] for name in own.keys() & given.keys()}
        share = given.get("num_workers", 0) > 0
        make = gnn.lab.pyg.NeighborSampler
        given["neighbor_sampler"] = make(**shared, share_memory=share, seed=seed)
    elif seed is not None:
        raise ValueError("seed must be left out beside neighbor_sampler, which has its own")
    return given


def check_adjs(data: Any, sampler: Any) -> None:
    """Check that batches can have matrices of layers."""
    if not isinstance(data, torch_geometric.data.Data):
        raise TypeError(f"adjs=True needs a torch_geometric.data.Data, got {type(data).__name__}")
    if "adjs" in data:
        raise ValueError("data must not have the attribute adjs already")
    if not isinstance(sampler, NeighborSampler):
        raise TypeError("adjs=True needs a NeighborSampler of lab.pyg as neighbor_sampler")
    kind = sampler.subgraph_type.value
    if kind != "directional":
        raise ValueError(f'adjs=True needs subgraph_type="directional", got "{kind}"')
    take_warning()


class WithAdjs:
    """A transform that gives a batch `adjs`, before another transform."""

    def __init__(self, then: Callable[[Any], Any] | None) -> None:
        self.then = then

    def __call__(self, batch: Any) -> Any:
        batch.adjs = adjs_of(batch)
        return batch if self.then is None else self.then(batch)


def adjs_of(batch: Any) -> list[Any]:
    """Return the matrices of a batch's layers, which share the indices of its edges."""
    x, (sources, targets) = batch.x, batch.edge_index
    real = isinstance(x, torch.Tensor) and x.is_floating_point()
    ones = sources.new_ones(len(sources), dtype=x.dtype if real else torch.get_default_dtype())
    nodes, edges = batch.num_sampled_nodes, batch.num_sampled_edges
    degrees = torch.bincount(targets, minlength=sum(nodes))
    starts = torch.cat([degrees.new_zeros(1), degrees.cumsum(0)])
    hops, found = len(edges), []
    for layer in range(hops, 0, -1):
        n_dst, n_src, e = sum(nodes[:layer]), sum(nodes[: layer + 1]), sum(edges[:layer])
        parts = starts[: n_dst + 1], sources[:e], ones[:e], (n_dst, n_src)
        found.append(torch.sparse_csr_tensor(*parts, check_invariants=False))
    return found


def take_warning() -> None:
    """Have torch's warnings of a first sparse_csr, given once a process, without showing them."""
    nothing = torch.zeros(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_csr_tensor(torch.zeros(1, dtype=torch.int64), nothing.long(), nothing, (0, 0))


def enable(gnn: ModuleType) -> bool:
    """Give PyG's own loaders the sampler of `gnn`; return whether that was done."""
    if torch_geometric.typing.WITH_PYG_LIB or torch_geometric.typing.WITH_TORCH_SPARSE:
        return False
    for place in (peer_sampler, neighbor_loader, link_neighbor_loader):
        _replace(place, "NeighborSampler", gnn.lab.pyg.NeighborSampler)
    for loader in (peer.NodeLoader, peer.LinkLoader):
        _replace(loader, "__iter__", _iterate)
    for theirs in PLUGGED_IN:
        _plug(getattr(gnn.lab.pyg, theirs.__name__), theirs)
    return True


def _plug(ours: Any, theirs: Any) -> None:
    """Give a class of PyG what the class of ours that extends it has in addition."""
    own = ours.unbound.__mro__
    for kind in reversed(own[: own.index(theirs)]):
        for name, value in vars(kind).items():
            if callable(value) or isinstance(value, property):
                _replace(theirs, name, value)
    _replace(theirs, "gnn", ours.gnn)


def _iterate(loader: Any) -> Any:
    if not isinstance(loader, Epochs):  # which has counted the epoch
        begin_epoch(loader)
    return torch.utils.data.DataLoader.__iter__(loader)


def _replace(place: Any, name: str, value: Any) -> None:
    _before.setdefault((place, name), vars(place).get(name))
    setattr(place, name, value)


def disable() -> None:
    """Take back what `enable` did."""
    for (place, name), value in _before.items():
        if value is None:
            delattr(place, name)
        else:
            setattr(place, name, value)
    _before.clear()
