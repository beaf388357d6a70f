"""PyG's ShaDowKHopSampler over this project's kernels.

Importing this module imports torch and torch_geometric.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch_geometric import loader as peer

from refimpl._support import require
from refimpl._support.sparse_matrices import check_node_count
from refimpl.graph import Graph
from refimpl.hints import Int, Positions
from refimpl.lab.pyg.edges import entries_of
from refimpl.lab.pyg.hops import Relation, sample_hops
from refimpl.lab.pyg.plugs import KeyedLoader, TorchWith, given
from refimpl.lab.pyg.sampler import check_edges


class Rows:
    """All that PyG's ShaDow loader asks of torch-sparse's SparseTensor: rows of entries.

    Parameters
    ----------
    row, col : (e,) int64 tensors
        In any order, perhaps repeated.
    value : (e,) tensor
    sparse_sizes : (rows, columns)
    rowptr : (rows + 1,) int64 tensor, optional
        Instead of `row`, where the entries are sorted.
    """

    def __init__(
        self,
        row: Any = None,
        col: Any = None,
        value: Any = None,
        sparse_sizes: Any = None,
        *,
        rowptr: Any = None,
        **_: Any,
    ) -> None:
        self.sizes = sparse_sizes
        if rowptr is None:
            order = torch.argsort(row * sparse_sizes[1] + col, stable=True)
            row, col, value = row[order], col[order], value[order]
            rowptr = torch.zeros(sparse_sizes[0] + 1, dtype=torch.int64)
            torch.cumsum(torch.bincount(row, minlength=sparse_sizes[0]), 0, out=rowptr[1:])
        self.parts = rowptr, col, value

    def csr(self) -> tuple[Any, Any, Any]:
        return self.parts

    def coo(self) -> tuple[Any, Any, Any]:
        rowptr, col, value = self.parts
        return torch.arange(len(rowptr) - 1).repeat_interleave(rowptr.diff()), col, value

    def t(self) -> Rows:
        row, col, value = self.coo()
        return Rows(col, row, value, self.sizes[::-1])

    def sparse_size(self, dim: int) -> Any:
        return self.sizes[dim]


_start = given(peer.ShaDowKHopSampler.__init__, WITH_TORCH_SPARSE=True, SparseTensor=Rows)
_collate = peer.ShaDowKHopSampler.__collate__


class ShaDowKHopSampler(KeyedLoader, peer.ShaDowKHopSampler):
    """PyG's ShaDowKHopSampler over this project's kernels: a subgraph of its own for each root.

    Zeng et al. 2021, "Decoupling the depth and scope of graph neural networks"; not in the
    papers. A root's nodes are met within `depth` hops, at each of which the nodes that the hop
    before met draw neighbours; its subgraph has all edges between them. It needs neither pyg-lib
    nor torch-sparse. A batch depends on the seed, the epoch and its roots alone, whatever
    `num_workers` is. O(sum of the met nodes' degrees x log) time.

    Parameters
    ----------
    data : torch_geometric.data.Data
        With an `edge_index`, of edges that may repeat.
    depth : int, at least 0
        Hops.
    num_neighbors : int, at least -1
        How many neighbours a node draws, once for each root; -1 is all.
    node_idx : (b,) int64 tensor or (n,) bool tensor, optional
        The roots; all nodes if left out.
    replace : bool
        Draw neighbours with replacement.
    seed : int, numpy.random.Generator, torch.Generator or None
        None draws a seed from torch's own generator, which ``torch.manual_seed`` fixes before the
        loader is made.
    **kwargs
        As for ``torch.utils.data.DataLoader``.

    Attributes
    ----------
    epoch : int
        The number of the next epoch, below 2**31; may be set.
    seed : int

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.
    OverflowError
        If there are more than 2**31 - 1 nodes.

    Notes
    -----
    A batch has the attributes of PyG's: ``batch``, ``ptr``, ``root_n_id``, and those of `data`. A
    root's nodes ascend. PyG's code lets a node draw again each time that it is met, and takes
    all of at most `num_neighbors` neighbours even with `replace`.
    """

    def __init__(
        self,
        data: Any,
        depth: Int,
        num_neighbors: Int,
        node_idx: Any = None,
        replace: bool = False,
        *,
        seed: Any = None,
        **kwargs: Any,
    ) -> None:
        if getattr(data, "edge_index", None) is None:
            raise ValueError("data must have an edge_index, which T.ToSparseTensor removes")
        check_node_count(data.num_nodes)
        check_edges(data)
        depth = require.integer("depth", depth, 0, 2**31 - 1)
        num_neighbors = require.integer("num_neighbors", num_neighbors, -1, 2**31 - 1)
        check_roots(node_idx, data.num_nodes)
        self._begin(seed)
        replace = require.switch("replace", replace)
        _start(self, data, depth, num_neighbors, node_idx, replace, **kwargs)
        starts, sources, _ = self.adj_t.csr()
        self._graph = Graph._trusted(starts.numpy(), sources.int().numpy(), False)

    def __collate__(self, n_id: Any) -> Any:
        operators = TorchWith(ego_k_hop_sample_adj=self._ego, ptr2ind=indices_of)
        return given(_collate, torch=operators, SparseTensor=Rows)(self, n_id)

    def _ego(
        self,
        _starts: Any,
        _sources: Any,
        roots: Any,
        depth: int,
        num_neighbors: int,
        replace: bool,
    ) -> tuple[Any, ...]:
        """Return (rowptr, col, n_id, e_id, ptr, root_n_id) of the roots' subgraphs, as tensors."""
        roots = roots.numpy()
        trees = np.arange(len(roots))
        relations, n = {None: Relation(None, None, self._graph)}, self._graph.n
        fanouts = {None: [num_neighbors] * depth}
        given_ = {None: roots}, {None: trees}, fanouts, replace, self._name(roots)
        met = sample_hops(self.gnn, relations, {None: n}, *given_)
        codes = np.sort(met.trees[None] * n + met.nodes[None])  # a node in a tree is one code
        starts, columns, entries = entries_within(self._graph, codes)
        parts = starts, columns, codes % n, entries
        ends = np.searchsorted(codes, np.append(trees, len(roots)) * n)
        return (*map(torch.from_numpy, (*parts, ends, np.searchsorted(codes, trees * n + roots))),)


def check_roots(node_idx: Any, n: int) -> None:
    """Raise if these are no roots in a graph of n nodes."""
    if node_idx is None:
        return
    if not isinstance(node_idx, torch.Tensor):
        raise TypeError(f"node_idx must be a tensor, got {type(node_idx).__name__}")
    if node_idx.dtype == torch.bool:
        require.mask("node_idx", node_idx.numpy(), n)
    else:
        require.ids("node_idx", node_idx.numpy(), 0, n, np.int64)


def entries_within(graph: Graph, codes: Positions) -> tuple[Positions, Positions, Positions]:
    """Return (starts of rows, columns, entries): the edges between the nodes of each tree.

    Parameters
    ----------
    graph : Graph
    codes : (k,) int64 array
        Ascending: node v of tree t is ``t * n + v``. Rows and columns are positions in it.
    """
    trees, nodes = np.divmod(codes, graph.n)
    rows, every = entries_of(graph, nodes)
    wanted = trees[rows] * graph.n + graph.indices[every]
    columns = np.searchsorted(codes, wanted)
    kept = np.append(codes, -1)[columns] == wanted
    counts = np.bincount(rows[kept], minlength=len(codes))
    return np.append(0, np.cumsum(counts)), columns[kept], every[kept]


def indices_of(ptr: Any, count: int) -> Any:
    """Return which part each of `count` elements is in, of parts that begin at `ptr`."""
    return torch.arange(len(ptr) - 1).repeat_interleave(ptr.diff(), output_size=count)
