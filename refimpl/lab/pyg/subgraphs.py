"""Subgraphs of any sampler as PyG's `Data`, with GraphSAINT's norms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from refimpl._support import require
from refimpl.graph import Counters, Graph, Subgraph
from refimpl.hints import Float, Int
from refimpl.lab.pyg.epochs import Loader
from refimpl.lab.pyg.parts import ends, part, whole
from refimpl.samplers.nodes import NodeSample
from refimpl.samplers.normalization import inverse_shares, loss_weights
from refimpl.samplers.sampling import Sampler
from refimpl.streams import below

UNMET = 0.1  # what the count of a node or edge that was never met is raised to, as PyG does


class SubgraphLoader(Loader):
    """Subgraphs of any `Sampler` as `torch_geometric.data.Data`.

    JPDC'21 Algorithm 8 for users of PyG. Subgraph i of epoch k depends on the seed and
    ``k * num_steps + i`` alone, whatever `num_workers` is. Needs the extra ``pyg``, and no
    torch-sparse.

    Parameters
    ----------
    data : torch_geometric.data.Data
        Undirected: with each edge both ways, and none twice.
    sampler : Sampler
        Such as ``Sampler("frontier", m=100, n=800)``.
    num_steps : int, at least 1
        Subgraphs of an epoch.
    sample_coverage : float, at least 0
        How often a node is met on average in the subgraphs that are drawn beforehand to estimate
        `node_norm` and `edge_norm`; 0 for a loader without them.
    num_workers : int
        Threads that make subgraphs ahead, each on one core; 0 makes a subgraph when it is asked
        for, on all. Threads need no copy of the data.
    prefetch_factor : int, at least 1
        Subgraphs ahead, for each thread.
    seed : int, numpy.random.Generator, torch.Generator or None
        None draws a seed from torch's own generator, which ``torch.manual_seed`` fixes before the
        loader is made.
    transform : callable, optional
        Called with each subgraph, in the thread that made it; its result replaces the subgraph.

    Attributes
    ----------
    epoch : int
        The number of the next epoch, below 2**31; may be set.
    seed : int
    counts : SamplingCounts or None
        What the norms are made of.

    Raises
    ------
    ImportError
        If torch or torch_geometric is missing.
    TypeError, ValueError
        If an argument is of the wrong kind or out of range, or `data` has norms already.
    OverflowError
        If there are more than 2**31 - 1 nodes.

    Notes
    -----
    A subgraph has the attributes of `data`, of its nodes and edges alone, and ``n_id`` and
    ``e_id``, which nodes and edges of `data` these are; nodes ascend.
    With `sample_coverage` it also has float32 norms after GraphSAINT (Zeng et al. 2020). For N
    subgraphs drawn, of which C_v had node v and C_uv the edge from u to v, ``node_norm`` is
    N / (n C_v): the sum of losses, so weighted, has the mean over all n nodes as its expectation.
    ``edge_norm`` is C_v / C_uv, kept in [1, 10^4]: with the weight 1 / (in-degree of v in `data`)
    an edge, times this, a sum over neighbours has their mean as its expectation. See `aggregator`,
    which has both in one.
    """

    def __init__(
        self,
        data: Any,
        sampler: Sampler,
        num_steps: Int = 1,
        sample_coverage: Float = 0,
        *,
        num_workers: Int = 0,
        prefetch_factor: Int = 2,
        seed: Any = None,
        transform: Callable[[Any], Any] | None = None,
    ) -> None:
        if not isinstance(sampler, Sampler):
            raise TypeError(f"sampler must be a Sampler, got {type(sampler).__name__}")
        self._whole = whole(data)
        if not self._whole.graph.symmetric:
            raise ValueError("data must be undirected: see torch_geometric.transforms.ToUndirected")
        taken = [name for name in ("node_norm", "edge_norm") if name in data]
        if taken:
            raise ValueError(f"data must not have the attribute {taken[0]} already")
        self.data, self.sampler = data, sampler
        self.num_steps = self._count = require.integer("num_steps", num_steps, 1, 2**31 - 1)
        self.sample_coverage = require.real("sample_coverage", sample_coverage, 0)
        self._set(num_workers, prefetch_factor, seed, transform)
        self.counts = None
        if self.sample_coverage:
            self.counts = self.gnn.estimate_counts(
                self._whole.graph, sampler, self.seed, coverage=self.sample_coverage
            )

    def _plan(self, epoch: int) -> Callable[[int], Any]:
        first = epoch * self.num_steps
        sample = partial(self.gnn.sample_many, self._whole.graph, self.sampler, self.seed)
        return lambda number: self._subgraph(*sample(first + number, 1))

    def _subgraph(self, sub: Subgraph) -> Any:
        """Return a Subgraph as `Data`."""
        from torch import from_numpy

        edge_index = ends(sub.graph.indices, sub.graph.degrees())
        e_id = self._whole.edges(sub.edge_ids)
        taken = part(self._whole, sub.nodes.astype(np.int64), edge_index, e_id)
        if self.counts is not None:
            weights = loss_weights(self.counts, sub.nodes, floor=UNMET, dtype=np.float32)
            taken.node_norm = from_numpy(weights)
            shares = inverse_shares(self.counts, sub, floor=UNMET)
            taken.edge_norm = from_numpy(shares.astype(np.float32))
        return taken


def by_degree(graph: Graph, main: int, *, m: int) -> NodeSample:
    """Draw m nodes with replacement, each in proportion to its degree, as a NodeSample.

    The node of a uniform entry of an undirected graph is such a draw.
    """
    draws = np.arange(m if graph.e else 0, dtype=np.uint64)
    nodes = np.unique(graph.indices[below(main, draws, max(graph.e, 1))])
    nothing = np.empty(0, np.int32)
    return NodeSample(nodes, nothing, nothing, Counters(draws=len(draws)))
