"""refimpl/graph.py on kernels."""

import numpy as np

from fastimpl import _graph
from fastimpl._twin import twin
from refimpl import _check
from refimpl.graph import Counters, Graph, Subgraph, undirected

NO_COUNTERS = Counters()


@twin
def induced_subgraph(graph, nodes):
    undirected(graph)
    nodes = _check.node_set("nodes", nodes, graph.n)
    return as_subgraph(_graph.induced_subgraph(graph.indptr, graph.indices, nodes))


@twin
def transpose_perm(graph):
    undirected(graph)
    perm = np.empty(graph.e, np.int64)
    _graph.transpose_perm(graph.indptr, graph.indices, np.empty(graph.n, np.int64), perm)
    return perm


def as_subgraph(arrays, counters=NO_COUNTERS):
    """Wrap what the kernels return: (nodes, indptr, indices, edge_ids, perm)."""
    nodes, indptr, indices, edge_ids, perm = arrays
    return Subgraph(nodes, Graph._trusted(indptr, indices, True), edge_ids, perm, counters)
