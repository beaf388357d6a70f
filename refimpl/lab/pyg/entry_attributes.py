"""Weights and times of edges, as PyG's sampler has them, in tables for `draw_rows`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import torch
import torch_geometric

from refimpl._support import require
from refimpl.graph import Graph
from refimpl.hints import Floats, Positions
from refimpl.samplers.row_draws import EntryTable

EARLIEST, LATEST = -(2**63), 2**63


@contextmanager
def edge_times_allowed() -> Iterator[None]:
    """Have PyG's sampler take times of edges, which it does not beside no or an old pyg-lib."""
    place, name = torch_geometric.typing, "WITH_EDGE_TIME_NEIGHBOR_SAMPLE"
    before = getattr(place, name)
    setattr(place, name, True)
    try:
        yield
    finally:
        setattr(place, name, before)


def check_time_attr(data: Any, time_attr: str | None) -> None:
    """Raise unless a graph of one type has an attribute of that name: PyG would say KeyError."""
    if isinstance(data, torch_geometric.data.Data) and time_attr not in (None, *data.keys()):
        raise ValueError(f"time_attr={time_attr!r} is no attribute of a node or an edge")


def weights_of(data: Any, weight_attr: str | None, edge_type: Any, perm: Any) -> Any:
    """Return the weights of the edges of a type in the order of its columns, or None."""
    store = data if edge_type is None else data[edge_type]
    if weight_attr not in store:
        return None
    weights = store[weight_attr]
    if not isinstance(weights, torch.Tensor) or weights.is_complex():
        kind = type(weights).__name__
        raise TypeError(f"weight_attr={weight_attr!r} must name real numbers, got {kind}")
    weights = weights.detach().cpu().to(torch.float64)
    return (weights if perm is None else weights[perm]).numpy()


def times_of(name: str, times: Any) -> Positions:
    """Return times as an int64 array, or raise."""
    if not isinstance(times, torch.Tensor):
        raise TypeError(f"{name} must be a tensor of integers, got {type(times).__name__}")
    return require.ids(name, times.detach().cpu().numpy(), EARLIEST, LATEST, np.int64)


def table_of(
    gnn: ModuleType,
    graph: Graph,
    edges: str,
    weight_attr: str | None,
    weights: Floats[np.float64] | None,
    time_attr: str | None,
    times: Positions | None,
) -> EntryTable | None:
    """Return the EntryTable of the edges of a type, or None if they have neither."""
    found = None
    for name, attr, values in (
        ("weights", weight_attr, weights),
        ("times", time_attr, times),
    ):
        if values is None:
            continue
        try:
            made = gnn.samplers.build_entry_table(graph, **{name: values})
        except ValueError as error:
            raise ValueError(f"{attr!r} of {edges}: {error}") from None
        found = made if found is None else found._replace(times=made.times)
    return found


def root_times(
    kind: str | None, roots: Positions, given: Any, node_time: Any, limits: str
) -> Positions:
    """Return the time of each root of a type: as given, or else the time of its node.

    Parameters
    ----------
    kind : str or None
        The type.
    roots : (r,) int64 array
    given : tensor or None
        What `input_time` or `edge_label_time` says.
    node_time : tensor or None
    limits : str
        What has times, as errors call it.
    """
    if given is None:
        if node_time is None:
            of = "" if kind is None else f" of the type {kind!r}"
            raise ValueError(f"input_time must be given for roots{of}: only {limits} have times")
        return times_of("time_attr", node_time)[roots]
    times = times_of("input_time", given)
    if times.shape != roots.shape:
        raise ValueError(f"input_time must have shape {roots.shape}, got {times.shape}")
    return times
