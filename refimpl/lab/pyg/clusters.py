"""PyG's ClusterData over this project's clusters.

Importing this module imports torch and torch_geometric.
"""

from __future__ import annotations

from functools import partial
from typing import IO, Any

import numpy as np
import torch
from torch_geometric import loader as peer
from torch_geometric.loader.cluster import Partition

from refimpl._support import require
from refimpl.graph import Graph, from_edges
from refimpl.hints import Ids, Int
from refimpl.lab.pyg.plugs import given
from refimpl.lab.pyg.sampler import check_edges
from refimpl.lab.training.methods.cluster import grow_clusters, halved_clusters
from refimpl.streams import CLUSTERS, key

TRIES = 8  # partitions of a small graph; the one with the fewest cut edges is taken
ENTRIES = 2**20  # of a graph that is cut once; smaller graphs are cut more often

torch.serialization.add_safe_globals([Partition])  # PyG then reads saved ones as data alone


def _say(text: str, file: IO[str] | None) -> None:
    """Print what PyG reports, without the name of METIS."""
    print(text.replace("METIS partitioning", "clusters"), file=file)


_init = given(peer.ClusterData.__init__, print=_say)
_permute_data = peer.ClusterData._permute_data


class ClusterData(peer.ClusterData):
    """PyG's ClusterData over this project's clusters, which replace METIS.

    Cluster-GCN (Chiang et al. 2019); not in the papers. It needs neither pyg-lib nor
    torch-sparse. Clusters grow in the graph that has each edge once, both ways: see
    `grow_clusters`. A small graph is cut up to 8 times, and the partition with the fewest cut
    edges is taken. A graph has the same clusters each time; they differ in size by at most 1, and
    are numbered by their lowest node. O(n + e) time in plain Python, with `recursive` once a
    level.

    Parameters
    ----------
    data : torch_geometric.data.Data
        With an `edge_index`, directed or undirected, of edges that may repeat.
    num_parts : int, at least 1
        Clusters, at most one a node.
    recursive : bool
        Halve the graph, and each half again, instead of growing one cluster after another.
    *args, **options
        As for ``torch_geometric.loader.ClusterData``. The file in `save_dir` has PyG's name,
        ``metis.pt`` if `filename` is left out, so clusters that METIS made there are read too.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range, or a saved file is of other data.
    OverflowError
        If there are more than 2**31 - 1 nodes.
    """

    gnn: Any = None

    def __init__(
        self, data: Any, num_parts: Int, recursive: bool = False, *args: Any, **options: Any
    ) -> None:
        if getattr(data, "edge_index", None) is None:
            raise ValueError("data must have an edge_index, which T.ToSparseTensor removes")
        check_edges(data)
        parts = require.integer("num_parts", num_parts, 1, max(data.num_nodes, 1))
        sparse_format = options.get("sparse_format", args[4] if len(args) > 4 else "csr")
        require.choice("sparse_format", sparse_format, ("csr", "csc"))
        _init(self, data, parts, require.switch("recursive", recursive), *args, **options)

    def _metis(self, edge_index: Any, num_nodes: int) -> Any:
        """Return the cluster of each node."""
        u, v = edge_index.cpu().numpy()
        graph = from_edges(u, v, num_nodes, symmetrize=True)
        make = partial(halved_clusters, self.gnn) if self.recursive else grow_clusters
        tries = range(min(max(ENTRIES // max(graph.e, 1), 1), TRIES))
        found = [make(graph, self.num_parts, key(number, CLUSTERS)) for number in tries]
        clusters = min(found, key=partial(cut_edges, graph))
        _, first, own = np.unique(clusters, return_index=True, return_inverse=True)
        ranks = np.argsort(np.argsort(first))  # a cluster is numbered by its lowest node
        return torch.from_numpy(ranks[own]).to(edge_index.device)

    def _permute_data(self, data: Any, partition: Any) -> Any:
        found = len(partition.node_perm), len(partition.edge_perm)
        if found != (data.num_nodes, data.num_edges):
            raise ValueError(
                f"save_dir has clusters of other data, with {found[0]} nodes and {found[1]} edges"
            )
        return _permute_data(self, data, partition)


def cut_edges(graph: Graph, clusters: Ids) -> Int:
    """Return how many entries of a graph lead to another cluster."""
    return np.count_nonzero(np.repeat(clusters, graph.degrees()) != clusters[graph.indices])


class ClusterLoader(peer.ClusterLoader):
    """PyG's ClusterLoader, which needs no compiled package: unions of clusters and their edges.

    Parameters
    ----------
    cluster_data, **kwargs
        As for ``torch_geometric.loader.ClusterLoader``.
    """
