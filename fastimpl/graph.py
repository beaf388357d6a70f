"""refimpl/graph.py on kernels."""

from functools import partial

import numpy as np

from fastimpl import _graph
from fastimpl._graph import NodeSet
from fastimpl._lending import lent, once
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
        arrays = _graph.induced_subgraph(
            members, graph.indptr, graph.indices, once(diagonal, graph), nodes
        )
    return as_subgraph(graph, arrays)


@twin
def transpose_perm(graph):
    undirected(graph)
    perm = np.empty(graph.e, _check.position_dtype(graph.e))
    _graph.transpose_perm(graph.indptr, graph.indices, np.empty(graph.n, perm.dtype), perm)
    return perm


def as_subgraph(graph, arrays, counters=NO_COUNTERS):
    """Wrap what the kernels return, (nodes, indptr, indices, perm), as a Subgraph of `graph`."""
    nodes, indptr, indices, perm = arrays
    made_of = partial(_edge_ids, graph, nodes.copy(), len(indices))
    return Subgraph._with_ids_from(
        made_of, nodes, Graph._trusted(indptr, indices, True), perm, counters
    )


def _edge_ids(graph, nodes, e):
    """Return where the e entries of the subgraph on `nodes` stand in ``graph.indices``."""
    where = np.empty(e + 16, np.int64)  # the kernel writes 16 at a time
    with lent(NodeSet, graph, 1) as (members,):
        _graph.edge_ids(members, graph.indptr, graph.indices, nodes, where)
    return where[:e]


def diagonal(graph):
    """Return how many entries of each row are below its node, as (n,) int32."""
    out = np.empty(graph.n, np.int32)
    _graph.diagonal(graph.indptr, graph.indices, out)
    return out


def _with_symmetry(graph):
    """Return `graph`, which knows now whether it is symmetric."""
    if "symmetric" not in graph.__dict__:
        graph.__dict__["symmetric"] = is_symmetric(graph.indptr, graph.indices)
    return graph
