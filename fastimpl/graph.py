"""refimpl/graph.py on kernels."""

import numpy as np

from fastimpl import _graph
from fastimpl._graph import NodeSet
from fastimpl._lending import lent
from fastimpl._symmetry import is_symmetric
from fastimpl._twin import twin
from refimpl import _check
from refimpl import graph as reference
from refimpl.graph import Counters, Graph, Subgraph, undirected

NO_COUNTERS = Counters()


@twin
def as_graph(source, *, n=None, symmetrize=False, self_loops=True, dense=False):
    graph, _ = graph_and_names(
        source, n=n, symmetrize=symmetrize, self_loops=self_loops, dense=dense
    )
    return graph


@twin
def graph_and_names(source, *, n=None, symmetrize=False, self_loops=True, dense=False):
    graph, names = reference.graph_and_names(
        source, n=n, symmetrize=symmetrize, self_loops=self_loops, dense=dense
    )
    return _with_symmetry(graph), names


@twin
def from_edges(u, v, n=None, *, symmetrize=False, self_loops=True):
    return _with_symmetry(
        reference.from_edges(u, v, n, symmetrize=symmetrize, self_loops=self_loops)
    )


@twin
def induced_subgraph(graph, nodes):
    undirected(graph)
    nodes = _check.node_set("nodes", nodes, graph.n)
    with lent(NodeSet, graph, 1) as (members,):
        return as_subgraph(_graph.induced_subgraph(members, graph.indptr, graph.indices, nodes))


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


def _with_symmetry(graph):
    """Return `graph`, which knows now whether it is symmetric."""
    if "symmetric" not in graph.__dict__:
        graph.__dict__["symmetric"] = is_symmetric(graph.indptr, graph.indices)
    return graph
