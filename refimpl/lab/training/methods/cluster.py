"""Cluster-GCN: minibatches that are a few clusters of the training graph each."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from refimpl._support import require
from refimpl.graph.csr import Graph, undirected
from refimpl.hints import Ids, Int
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.training.methods import base
from refimpl.lab.training.methods.base import Iterations, MethodSettings, Shuffle, Step
from refimpl.lab.training.run import Run, RunConfig
from refimpl.lab.training.settings import integer
from refimpl.profiling import timed
from refimpl.streams import CLUSTERS, key, pick_without_replacement
from refimpl.training.subgraph_pool import Pool, one_by_one

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from numpy.typing import NDArray


@dataclass(frozen=True)
class ClusterGcn(MethodSettings):
    """Cluster-GCN: unions of random clusters, with all their edges (Chiang et al. 2019).

    Parameters
    ----------
    clusters, clusters_per_batch : ints
        Into how many clusters the training graph is cut, at most one a node, and how many of them
        a minibatch has, at most all.
    pool, background
        As for `SampledGraph`.
    """

    name: ClassVar[str] = "cluster"
    description: ClassVar[str] = "clusters"
    sparse_features: ClassVar[bool] = True
    epoch_covers_graph: ClassVar[bool] = True

    clusters: int = integer(50, "cut the training graph into this many clusters")
    clusters_per_batch: int = integer(5, "put this many clusters in a batch")
    pool: int = base.pool_size()
    background: bool = base.background()

    def check(self, config: RunConfig) -> None:
        """Raise ValueError if a minibatch has more clusters than there are."""
        if self.clusters_per_batch > self.clusters:
            raise ValueError(
                f"clusters_per_batch must be at most clusters ({self.clusters}), "
                f"got {self.clusters_per_batch}"
            )

    def fitted(self, config: RunConfig, dataset: Dataset) -> ClusterGcn:
        """Return these settings if the graph that is trained on has as many nodes as clusters."""
        n = dataset.train_graph.n
        if self.clusters > n:
            raise ValueError(
                f"clusters must be at most the number of nodes that training sees ({n}), "
                f"got {self.clusters}"
            )
        return self

    def start(self, run: Run) -> Iterations:
        """Return the iterations of a run."""
        return ClusterIterations(run)


class ClusterIterations:
    """The iterations of Cluster-GCN's Algorithm 1 on a `Run`.

    The partition has the key (seed, CLUSTERS), so an iteration depends on its number alone.
    """

    cache, moves_weights = None, True

    def __init__(self, run: Run) -> None:
        settings, seed = run.config.method, run.config.rng
        self.run = run
        with timed("sampling"):
            partition = grow_clusters(run.graph, settings.clusters, key(seed, CLUSTERS))
            order = ClusterOrder(run.gnn, partition, seed, settings.clusters_per_batch)
            pool = Pool(
                one_by_one(lambda q: run.subgraph(order.nodes(q)), run.turns),
                size=settings.pool,
                first=run.begun,
                background=settings.background,
            )
        self.pool = run.ahead(pool, attrgetter("nodes"))

    def iteration(self) -> Step:
        """Go forward and back over the next union of clusters; return its `Step`."""
        run = self.run
        done = run.gnn.graph_iteration(
            self.pool, run.passes(), run.normalized, run.load, run.targets, run.adam()
        )
        return Step(done.loss, done.gradients, len(done.nodes))

    def close(self) -> None:
        """End the pool's thread."""
        self.pool.close()


