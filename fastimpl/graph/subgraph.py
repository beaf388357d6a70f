"""refimpl/graph/subgraph.py on kernels."""

from functools import partial

import numpy as np

from fastimpl import _graph
from fastimpl._graph import NodeSet
from fastimpl._lending import lent, once
from fastimpl._twin import twin
from refimpl.graph import Counters, Graph, Subgraph
from refimpl.graph.subgraph import induced_arguments

NO_COUNTERS = Counters()


@twin
def induced_subgraph(graph, nodes):
    graph, nodes = induced_arguments(graph, nodes)
    with lent(NodeSet, graph, 1) as (members,):
        arrays = _graph.induced_subgraph(
            members, graph.indptr, graph.indices, once(diagonal, graph), nodes
        )
    return as_subgraph(graph, arrays)


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
