"""PyG's `Data` as a Graph, and the part of it that has some nodes and edges."""

from __future__ import annotations

import copy
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from refimpl._support import require
from refimpl._support.foreign_graphs import as_array
from refimpl._support.sparse_matrices import check_node_count
from refimpl._support.torch_modules import libraries
from refimpl.graph import Graph
from refimpl.hints import Ids, Positions
from refimpl.lab.pyg.edges import Numbered, numbered


class Whole(NamedTuple):
    """A `Data` and its graph.

    Attributes
    ----------
    data : torch_geometric.data.Data
    numbered : Numbered
    """

    data: Any
    numbered: Numbered

    @property
    def graph(self) -> Graph:
        return self.numbered.graph

    def edges(self, entries: NDArray[Any]) -> NDArray[Any]:
        """Return which edges of the data some entries of the graph are, as a new array."""
        return self.numbered.edges(entries)


def _merged(data: Any) -> str:
    """Return the line that merges edges that stand twice: PyG's leaves `edge_weight` as it is."""
    if getattr(data, "edge_weight", None) is None:
        return "call data = data.coalesce()"
    both = "data.edge_index, data.edge_weight"
    return f"run {both} = torch_geometric.utils.coalesce({both})"


def whole(data: Any) -> Whole:
    """Return a `Data` with its graph; O(e log d) time for e edges, at most d of them at a node.

    Raises
    ------
    ImportError
        If torch or torch_geometric is missing.
    TypeError, ValueError
        If `data` is of another kind, has no edge_index or one that does not fit, or has an edge
        twice.
    OverflowError
        If it has more than 2**31 - 1 nodes.
    """
    _, library = libraries()
    if not isinstance(data, library.Data):
        raise TypeError(f"data must be a torch_geometric.data.Data, got {type(data).__name__}")
    if data.edge_index is None:
        raise ValueError("data must have an edge_index, which T.ToSparseTensor removes")
    edge_index = as_array(data.edge_index)
    if edge_index.ndim != 2 or len(edge_index) != 2:
        raise ValueError(f"data.edge_index must have shape (2, e), got {edge_index.shape}")
    n = data.num_nodes
    check_node_count(n)
    sources, targets = (require.ids("data.edge_index", ends, 0, n, np.int32) for ends in edge_index)
    graph = numbered(sources, targets, n)
    if graph is None:
        raise ValueError(f"data must have no edge twice: {_merged(data)} first")
    return Whole(data, graph)


def part(
    source: Whole, n_id: Positions, edge_index: NDArray[np.int64], e_id: NDArray[Any] | None
) -> Any:
    """Return the `Data` of some nodes and the edges between them.

    Rows of what belongs to nodes or edges are copied; the rest is the whole data's own.

    Parameters
    ----------
    source : Whole
    n_id : (s,) int64 array
    edge_index : (2, k) int64 array
        By positions in `n_id`.
    e_id : (k,) int64 array, or None
        Without it, what belongs to edges is None.
    """
    torch, _ = libraries()
    data, taken = source.data, copy.copy(source.data)
    nodes = torch.from_numpy(n_id)
    edges = None if e_id is None else torch.from_numpy(e_id)
    for name, value in data:
        if name == "edge_index":
            taken[name] = torch.from_numpy(edge_index).to(value.device)
        elif name == "num_nodes":
            taken[name] = len(n_id)
        elif data.is_node_attr(name):
            taken[name] = _rows(torch, value, nodes, data.__cat_dim__(name, value))
        elif data.is_edge_attr(name):
            along = data.__cat_dim__(name, value)
            taken[name] = None if edges is None else _rows(torch, value, edges, along)
    for name, ids in (("n_id", nodes), ("e_id", edges)):
        if name not in data and ids is not None:
            taken[name] = ids
    return taken


def _rows(torch: ModuleType, value: Any, index: Any, dim: Any) -> Any:
    """Return some rows of a tensor, array or list; of all else ``value[index]``."""
    if isinstance(value, torch.Tensor):
        return torch.index_select(value, dim, index.to(value.device))
    if isinstance(value, np.ndarray):
        rows = np.take(value, index.numpy(), axis=dim)
        return torch.from_numpy(rows) if rows.dtype.kind in "biufc" else rows
    if isinstance(value, list):
        return [value[i] for i in index.tolist()]
    return value[index]


def ends(indices: Ids, degrees: Positions) -> NDArray[np.int64]:
    """Return the (2, k) edge_index of k entries: the source of each, and its row."""
    edge_index = np.empty((2, len(indices)), np.int64)
    edge_index[0] = indices
    edge_index[1] = np.repeat(np.arange(len(degrees)), degrees)
    return edge_index
