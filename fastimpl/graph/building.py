"""refimpl/graph/building.py, on a kernel that finds out whether a graph is symmetric."""

from fastimpl._symmetry import is_symmetric
from fastimpl._twin import twin
from refimpl.graph import building as reference


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


def _with_symmetry(graph):
    """Return `graph`, which knows now whether it is symmetric."""
    if "symmetric" not in graph.__dict__:
        graph.__dict__["symmetric"] = is_symmetric(graph.indptr, graph.indices)
    return graph
