"""PyG's GraphSAINT samplers over this project's kernels.

Importing this module imports torch and torch_geometric.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch_geometric import loader as peer

from refimpl._support import require
from refimpl.graph import Counters, Graph
from refimpl.hints import Float, Int
from refimpl.lab.pyg.parts import ends, whole
from refimpl.lab.pyg.plugs import KeyedLoader, given
from refimpl.lab.pyg.subgraphs import UNMET, by_degree
from refimpl.samplers.nodes import NodeSample
from refimpl.samplers.normalization import inverse_shares, loss_weights
from refimpl.samplers.sampling import Sampler

_init = peer.GraphSAINTSampler.__init__
given(_init, SparseTensor=None)  # raises if this version of PyG has no such name


class GraphSAINTSampler(KeyedLoader, peer.GraphSAINTSampler):
    """PyG's GraphSAINTSampler over this project's kernels: subgraphs with norms.

    JPDC'21 Algorithm 8 and section 4.4, after GraphSAINT (Zeng et al. 2020). It needs neither
    pyg-lib nor torch-sparse. Subgraph i of epoch k depends on the seed and ``k * num_steps + i``
    alone, whatever `num_workers` is.

    Parameters
    ----------
    data : torch_geometric.data.Data
        Undirected: with each edge both ways, and none twice.
    batch_size : int, at least 1
        Nodes, edges or walks of a subgraph: see the class.
    num_steps : int, at least 1
        Subgraphs of an epoch.
    sample_coverage : float, at least 0
        How often a node is met on average in the subgraphs that are drawn beforehand to estimate
        `node_norm` and `edge_norm`; 0 for a loader without them.
    save_dir : str, optional
        An existing folder for the file of the norms. If the file exists, the norms are read from
        the file. Its name is PyG's, which has neither the seed nor `batch_size`.
    log : bool
        Of no effect: the estimate is fast, and shows no progress.
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
        If an argument is of the wrong kind or out of range, or `data` has norms already, or a
        saved file is of other data.
    OverflowError
        If there are more than 2**31 - 1 nodes.

    Notes
    -----
    ``edge_norm`` is C_v / C_uv for the edge from u to v, as in `SubgraphLoader`; PyG's is
    C_u / C_uv, so its sums over neighbours are biased. A subclass with a ``_sample_nodes`` of
    its own has the draws of torch's generator there fixed by the number of the subgraph.
    """

    def __init__(
        self,
        data: Any,
        batch_size: Int,
        num_steps: Int = 1,
        sample_coverage: Float = 0,
        save_dir: str | None = None,
        log: bool = True,
        *,
        seed: Any = None,
        **kwargs: Any,
    ) -> None:
        adjacency = whole(data)
        if not adjacency.graph.symmetric:
            raise ValueError("data must be undirected: see torch_geometric.transforms.ToUndirected")
        taken = [name for name in ("node_norm", "edge_norm") if name in data]
        if taken:
            raise ValueError(f"data must not have the attribute {taken[0]} already")
        size = require.integer("batch_size", batch_size, 1, 2**31 - 1)
        steps = require.integer("num_steps", num_steps, 1, 2**31 - 1)
        coverage = require.real("sample_coverage", sample_coverage, 0)
        self._begin(seed)
        self._sampler = SAMPLERS.get(type(self)._sample_nodes, by_torch)(self, size)
        start = given(_init, SparseTensor=lambda **_: adjacency)
        numbers = size, steps, sample_coverage  # of which PyG writes the last as it was given
        start(self, data, *numbers, save_dir, require.switch("log", log), **kwargs)
        if coverage and (len(self.node_norm), len(self.edge_norm)) != (self.N, self.E):
            raise ValueError(f"save_dir has norms of other data: remove {self._filename} there")

    def __getitem__(self, idx: int) -> tuple[Any, Any]:
        number = int(self._drawing) * self.num_steps + idx
        (sub,) = self.gnn.sample_many(self.adj.graph, self._sampler, self.seed, number, 1)
        edge_index = torch.from_numpy(ends(sub.graph.indices, sub.graph.degrees()))
        parts = *edge_index, torch.from_numpy(self.adj.edges(sub.edge_ids))
        return torch.from_numpy(sub.nodes.astype(np.int64)), SimpleNamespace(coo=lambda: parts)

    def _compute_norm(self) -> tuple[Any, Any]:
        """Return (node_norm, edge_norm) of all nodes and edges of the data."""
        graph, everything = self.adj.graph, np.arange(self.E)
        counts = self.gnn.estimate_counts(
            graph, self._sampler, self.seed, coverage=self.sample_coverage
        )
        nodes = np.arange(self.N)
        all_of_it = SimpleNamespace(nodes=nodes, graph=graph, edge_ids=everything)
        edge_norm = np.empty(self.E, np.float32)
        edge_norm[self.adj.edges(everything)] = inverse_shares(counts, all_of_it, floor=UNMET)
        node_norm = loss_weights(counts, nodes, floor=UNMET, dtype=np.float32)
        return torch.from_numpy(node_norm), torch.from_numpy(edge_norm)


class ByTorch:
    """A sampler that calls `_sample_nodes` of a loader, with torch's generator set by the key."""

    def __init__(self, loader: GraphSAINTSampler, size: int) -> None:
        self.loader, self.size = loader, size

    def __call__(self, graph: Graph, main: int) -> NodeSample:
        before = torch.default_generator.get_state()
        try:
            torch.default_generator.manual_seed(main >> 1)
            nodes = self.loader._sample_nodes(self.size).unique().numpy()
        finally:
            torch.default_generator.set_state(before)
        nothing = np.empty(0, np.int32)
        return NodeSample(nodes.astype(np.int32), nothing, nothing, Counters())


