"""Subgraphs of any sampler as DGL's DataLoader yields them with its SAINTSampler."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from refimpl import _check
from refimpl.hints import Int
from refimpl.lab.batches.epochs import Loader
from refimpl.lab.dgl.parts import graph_of, whole
from refimpl.samplers.sampling import Sampler


class SubgraphDataLoader(Loader):
    """Subgraphs of any `Sampler` as graphs of DGL.

    JPDC'21 Algorithm 8 for users of DGL. Subgraph i of epoch k depends on the seed and
    ``k * num_steps + i`` alone, whatever `num_workers` is. Needs the extra ``dgl``.

    Parameters
    ----------
    graph : dgl.DGLGraph
        As for `DataLoader`, and with each edge both ways.
    sampler : Sampler
        Such as ``Sampler("frontier", m=100, n=800)``. The laws of DGL's SAINTSampler in the modes
        "edge" and "walk" are those of the samplers "edge" and "random_walk".
    num_steps : int, at least 1
        Subgraphs of an epoch.
    num_workers, prefetch_factor, seed, transform
        As for `DataLoader`.

    Attributes
    ----------
    epoch : int
        The number of the next epoch, below 2**31; may be set.
    seed : int

    Raises
    ------
    ImportError
        If torch or DGL is missing, or DGL does not run beside this torch.
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.
    OverflowError
        If there are more than 2**31 - 1 nodes.

    Notes
    -----
    A subgraph has all edges between its nodes, what the graph has of both, and their ids as
    ``dgl.NID`` and ``dgl.EID``; nodes ascend.
    """

    def __init__(
        self,
        graph: Any,
        sampler: Sampler,
        num_steps: Int = 1,
        *,
        num_workers: Int = 0,
        prefetch_factor: Int = 2,
        seed: Any = None,
        transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self._whole = whole(graph)
        if not isinstance(sampler, Sampler):
            raise TypeError(f"sampler must be a Sampler, got {type(sampler).__name__}")
        if not self._whole.graph.symmetric:
            raise ValueError("graph must have each edge both ways: see dgl.add_reverse_edges")
        self.graph, self.sampler = graph, sampler
        self.num_steps = self._count = _check.integer("num_steps", num_steps, 1, 2**31 - 1)
        self._set(num_workers, prefetch_factor, seed, transform)

    def _plan(self, epoch):
        first = epoch * self.num_steps
        sample = partial(self.gnn.sample_many, self._whole.graph, self.sampler, self.seed)
        return lambda number: graph_of(self._whole, *sample(first + number, 1))
