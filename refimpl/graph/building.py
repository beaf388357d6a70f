"""Graphs made of what people have: matrices, lists of edges, graphs of other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from refimpl._support import edge_sources, require
from refimpl._support.argument_checks import checked_by
from refimpl.graph.csr import Graph, checked
from refimpl.hints import Int, Integers


def as_graph(
    source: object,
    *,
    n: Int | None = None,
    symmetrize: bool = False,
    self_loops: bool = True,
    dense: bool = False,
) -> Graph:
    """Return `source` as a Graph: rows sorted, duplicates merged, weights dropped.

    Not in the papers, which have their graphs in CSR already. O(n + e log d) time for rows of at
    most d entries, O(n + e) where they ascend; reading NetworkX and igraph takes longer.

    Parameters
    ----------
    source : Graph, or any of these
        A matrix of scipy.sparse: an explicit zero is an edge. A graph of NetworkX, igraph or DGL,
        or PyG's `Data`: an undirected one gives both directions; its nodes are numbered in its
        own order. A pandas table of edges, the ends in two columns, or in those named "source"
        and "target", "src" and "dst", "from" and "to" or "u" and "v": nodes may have any names,
        which are numbered in ascending order. Integers, as array or tensor: (k, 2), a list of
        edges, or (2, k), an `edge_index`; a list of tuples is always a list of edges. A pair of
        1-D NumPy arrays: CSR, (indptr, indices).
        An edge (u, v) is an entry v of row u.
    n : int, optional
        Number of nodes, for edges alone (default: largest id + 1). With a pandas table, its
        names are then the ids, 0 to n - 1.
    symmetrize : bool
        Add the reverse of every edge.
    self_loops : bool
        Keep edges (v, v); False drops them.
    dense : bool
        `source` is a dense matrix: every number but 0 is an edge.

    Returns
    -------
    Graph

    Raises
    ------
    TypeError, ValueError
        If `source` is none of these, is not square, has ids out of range or damaged members, or
        could be read in several ways: an array of shape (2, 2), unless `dense`. `from_edges`
        takes any number of edges in one way. `graph_and_names` returns the nodes' names too.
    OverflowError
        If there are more than 2**31 - 1 nodes.

    Warns
    -----
    UserWarning
        If the source has weights that are not all 1, which a Graph has no place for: the data of
        a sparse matrix, the numbers of a dense one, `edge_weight` and `edge_attr` of PyG, the
        attribute "weight" of NetworkX, and what is called so or "w" elsewhere.

    Examples
    --------
    >>> as_graph([(0, 1), (1, 2)], symmetrize=True)
    Graph(n=3, e=4, undirected)
    """
    options = {"symmetrize": symmetrize, "self_loops": self_loops, "dense": dense}
    return graph_and_names(source, n=n, **options)[0]


def source_arguments(source, n, symmetrize, self_loops, dense):
    """Check the switches, and `source` where it is a Graph; return all arguments."""
    for name, value in (("symmetrize", symmetrize), ("self_loops", self_loops), ("dense", dense)):
        require.switch(name, value)
    if Graph in type(source).__mro__:
        source = checked(source, "source")
    return source, n, symmetrize, self_loops, dense


@checked_by(source_arguments)
def graph_and_names(
    source: object,
    *,
    n: Int | None = None,
    symmetrize: bool = False,
    self_loops: bool = True,
    dense: bool = False,
) -> tuple[Graph, np.ndarray | Any]:  # None for a graph without names
    """Return `source` as a Graph, and what its nodes are called there.

    Not in the papers. O(n + e log d) time, as `as_graph`.

    Parameters
    ----------
    source, n, symmetrize, self_loops, dense
        As for `as_graph`.

    Returns
    -------
    graph : Graph
    names : (n,) int64 or object array, or None
        Of each node in turn: a node of NetworkX, the attribute `name` of igraph, what stands in
        the pandas table. Integers if all are, else Python objects. None where nodes have
        numbers alone.

    Raises
    ------
    TypeError, ValueError, OverflowError
        As `as_graph`.

    Examples
    --------
    >>> import networkx as nx
    >>> graph, names = graph_and_names(nx.Graph([("Ada", "Emmy"), ("Emmy", "Sofja")]))
    >>> names[graph.indices[graph.start[1] : graph.end[1]]].tolist()
    ['Ada', 'Sofja']
    """
    graph: Any = source if Graph in type(source).__mro__ else None
    if graph and n is None and not symmetrize and self_loops and not dense:
        return graph, None
    found = edge_sources.entries(source, n, dense, graph)
    edge_sources.say_what_is_dropped(found)
    return _built(found, symmetrize, self_loops), found.names


def edges_arguments(u, v, n, symmetrize, self_loops):
    """Check the arguments of `from_edges`, except `n` and the range of the ids; return all."""
    require.switch("symmetrize", symmetrize)
    require.switch("self_loops", self_loops)
    u, v = edge_sources.integers("u", u), edge_sources.integers("v", v)
    if len(u) != len(v):
        raise ValueError(f"v must have shape ({len(u)},) like u, got ({len(v)},)")
    return u, v, n, symmetrize, self_loops


@checked_by(edges_arguments)
def from_edges(
    u: Integers,
    v: Integers,
    n: Int | None = None,
    *,
    symmetrize: bool = False,
    self_loops: bool = True,
) -> Graph:
    """Return the Graph with the edges (u[i], v[i]): entry v[i] of row u[i].

    Not in the papers. `as_graph` for what can be read in one way only. O(n + k log d) time.

    Parameters
    ----------
    u, v : (k,) integer arrays
    n : int, optional
        Number of nodes (default: largest id + 1).
    symmetrize, self_loops : bool
        As for `as_graph`.

    Returns
    -------
    Graph

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or shape, or an id out of range.
    OverflowError
        If there are more than 2**31 - 1 nodes.

    Examples
    --------
    >>> from_edges([0, 1], [1, 2], symmetrize=True)
    Graph(n=3, e=4, undirected)
    """
    return _built(edge_sources.of_pairs(u, v, n, "u and v"), symmetrize, self_loops)


def _built(found, symmetrize, self_loops):
    indptr, indices = edge_sources.canonical(found, symmetrize, self_loops)
    return Graph._trusted(indptr, indices, symmetrize or None)
