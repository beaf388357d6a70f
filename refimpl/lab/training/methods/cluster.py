"""Cluster-GCN: minibatches that are a few clusters of the training graph each."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar

from refimpl.lab.training.clusters import ClusterOrder, grow_clusters
from refimpl.lab.training.methods import base
from refimpl.lab.training.methods.base import Iterations, MethodSettings, Step
from refimpl.lab.training.settings import integer
from refimpl.profiling import timed
from refimpl.streams import CLUSTERS, key
from refimpl.training.subgraph_pool import Pool, one_by_one

if TYPE_CHECKING:
    from refimpl.lab.data.dataset import Dataset
    from refimpl.lab.training.config import TrainConfig
    from refimpl.lab.training.run import Run


@dataclass(frozen=True)
class ClusterGcn(MethodSettings):
    """Unions of random clusters, with all edges between their nodes (Chiang et al. 2019).

    Parameters
    ----------
    clusters, clusters_per_batch : ints
        Into how many clusters the training graph is cut, at most one a node, and how many of them
        a minibatch has, at most all.
    pool, background
        As for `SampledGraph`.
    """

    name: ClassVar[str] = "cluster"
    way: ClassVar[str] = "clusters"
    sees_all: ClassVar[bool] = True

    clusters: int = integer(50, "parts that the training graph is cut into")
    clusters_per_batch: int = integer(5, "parts that make a batch")
    pool: int = base.pool_size()
    background: bool = base.background()

    def check(self, config: TrainConfig) -> None:
        """Raise ValueError if a minibatch has more clusters than there are."""
        if self.clusters_per_batch > self.clusters:
            raise ValueError(
                f"clusters_per_batch must be at most clusters ({self.clusters}), "
                f"got {self.clusters_per_batch}"
            )

    def fitted(self, config: TrainConfig, dataset: Dataset) -> ClusterGcn:
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

    def __init__(self, run):
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

    def iteration(self):
        """Go forward and back over the next union of clusters; return its `Step`."""
        run = self.run
        done = run.gnn.graph_iteration(
            self.pool, run.passes(), run.normalized, run.load, run.targets, run.adam()
        )
        return Step(done.loss, done.gradients, len(done.nodes))

    def close(self):
        """End the pool's thread."""
        self.pool.close()