def grow_clusters(graph: Graph, parts: Int, key: Int) -> Ids:
    """Return the cluster of each node: `parts` clusters of equal size, with few edges between.

    Cluster-GCN uses METIS, which is not used here: results may differ from the paper's for that
    reason. Instead clusters grow one after another (greedy graph growing, a search in breadth
    that takes the best-connected node first): from the first free node of a shuffle, a cluster
    takes the free node with the most links into it, among equals the one that got that many
    first, and where no free node has a link the next of the shuffle. The last clusters get what
    the others have left. O(n + e) time.

    Parameters
    ----------
    graph : Graph
        Undirected, with n nodes and e edges.
    parts : int in [1, max(n, 1)]
    key : int in [0, 2**64)
        Key of the shuffle, the only chance there is.

    Returns
    -------
    (n,) int32 array
        Numbers in [0, parts). Clusters differ in size by at most 1.

    Raises
    ------
    TypeError, ValueError
        If the graph is directed, or another argument is not an integer, or not in range.

    References
    ----------
    Chiang et al. 2019, "Cluster-GCN"; Karypis and Kumar 1998, section 3.2, for growing.
    """
    n = undirected(graph).n
    parts, key = require.integer("parts", parts, 1, max(n, 1)), require.word("key", key)
    starts = iter(pick_without_replacement(key, 0, n, n).tolist())
    cluster, links = [-1] * n, [0] * n
    for c in range(parts):
        room = n * (c + 1) // parts - n * c // parts
        _grow(graph, c, room, starts, cluster, links)
    return np.array(cluster, np.int32)


def halved_clusters(gnn: ModuleType, graph: Graph, parts: int, key: int) -> Ids:
    """Return what `grow_clusters` does, by halves of halves: recursive bisection.

    A half grows as a cluster does, the other half is the rest. O((n + e) log parts) time.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    graph, parts, key
        As for `grow_clusters`, which checks them.
    """
    cluster = np.zeros(graph.n, np.int32)
    bounds = graph.n * np.arange(parts + 1) // parts
    waiting = [(np.arange(graph.n), 0, parts)]  # nodes of clusters first .. last - 1
    while waiting:
        nodes, first, last = waiting.pop()
        cluster[nodes] = first
        if last - first > 1:
            middle = (first + last) // 2
            inner = gnn.induced_subgraph(graph, nodes).graph
            starts = iter(pick_without_replacement(key, 0, inner.n, inner.n).tolist())
            half = [-1] * inner.n
            _grow(inner, 0, int(bounds[middle] - bounds[first]), starts, half, [0] * inner.n)
            grown = np.array(half, np.int8) == 0
            waiting += [(nodes[grown], first, middle), (nodes[~grown], middle, last)]
    return cluster


def _grow(
    graph: Graph, c: int, room: int, starts: Iterator[int], cluster: list[int], links: list[int]
) -> None:
    """Give cluster c `room` free nodes; `links`, all 0 at first, is left as it was.

    ``queues[k]`` holds nodes that got k links, some of which have more by now, or are taken: a
    node is in the queue of each number it went through, so it is found in the highest first.
    """
    queues: list[deque[int]] = [deque()]
    met, most = [], 0
    while room:
        while most and not queues[most]:
            most -= 1
        v = queues[most].popleft() if most else next(starts)
        if cluster[v] >= 0:
            continue
        cluster[v] = c
        room -= 1
        for u in graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist():
            if cluster[u] < 0:
                met.append(u)
                links[u] += 1
                if links[u] == len(queues):
                    queues.append(deque())
                queues[links[u]].append(u)
                most = max(most, links[u])
    for u in met:
        links[u] = 0


class ClusterOrder:
    """Which nodes iteration i is about: some clusters, every one once an epoch in a new order.

    In epoch t the clusters stand in the order of a `Shuffle`, so an iteration depends on its
    number alone. The last batch of an epoch may have fewer clusters.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    partition : (n,) integer array
        The cluster of each node, numbers below n. One without nodes does not count.
    seed : int in [0, 2**64)
    together : int
        Clusters in a batch.
    """

    def __init__(
        self, gnn: ModuleType, partition: NDArray[Any], seed: int, together: int = 1
    ) -> None:
        by_cluster = np.argsort(partition, kind="stable").astype(np.int32)
        bounds = np.flatnonzero(np.diff(np.sort(partition))) + 1
        self.clusters = np.split(by_cluster, bounds)  # each ascending
        self.shuffle = Shuffle(gnn, len(self.clusters), together, seed)

    def nodes(self, iteration: int) -> Ids:
        """Return the nodes of an iteration, ascending."""
        return np.sort(np.concatenate([self.clusters[c] for c in self.shuffle.batch(iteration)]))
