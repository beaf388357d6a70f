"""Graphs as compressed rows (CSR), node-induced subgraphs, and the transpose by permutation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from refimpl import _check, _sources
from refimpl._counters import Counters
from refimpl._html.objects import graph_html, subgraph_html
from refimpl._shown import shown
from refimpl.hints import Ids, Int, Integers, Positions, Values

__all__ = [
    "Counters",
    "Graph",
    "Subgraph",
    "as_graph",
    "from_edges",
    "graph_and_names",
    "induced_subgraph",
    "transpose_perm",
]


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph in CSR form, checked, copied and frozen once, when it is built.

    The neighbours of node v are ``indices[indptr[v]:indptr[v + 1]]``, strictly ascending.
    Built from anything else by `as_graph`, which sorts and merges first. The papers' CSR (JPDC'21
    section 5.2). O(n + e) time to check.

    Parameters
    ----------
    indptr : (n + 1,) integer array
        Stored as int64, read-only.
    indices : (e,) integer array
        Stored as int32, read-only.

    Attributes
    ----------
    symmetric : bool
        Whether every (u, v) stands beside a (v, u): the graph is undirected. Found out when first
        asked for, and remembered; O(n + e) time.
    self_loops : bool
        Whether a node is its own neighbour. Found out and remembered likewise.

    Raises
    ------
    TypeError, ValueError
        If the arrays are not integers, or are not CSR with strictly ascending rows.
    OverflowError
        If the graph has more than 2**31 - 1 nodes.
    """

    indptr: Positions
    indices: Ids
    _weight_sums: dict = field(init=False, repr=False)

    if TYPE_CHECKING:  # more is taken than is kept

        def __init__(self, indptr: Integers, indices: Integers) -> None: ...

    def __post_init__(self):
        indptr = _check.array("indptr", self.indptr)
        if indptr.ndim != 1 or indptr.size == 0:
            raise ValueError(f"indptr must be 1-D and not empty, got shape {indptr.shape}")
        _sources.check_node_count(indptr.size - 1)
        indices = _check.ids("indices", self.indices, 0, indptr.size - 1, np.int32)
        indptr = _check.ids("indptr", indptr, 0, indices.size + 1, np.int64)
        if indptr[0] != 0 or indptr[-1] != indices.size or np.any(np.diff(indptr) < 0):
            raise ValueError("indptr must rise from 0 to len(indices)")
        if not _sources.ascending(indptr, indices):
            raise ValueError("indices must be strictly ascending within each row (see as_graph)")
        self._freeze(indptr, indices)

    def _freeze(self, indptr, indices, symmetric=None):
        for name, array in (("indptr", indptr), ("indices", indices)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "_weight_sums", {None: indices.size})
        if symmetric is not None:
            self.__dict__["symmetric"] = symmetric

    @classmethod
    def _trusted(cls, indptr, indices, symmetric=None, **facts):
        """Wrap arrays that a kernel has just made: no copy, no check.

        `facts` are attributes that are known, such as `max_degree`.
        """
        graph = object.__new__(cls)
        graph._freeze(indptr, indices, symmetric)
        graph.__dict__.update(facts)
        return graph

    @cached_property
    def symmetric(self) -> bool:
        """Whether every (u, v) stands beside a (v, u)."""
        return _sources.symmetric(self.indptr, self.indices)

    @cached_property
    def self_loops(self) -> bool:
        """Whether a node is its own neighbour."""
        return _sources.has_loops(self.indptr, self.indices)

    def __reduce__(self):  # copies, unpickled ones too, are read-only as well
        return Graph._trusted, (self.indptr, self.indices, self.symmetric)

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.indptr) - 1

    @property
    def e(self) -> int:
        """Number of directed edges: 2 per undirected edge, 1 per self-loop."""
        return len(self.indices)

    # As a Block has them, for kernels that take either: n rows of n columns.
    n_dst = n
    n_src = n

    @cached_property
    def start(self) -> Positions:
        """Where the neighbours of each node begin in `indices`, shape (n,), read-only."""
        return self.indptr[:-1]

    @cached_property
    def end(self) -> Positions:
        """Where the neighbours of each node end in `indices`, shape (n,), read-only."""
        return self.indptr[1:]

    def degrees(self, nodes: Ids | Positions | Sequence[int] | None = None) -> Positions:
        """Return how many neighbours some nodes have, int64; default: all, shape (n,)."""
        return np.diff(self.indptr) if nodes is None else self.end[nodes] - self.start[nodes]

    def weight_sum(self, deg_cap: Int | None = None) -> int:
        """Return the sum of min(degree, deg_cap) over all nodes; O(n) the first time only."""
        if deg_cap not in self._weight_sums:
            self._weight_sums[deg_cap] = int(np.minimum(self.degrees(), deg_cap).sum())  # type: ignore[arg-type]
        return self._weight_sums[deg_cap]

    @cached_property
    def max_degree(self) -> int:
        """The largest number of neighbours of a node; 0 for a graph without nodes."""
        return int(self.degrees().max(initial=0))

    def to_scipy(self, data: Values | None = None) -> sp.csr_array:
        """Return a scipy.sparse.csr_array with values `data` (default: float64 ones)."""
        data = np.ones(self.e) if data is None else data
        return sp.csr_array((data, self.indices, self.indptr), shape=(self.n, self.n))

    def to_networkx(self) -> Any:
        """Return a networkx.Graph (DiGraph where the pattern is not symmetric); needs networkx."""
        import networkx as nx

        kind = nx.Graph if self.symmetric else nx.DiGraph
        return nx.from_scipy_sparse_array(self.to_scipy(), create_using=kind)

    def __repr__(self):
        kind = "undirected" if self.symmetric else "directed"
        return f"Graph(n={self.n}, e={self.e}, {kind})"

    def _repr_html_(self):
        return graph_html(self)


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
        If `source` is none of these, is not square, or has ids out of range, or could be read in
        several ways: an array of shape (2, 2), unless `dense`. `from_edges` takes any number of
        edges in one way. `graph_and_names` returns the nodes' names too.
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
    for name, value in (("symmetrize", symmetrize), ("self_loops", self_loops), ("dense", dense)):
        _check.switch(name, value)
    if isinstance(source, Graph) and n is None and not symmetrize and self_loops and not dense:
        return source, None
    found = _sources.entries(source, n, dense)
    _sources.say_what_is_dropped(found)
    return _built(found, symmetrize, self_loops), found.names


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
    _check.switch("symmetrize", symmetrize)
    _check.switch("self_loops", self_loops)
    u, v = _sources.integers("u", u), _sources.integers("v", v)
    if len(u) != len(v):
        raise ValueError(f"v must have shape ({len(u)},) like u, got ({len(v)},)")
    return _built(_sources.of_pairs(u, v, n, "u and v"), symmetrize, self_loops)


