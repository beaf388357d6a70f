"""Workers that sample in parts of the graph of their own, whose nodes change places.

JPDC'21 section 8 says that "shuffling of the node and edge data is required" and that there may be
a best probability for it, but gives no algorithm: what follows is this project's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from refimpl.graph import Graph
from refimpl.hints import Ids, Integers
from refimpl.lab.training.methods.base import Iterations, Step
from refimpl.lab.training.methods.cluster import grow_clusters
from refimpl.lab.training.run import Run
from refimpl.profiling import timed
from refimpl.streams import PARTS, WORKER, key, uniform


class EmptyPart(ValueError):
    """A part of the graph has none of the nodes that a batch is drawn from."""


def first_parts(graph: Graph, workers: int, seed: int) -> Ids:
    """Return the part of each node before the first epoch: clusters, one for each worker."""
    return grow_clusters(graph, workers, key(seed, PARTS, 0))


def shuffled(parts: Ids, share: float, seed: int, epoch: int) -> Ids:
    """Return the part of each node after an epoch: a share of each part's nodes change places.

    Of each part of s nodes round(share s) are drawn, those with the smallest numbers of the stream
    (seed, PARTS, epoch). They are dealt to the places that they left, in an order drawn likewise:
    parts keep their sizes, and a node may come back. With share 1 all parts are drawn anew. O(n log
    n) time.

    Parameters
    ----------
    parts : (n,) int32 array
    share : float in [0, 1]
    seed : int
    epoch : int
        Its number, from 1.

    Returns
    -------
    (n,) int32 array
    """
    n, stream = len(parts), key(seed, PARTS, epoch)
    drawn = uniform(stream, np.arange(2 * n, dtype=np.uint64))
    by_part = np.lexsort((drawn[:n], parts))  # the smallest numbers of each part first
    sizes = np.bincount(parts)
    leaving = np.rint(share * sizes).astype(np.int64)
    place = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    moved = by_part[place < np.repeat(leaving, sizes)]
    found = parts.copy()
    found[moved[np.argsort(drawn[n:][moved], kind="stable")]] = parts[moved]
    return found


@dataclass(eq=False)
class PartRun(Run):
    """The run of one worker in its part: nodes are numbered within it, all else is the `Run`'s.

    Attributes
    ----------
    nodes : (k,) int32 array
        The nodes of the part, ascending.
    part : Graph
        All edges between them.
    X : (k, f) array
        Their features.
    workers : int
    before : int
        Iterations before this epoch.
    """

    nodes: Any = None
    part: Any = None
    X: Any = None
    workers: int = 1
    before: int = 0

    @property
    def number(self) -> int:
        """The number of the minibatch under way among those of all workers."""
        return self.state.iterations * self.workers + self.worker

    @property
    def begun(self) -> int:
        """How many minibatches of this epoch have been gone over here."""
        return self.state.iterations - self.before

    @property
    def graph(self) -> Any:
        """The graph of the part."""
        return self.part

    @cached_property
    def roots(self) -> Ids:
        """The nodes of the part that the loss is taken over; each minibatch asks for them."""
        chosen = self.dataset.roots
        return np.flatnonzero(np.isin(self.nodes, chosen)).astype(np.int32)

    def load(self, nodes: Integers | None = None) -> Any:
        """Return the features of some nodes of the part."""
        every = np.arange(len(self.nodes)) if nodes is None else nodes
        return self.gnn.loader.gather_rows(self.X, every, dtype=self.dtype)

    def labels(self, nodes: Any) -> Any:
        """Return the labels of some nodes of the part; see `Run`."""
        return super().labels(self.nodes[nodes])

    def ahead(self, minibatches: Any, inputs: Callable[[Any], Any]) -> Any:
        """Return the minibatches: their features are here."""
        return minibatches

    def adam(self) -> None:
        """Return None: the mean over all workers moves the weights."""


class LocalIterations:
    """The iterations of the workers of a rank, each within its part of the training graph.

    Parts change when an epoch begins. They follow from the seed and the epoch's number, so a run
    that goes on finds them again, in O(n log n) time for each epoch before.

    Attributes
    ----------
    moved : int
        Nodes that have come to a worker here from another one, features and edges with them.
    """

    cache = None

    def __init__(self, run: Run) -> None:
        self.run, self.moved, self.epoch = run, 0, -1
        self.of_workers: dict[int, Iterations] = {}
        self.runs: dict[int, PartRun] = {}
        with timed("sampling"):
            self.parts = first_parts(run.graph, run.turns.workers, run.config.rng)
            for epoch in range(1, len(run.state.history) + 1):
                self._shuffle(epoch)

    def _shuffle(self, epoch: int) -> None:
        config = self.run.config
        self.parts = shuffled(self.parts, config.shuffle, config.rng, epoch)

    def iteration(self) -> Step:
        """Go over the next minibatch of the worker whose turn it is; return its `Step`."""
        epoch, worker = len(self.run.state.history), self.run.worker
        if epoch != self.epoch:
            self._begin(epoch)
        return self.of_workers[worker].iteration()

    def _begin(self, epoch: int) -> None:
        """Take up the parts of an epoch."""
        if self.epoch >= 0:
            with timed("sampling"):
                self._shuffle(epoch)
        self.epoch = epoch
        self._check_roots()
        for worker in self.run.turns.mine:
            if worker in self.of_workers:
                self.of_workers.pop(worker).close()
            self.runs[worker] = part = self._part_run(worker)
            self.of_workers[worker] = part.config.method.start(part)

    @timed("sampling")
    def _part_run(self, worker: int) -> PartRun:
        """Return the run of a worker in its part of this epoch."""
        run, before = self.run, self.runs.get(worker)
        nodes = np.flatnonzero(self.parts == worker).astype(np.int32)
        X = self._features(nodes, before)
        seed = key(key(run.config.rng, WORKER, worker), WORKER, self.epoch)
        return PartRun(
            run.gnn,
            run.dataset,
            replace(run.config, rng=seed),  # type: ignore[type-var]  # it is a dataclass
            run.stack,
            run.state,
            worker=worker,
            nodes=nodes,
            part=run.subgraph(nodes).graph,
            X=X,
            workers=run.turns.workers,
            before=run.state.iterations,
        )

    def _features(self, nodes: Ids, before: PartRun | None) -> Any:
        """Return the features of nodes: of those that have come as they are read, else as kept."""
        if before is None:
            return self.run.load(nodes)
        place = np.minimum(np.searchsorted(before.nodes, nodes), len(before.nodes) - 1)
        stayed = before.nodes[place] == nodes
        came = self.run.load(nodes[~stayed])
        X = np.empty((len(nodes), came.shape[1]), came.dtype)
        X[stayed], X[~stayed] = before.X[place[stayed]], came
        self.moved += len(came)
        return X

    def _check_roots(self) -> None:
        """Raise on every rank where a worker would have no batches."""
        run = self.run
        counts = np.bincount(self.parts[run.roots], minlength=run.turns.workers)
        if not run.config.method.epoch_covers_graph and not counts.all():
            raise EmptyPart(
                f"workers_a_step must be so few that each part has a training node, but that of "
                f"worker {int(np.argmin(counts))} has none in epoch {self.epoch + 1}"
            )

    def close(self) -> None:
        """End the threads that sample ahead."""
        for iterations in self.of_workers.values():
            iterations.close()
