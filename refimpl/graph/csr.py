"""A graph as compressed rows (CSR)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from refimpl._support import edge_sources, require
from refimpl._support.notebook_cards import graph_html
from refimpl._support.sparse_matrices import check_node_count
from refimpl.hints import Ids, Int, Integers, Positions, Values


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
        indptr = require.array("indptr", self.indptr)
        if indptr.ndim != 1 or indptr.size == 0:
            raise ValueError(f"indptr must be 1-D and not empty, got shape {indptr.shape}")
        check_node_count(indptr.size - 1)
        indices = require.ids("indices", self.indices, 0, indptr.size - 1, np.int32)
        indptr = require.ids("indptr", indptr, 0, indices.size + 1, np.int64)
        if indptr[0] != 0 or indptr[-1] != indices.size or np.any(np.diff(indptr) < 0):
            raise ValueError("indptr must rise from 0 to len(indices)")
        if not edge_sources.ascending(indptr, indices):
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
        return edge_sources.symmetric(self.indptr, self.indices)

    @cached_property
    def self_loops(self) -> bool:
        """Whether a node is its own neighbour."""
        return edge_sources.has_loops(self.indptr, self.indices)

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


def checked(graph, name="graph"):
    """Return `graph` if it is a Graph that kernels may read, or raise."""
    return require.instance(name, graph, (Graph,), "a Graph (see as_graph)")


def undirected(graph):
    """Return `graph` if it is a Graph with a symmetric pattern, or raise."""
    if not checked(graph).symmetric:
        raise ValueError("graph must be undirected: build it with as_graph(..., symmetrize=True)")
    return graph


def undirected_arguments(graph):
    """Check the argument of a function of one undirected graph; return it."""
    return (undirected(graph),)