def by_torch(loader: GraphSAINTSampler, size: int) -> Sampler:
    """Return the Sampler of a loader that draws nodes itself."""
    return Sampler(ByTorch(loader, size))


def walks(loader: GraphSAINTSampler, size: int) -> Sampler:
    """Return the Sampler of a loader of random walks."""
    steps = require.integer("walk_length", loader.walk_length, 0, 2**31 - 1)
    return Sampler("random_walk", r=size, h=steps)


SAMPLERS = {  # by the function of PyG that is not called
    peer.GraphSAINTNodeSampler._sample_nodes: lambda _, size: Sampler(by_degree, m=size),
    peer.GraphSAINTEdgeSampler._sample_nodes: lambda _, size: Sampler("edge", b=size),
    peer.GraphSAINTRandomWalkSampler._sample_nodes: walks,
}


class GraphSAINTNodeSampler(peer.GraphSAINTNodeSampler, GraphSAINTSampler):
    """PyG's GraphSAINTNodeSampler: nodes drawn in proportion to their degree.

    `batch_size` nodes are drawn with replacement, as in PyG; a subgraph has those that were
    drawn. Not in the papers. O(n + e) time for a subgraph of n nodes with e edges in the whole
    graph, beside the drawing.

    Parameters
    ----------
    data, batch_size, num_steps, sample_coverage, save_dir, log, seed, **kwargs
        As for `GraphSAINTSampler`.
    """


class GraphSAINTEdgeSampler(peer.GraphSAINTEdgeSampler, GraphSAINTSampler):
    """PyG's GraphSAINTEdgeSampler: the ends of random edges.

    JPDC'21 Algorithm 5, `edge`: `batch_size` edges are drawn with replacement, each with
    probability proportional to 1 / deg(u) + 1 / deg(v). PyG draws without replacement, and
    prefers edges between nodes of high degree: its weights are deg(u) + deg(v).

    Parameters
    ----------
    data, batch_size, num_steps, sample_coverage, save_dir, log, seed, **kwargs
        As for `GraphSAINTSampler`.
    """


class GraphSAINTRandomWalkSampler(peer.GraphSAINTRandomWalkSampler, GraphSAINTSampler):
    """PyG's GraphSAINTRandomWalkSampler: the nodes of random walks.

    JPDC'21 Algorithm 5, `random_walk`. The `batch_size` roots of a subgraph are distinct, and so
    at most all nodes; PyG draws them with replacement.

    Parameters
    ----------
    data, batch_size, num_steps, sample_coverage, save_dir, log, seed, **kwargs
        As for `GraphSAINTSampler`.
    walk_length : int, at least 0
        Steps of each walk.
    """