def _built(found, symmetrize, self_loops):
    indptr, indices = _sources.canonical(found, symmetrize, self_loops)
    return Graph._trusted(indptr, indices, symmetrize or None)


@dataclass(frozen=True, eq=False)
class Subgraph:
    """A node-induced subgraph and how it sits in its parent: `induced_subgraph` makes it.

    Attributes
    ----------
    nodes : (s,) int32, ascending
        ``nodes[i]`` is the parent's id of local node i.
    graph : Graph
        On local ids; undirected.
    edge_ids : (e,) int64
        Where each entry of ``graph.indices`` stands in the parent's ``indices``. `fastimpl` finds
        them when they are first asked for, O(sum of the nodes' degrees) time; until then the
        subgraph keeps its parent alive.
    transpose_perm : (e,) int32
        See `transpose_perm`.
    counters : Counters
        The sampler's; all zero where no sampler ran.
    """

    nodes: Ids
    graph: Graph
    edge_ids: Positions
    transpose_perm: Ids
    counters: Counters = Counters()

    @classmethod
    def _with_ids_from(cls, find, nodes, graph, transpose_perm, counters):
        """Return a Subgraph whose `edge_ids` are what ``find()`` returns."""
        sub = object.__new__(cls)
        values = {"nodes": nodes, "graph": graph, "transpose_perm": transpose_perm}
        sub.__dict__.update(values, counters=counters, _find_edge_ids=find)
        return sub

    def _replace(self, **values):
        """Return a copy with other values, as named tuples do; edge ids are not looked for."""
        unknown = values.keys() - {field.name for field in fields(self)}
        if unknown:
            raise TypeError(f"a Subgraph has no {', '.join(sorted(unknown))}")
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, **values)
        if "edge_ids" in values:
            copy.__dict__["_find_edge_ids"] = None
        return copy

    if not TYPE_CHECKING:  # to a checker, there is what the fields say

        def __getattr__(self, name):  # asked for what is not there
            find = self.__dict__.get("_find_edge_ids")
            if name == "edge_ids" and find is not None:
                self.__dict__["edge_ids"] = find()
                self.__dict__["_find_edge_ids"] = None  # the parent is not needed any more
            if name == "edge_ids" and name in self.__dict__:  # another thread may have been first
                return self.__dict__[name]
            raise AttributeError(f"'Subgraph' has no attribute {name!r}", name=name, obj=self)

    def __repr__(self):  # does not ask for the edge ids, which would look for them
        return f"Subgraph(nodes={shown(self.nodes)}, graph={self.graph})"

    def _repr_html_(self):
        return subgraph_html(self)

    def __reduce__(self):
        return Subgraph, tuple(getattr(self, field.name) for field in fields(self))


def induced_subgraph(graph: Graph, nodes: Integers) -> Subgraph:
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


def transpose_perm(graph: Graph) -> Ids:
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
    (e,) int32 array, or int64 where e is 2**31 or more
        Its own inverse: ``perm[perm[j]] == j``.

    Raises
    ------
    TypeError, ValueError
        If the graph is directed.

    Examples
    --------
    >>> path = as_graph([(0, 1), (1, 2)], symmetrize=True)
    >>> transpose_perm(path)
    array([1, 0, 3, 2], dtype=int32)
    """
    indptr, indices = undirected(graph).indptr, graph.indices  # 1
    perm = np.full(graph.e, -1, _check.position_dtype(graph.e))  # 2
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
