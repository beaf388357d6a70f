"""Graphs as compressed rows (CSR), node-induced subgraphs, and the transpose by permutation."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from refimpl import _check, _sources

__all__ = ["Counters", "Graph", "Subgraph", "as_graph", "induced_subgraph", "transpose_perm"]


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph in CSR form, checked, copied and frozen once, when it is built.

    The neighbours of node v are ``indices[indptr[v]:indptr[v + 1]]``, strictly ascending.
    Built from anything else by `as_graph`, which sorts and merges first. The papers' CSR (JPDC'21
    section 5.2). O(n + e log e) time to check.

    Parameters
    ----------
    indptr : (n + 1,) integer array
        Stored as int64, read-only.
    indices : (e,) integer array
        Stored as int32, read-only.

    Attributes
    ----------
    symmetric : bool
        Whether every (u, v) stands beside a (v, u): the graph is undirected.

    Raises
    ------
    TypeError, ValueError
        If the arrays are not integers, or are not CSR with strictly ascending rows.
    OverflowError
        If the graph has more than 2**31 - 1 nodes.
    """

    indptr: np.ndarray
    indices: np.ndarray
    symmetric: bool = field(init=False)
    _weight_sums: dict = field(init=False, repr=False)

    def __post_init__(self):
        indptr = _check.array("indptr", self.indptr)
        if indptr.ndim != 1 or indptr.size == 0:
            raise ValueError(f"indptr must be 1-D and not empty, got shape {indptr.shape}")
        _sources.check_node_count(indptr.size - 1)
        indices = _check.ids("indices", self.indices, 0, indptr.size - 1, np.int32)
        indptr = _check.ids("indptr", indptr, 0, indices.size + 1, np.int64)
        if indptr[0] != 0 or indptr[-1] != indices.size or np.any(np.diff(indptr) < 0):
            raise ValueError("indptr must rise from 0 to len(indices)")
        row = np.repeat(np.arange(indptr.size - 1, dtype=np.int32), np.diff(indptr))
        if np.any((indices[1:] <= indices[:-1]) & (row[1:] == row[:-1])):
            raise ValueError("indices must be strictly ascending within each row (see as_graph)")
        order = np.argsort(indices, kind="stable")  # by (column, row): the transpose's entries
        symmetric = np.array_equal(indices[order], row) and np.array_equal(row[order], indices)
        self._freeze(indptr, indices, symmetric)

    def _freeze(self, indptr, indices, symmetric):
        for array in (indptr, indices):
            array.flags.writeable = False
        for name, value in (("indptr", indptr), ("indices", indices), ("symmetric", symmetric)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_weight_sums", {None: indices.size})

    @classmethod
    def _trusted(cls, indptr, indices, symmetric):
        """Wrap arrays that a kernel has just made: no copy, no check."""
        graph = object.__new__(cls)
        graph._freeze(indptr, indices, symmetric)
        return graph

    def __reduce__(self):  # copies, unpickled ones too, are read-only as well
        return Graph._trusted, (self.indptr, self.indices, self.symmetric)

    @property
    def n(self):
        """Number of nodes."""
        return len(self.indptr) - 1

    @property
    def e(self):
        """Number of directed edges: 2 per undirected edge, 1 per self-loop."""
        return len(self.indices)

    # As a Block has them, for kernels that take either: n rows of n columns.
    n_dst = n
    n_src = n

    @cached_property
    def start(self):
        """Where the neighbours of each node begin in `indices`, shape (n,), read-only."""
        return self.indptr[:-1]

    @cached_property
    def end(self):
        """Where the neighbours of each node end in `indices`, shape (n,), read-only."""
        return self.indptr[1:]

    def degrees(self):
        """Return the number of neighbours of every node, shape (n,), int64."""
        return np.diff(self.indptr)

    def weight_sum(self, deg_cap=None):
        """Return the sum of min(degree, deg_cap) over all nodes; O(n) the first time only."""
        if deg_cap not in self._weight_sums:
            self._weight_sums[deg_cap] = int(np.minimum(self.degrees(), deg_cap).sum())
        return self._weight_sums[deg_cap]

    @cached_property
    def max_degree(self):
        """The largest number of neighbours of a node; 0 for a graph without nodes."""
        return int(self.degrees().max(initial=0))

    def to_scipy(self, data=None):
        """Return a scipy.sparse.csr_array with values `data` (default: float64 ones)."""
        data = np.ones(self.e) if data is None else data
        return sp.csr_array((data, self.indices, self.indptr), shape=(self.n, self.n))

    def to_networkx(self):
        """Return a networkx.Graph (DiGraph where the pattern is not symmetric); needs networkx."""
        import networkx as nx

        kind = nx.Graph if self.symmetric else nx.DiGraph
        return nx.from_scipy_sparse_array(self.to_scipy(), create_using=kind)

    def __repr__(self):
        kind = "undirected" if self.symmetric else "directed"
        return f"Graph(n={self.n}, e={self.e}, {kind})"


def as_graph(source, *, n=None, symmetrize=False, self_loops=True):
    """Return `source` as a Graph: rows sorted, duplicates merged, edge values dropped.

    Not in the papers, which have their graphs in CSR already. O(n + e log e) time.

    Parameters
    ----------
    source : Graph, scipy sparse, networkx graph, (k, 2) integers, or (indptr, indices)
        A pair of 1-D NumPy arrays is CSR; anything else that is no graph is a list of edges
        (u, v). An undirected networkx graph gives both directions; its nodes are numbered in
        its own order. An explicit zero in a sparse matrix is an edge.
    n : int, optional
        Number of nodes, for an edge list (default: largest id + 1).
    symmetrize : bool
        Add the reverse of every edge.
    self_loops : bool
        Keep edges (v, v); False drops them.

    Returns
    -------
    Graph

    Raises
    ------
    TypeError, ValueError
        If `source` is none of these, is not square, or has ids out of range.
    OverflowError
        If there are more than 2**31 - 1 nodes.

    Examples
    --------
    >>> as_graph([(0, 1), (1, 2)], symmetrize=True)
    Graph(n=3, e=4, undirected)
    >>> as_graph([(0, 1), (1, 2)]).indices
    array([1, 2], dtype=int32)
    """
    _check.switch("symmetrize", symmetrize)
    _check.switch("self_loops", self_loops)
    if isinstance(source, Graph) and n is None and not symmetrize and self_loops:
        return source
    row, col, n = _sources.edges(source, n)
    if symmetrize:
        row, col = np.concatenate([row, col]), np.concatenate([col, row])
    if not self_loops:
        row, col = row[row != col], col[row != col]
    matrix = sp.csr_array((np.ones(row.size, np.bool_), (row, col)), shape=(n, n))
    matrix.sum_duplicates()  # sorts each row as well
    return Graph(matrix.indptr, matrix.indices)


class Counters(NamedTuple):
    """What a sampler did, in operations, for comparison with the papers' cost models.

    Those of IPDPS'19 Equation 2 and JPDC'21 Equation 9: `sample_cost`, `cleanups_from_graph`.

    Attributes
    ----------
    pops : int
        Frontier nodes replaced; steps, for samplers without a frontier.
    probes : int
        Random entries looked at.
    rounds : int
        Groups of `lanes` probes.
    cleanups : int
        Clean-ups of the Dashboard.
    moved : int
        Entries rewritten by clean-ups.
    truncated : int
        Nodes that got fewer entries than their weight.
    popped_degree_sum, added_degree_sum : int
        Degrees of the nodes popped, and of those added.
    capacity : int
        Entries of the Dashboard.
    draws : int
        Of the stream `main`; clipping takes the next ones.
    """

    pops: int = 0  # frontier nodes replaced
    probes: int = 0  # random entries looked at
    rounds: int = 0  # groups of `lanes` probes
    cleanups: int = 0
    moved: int = 0  # entries rewritten by clean-ups
    truncated: int = 0  # nodes that got fewer entries than their weight
    popped_degree_sum: int = 0
    added_degree_sum: int = 0
    capacity: int = 0  # entries of the dashboard
    draws: int = 0  # of the stream `main`; clipping takes the next ones


class Subgraph(NamedTuple):
    """A node-induced subgraph and how it sits in its parent: `induced_subgraph` makes it.

    Attributes
    ----------
    nodes : (s,) int32, ascending
        ``nodes[i]`` is the parent's id of local node i.
    graph : Graph
        On local ids; undirected.
    edge_ids : (e,) int64
        Where each entry of ``graph.indices`` stands in the parent's ``indices``.
    transpose_perm : (e,) int64
        See `transpose_perm`.
    counters : Counters
        The sampler's; all zero where no sampler ran.
    """

    nodes: np.ndarray
    graph: Graph
    edge_ids: np.ndarray
    transpose_perm: np.ndarray
    counters: Counters = Counters()


def induced_subgraph(graph, nodes):
    """Return the subgraph on `nodes` with every edge of `graph` between them.

    Last line of every sampling algorithm (JPDC'21 Algorithm 2 line 9, Algorithm 3 line 31).
    `nodes` ascend, so relabelling keeps every row ascending: `transpose_perm` relies on it.
    O(sum of the nodes' degrees in `graph`) time.

    Parameters
    ----------
    graph : Graph
        Undirected.
    nodes : (s,) integer array, strictly ascending

    Returns
    -------
    Subgraph

    Raises
    ------
    TypeError, ValueError
        If the graph is directed, or `nodes` is unsorted, repeats a node or is out of range.

    Examples
    --------
    >>> path = as_graph([(0, 1), (1, 2), (2, 3)], symmetrize=True)
    >>> sub = induced_subgraph(path, [1, 2])
    >>> sub.graph.indices.tolist(), sub.edge_ids.tolist()
    ([1, 0], [2, 3])
    """
    undirected(graph)
    nodes = _check.node_set("nodes", nodes, graph.n)
    local = {v: i for i, v in enumerate(nodes.tolist())}
    indptr, indices, edge_ids = [0], [], []
    for v in nodes:
        for j in range(graph.indptr[v], graph.indptr[v + 1]):
            u = int(graph.indices[j])
            if u in local:
                indices.append(local[u])
                edge_ids.append(j)
        indptr.append(len(indices))
    induced = Graph._trusted(np.array(indptr), np.array(indices, np.int32), symmetric=True)
    return Subgraph(nodes.copy(), induced, np.array(edge_ids, np.int64), transpose_perm(induced))


def transpose_perm(graph):
    """Return the permutation that transposes a matrix on an undirected pattern.

    JPDC'21 Algorithm 6; ``# n`` marks its line n. A and A^T share one pattern, so only values
    move: the values of A^T are ``data[perm]``. The paper permutes one array of values; the
    permutation itself serves any number of them (E-A3). O(n + e) time.

    Parameters
    ----------
    graph : Graph
        Undirected, with n nodes and e edges.

    Returns
    -------
    (e,) int64 array
        Its own inverse: ``perm[perm[j]] == j``.

    Raises
    ------
    TypeError, ValueError
        If the graph is directed.

    Examples
    --------
    >>> path = as_graph([(0, 1), (1, 2)], symmetrize=True)
    >>> transpose_perm(path)
    array([1, 0, 3, 2])
    """
    indptr, indices = undirected(graph).indptr, graph.indices  # 1
    perm = np.full(graph.e, -1)  # 2
    ptr = indptr[:-1].copy()  # 3
    for v in range(graph.n):  # 4
        for j in range(indptr[v], indptr[v + 1]):  # 5 E-A2: half open
            u = indices[j]  # 6
            perm[ptr[u]] = j  # 7 E-A3: the permutation, not values
            ptr[u] += 1  # 8
    return perm  # 11


def undirected(graph):
    """Return `graph` if it is a Graph with a symmetric pattern, or raise."""
    if not isinstance(graph, Graph):
        raise TypeError(f"graph must be a Graph (see as_graph), got {type(graph).__name__}")
    if not graph.symmetric:
        raise ValueError("graph must be undirected: build it with as_graph(..., symmetrize=True)")
    return graph
