"""Graphs whose edges have weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from refimpl._support import require
from refimpl.graph.csr import Graph, checked, undirected
from refimpl.graph.subgraph import Subgraph
from refimpl.graph.transpose import transpose_perm
from refimpl.hints import Floats, Integers, Positions, Reals


@dataclass(frozen=True, eq=False, init=False, repr=False)
class WeightedGraph(Graph):
    """A Graph whose edges have weights, checked, copied and frozen once, when it is built.

    Wherever a Graph is asked for, this is one. The models GCN and GraphSAGE aggregate with the
    weights; samplers and other models ignore them. Not in the papers.

    Parameters
    ----------
    graph : Graph
        Undirected, without self-loops, with e entries.
    weights : (e,) array of real numbers
        Of each entry of ``graph.indices``: positive, finite, and the same in both directions.
        Stored as float64, read-only.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or shape, or a weight is none of these.
    """

    weights: Floats[np.float64]

    def __init__(self, graph: Graph, weights: Reals) -> None:
        undirected(graph)
        weights = require.positive("weights", weights, graph.e)
        self._freeze(graph.indptr, graph.indices, True)
        if self.self_loops:
            raise ValueError("graph must have no self-loops: see as_graph(.., self_loops=False)")
        if not np.array_equal(weights, weights[transpose_perm(graph)]):
            raise ValueError("weights must be the same in both directions of an edge")
        self._freeze_weights(weights)

    def _freeze_weights(self, weights):
        weights.flags.writeable = False
        object.__setattr__(self, "weights", weights)

    @classmethod
    def _with_weights(cls, graph, weights):
        """Return a Graph with these weights, without a check or a copy."""
        weighted = object.__new__(cls)
        weighted.__dict__.update(graph.__dict__)
        weighted._freeze_weights(weights)
        return weighted

    def __reduce__(self):
        graph = Graph._trusted(self.indptr, self.indices, True)
        return WeightedGraph._with_weights, (graph, np.array(self.weights))

    def __repr__(self):
        return f"Weighted{super().__repr__()}"

    @cached_property
    def weighted_degrees(self) -> Floats[np.float64]:
        """The sum of the weights of each node's edges, shape (n,)."""
        return np.bincount(_rows(self), self.weights, self.n).astype(np.float64, copy=False)

    def weighted(self, sub: Subgraph) -> Subgraph:
        """Return `sub`, a Subgraph of this graph, with weights."""
        return sub._replace(graph=self._with_weights(sub.graph, self.weights[sub.edge_ids]))

    def on(self, nodes: Integers, graph: Graph) -> WeightedGraph:
        """Return `graph` as a WeightedGraph: node i of it is ``nodes[i]`` here.

        O((n + e) log e) time for n nodes and e entries of `graph`.

        Parameters
        ----------
        nodes : (n,) integer array
        graph : Graph
            With n nodes, and no entry that this graph does not have.

        Returns
        -------
        WeightedGraph

        Raises
        ------
        TypeError, ValueError
            If an argument is of the wrong kind, or an entry of `graph` has no weight here.
        """
        return self._with_weights(graph, self.weights[entries_on(self, nodes, graph, "weight")])


def entries_on(parent: Graph, nodes: Integers, graph: Graph, what: str) -> Positions:
    """Return where the entries of `graph`, on some nodes of `parent`, stand in `parent`.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or an entry is not there: it has no `what`.
    """
    nodes = require.ids("nodes", nodes, 0, parent.n, np.int64)
    if checked(graph).n != nodes.size:
        raise ValueError(f"graph must have {nodes.size} nodes like nodes, got {graph.n}")
    wanted = nodes[_rows(graph)] * parent.n + nodes[graph.indices]
    held = _rows(parent) * parent.n + parent.indices  # ascends
    at = np.searchsorted(held, wanted)
    known = at < held.size
    known[known] = held[at[known]] == wanted[known]
    if not known.all():
        u, v = divmod(int(wanted[known.argmin()]), parent.n)
        raise ValueError(f"graph must have entries with a {what} only: ({u}, {v}) has no {what}")
    return at


def _rows(graph):
    """Return the row of every entry."""
    return np.repeat(np.arange(graph.n), graph.degrees())
