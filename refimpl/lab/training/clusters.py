"""Cluster-GCN: minibatches that are a few clusters of the training graph each."""

from collections import deque
from functools import partial

import numpy as np

from refimpl import _check
from refimpl.graph import undirected
from refimpl.lab.training.minibatches import Minibatch, Shuffle
from refimpl.lab.training.pool import Pool
from refimpl.streams import key, pick_without_replacement
from refimpl.typed import TypedGraph

CLUSTERS = 8  # domain of the key that clusters grow from


def grow_clusters(graph, parts, key):
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
    parts, key = _check.integer("parts", parts, 1, max(n, 1)), _check.word("key", key)
    starts = iter(pick_without_replacement(key, 0, n, n).tolist())
    cluster, links = [-1] * n, [0] * n
    for c in range(parts):
        room = n * (c + 1) // parts - n * c // parts
        _grow(graph, c, room, starts, cluster, links)
    return np.array(cluster, np.int32)


def _grow(graph, c, room, starts, cluster, links):
    """Give cluster c `room` free nodes; `links`, all 0 at first, is left as it was.

    ``queues[k]`` holds nodes that got k links, some of which have more by now, or are taken: a
    node is in the queue of each number it went through, so it is found in the highest first.
    """
    queues: list[deque] = [deque()]
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


class ClusterSampler:
    """Which clusters iteration i of a run is about: an epoch is all of them, in a new order.

    The partition has the key (seed, CLUSTERS), so an iteration depends on its number alone. The
    last batch of an epoch may have fewer clusters.
    """

    def __init__(self, gnn, graph, config):
        if config.clusters > graph.n:
            raise ValueError(
                f"clusters must be at most the number of training nodes ({graph.n}), "
                f"got {config.clusters}"
            )
        self.gnn, self.graph = gnn, graph
        cluster = grow_clusters(graph, config.clusters, key(config.rng, CLUSTERS))
        order = np.argsort(cluster, kind="stable").astype(np.int32)
        self.members = np.split(order, np.cumsum(np.bincount(cluster))[:-1])
        self.shuffle = Shuffle(gnn, config.clusters, config.clusters_per_batch, config.rng)

    def nodes(self, iteration):
        """Return the nodes of an iteration, ascending."""
        return np.sort(np.concatenate([self.members[c] for c in self.shuffle.batch(iteration)]))

    def sample(self, iteration):
        """Return the subgraph of an iteration, with all edges between its nodes."""
        sub = self.gnn.induced_subgraph(self.graph, self.nodes(iteration))
        return self.graph.typed(sub) if isinstance(self.graph, TypedGraph) else sub


class ClusterBatches:
    """Unions of random clusters, normalised by their own degrees (Cluster-GCN, Algorithm 1)."""

    def __init__(self, gnn, stack, graph, X, Y, first):
        self.gnn, self.stack, self.X, self.Y = gnn, stack, X, Y
        config = stack.config
        draw = partial(_draw, ClusterSampler(gnn, graph, config))
        self.pool = Pool(draw, size=config.pool, first=first, background=config.background)

    def __next__(self):
        sub = next(self.pool)
        A = self.stack.adjacency(sub.graph, sub.transpose_perm, dtype=self.X.dtype)
        X = self.gnn.loader.gather_rows(self.X, sub.nodes)
        return Minibatch(self.stack.operands(A), X, self.Y[sub.nodes], None)

    def close(self):
        """End the pool's thread."""
        self.pool.close()


def _draw(sampler, first, count):
    """Return the subgraphs of iterations first, .., first + count - 1."""
    return [sampler.sample(iteration) for iteration in range(first, first + count)]
