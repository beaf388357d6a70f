"""Cutting a graph into clusters, and the order in which iterations take them."""

from __future__ import annotations

from collections import deque

import numpy as np

from refimpl._support import require
from refimpl.graph.csr import Graph, undirected
from refimpl.hints import Ids, Int
from refimpl.lab.training.shuffle import Shuffle
from refimpl.streams import pick_without_replacement


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

    def __init__(self, gnn, partition, seed, together=1):
        by_cluster = np.argsort(partition, kind="stable").astype(np.int32)
        bounds = np.flatnonzero(np.diff(np.sort(partition))) + 1
        self.clusters = np.split(by_cluster, bounds)  # each ascending
        self.shuffle = Shuffle(gnn, len(self.clusters), together, seed)

    def nodes(self, iteration):
        """Return the nodes of an iteration, ascending."""
        return np.sort(np.concatenate([self.clusters[c] for c in self.shuffle.batch(iteration)]))
