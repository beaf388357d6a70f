"""Node-induced subgraphs: the last line of every sampling algorithm."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.counters import Counters
from refimpl._support.notebook_cards import subgraph_html
from refimpl._support.reprs import shown
from refimpl.graph.csr import Graph, undirected
from refimpl.graph.transpose import transpose_perm
from refimpl.hints import Ids, Integers, Positions


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


def induced_arguments(graph, nodes):
    """Check the arguments of `induced_subgraph`; return them."""
    undirected(graph)
    return graph, require.node_set("nodes", nodes, graph.n)


@checked_by(induced_arguments)
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
    local = {int(v): i for i, v in enumerate(nodes)}
    indptr, indices, edge_ids = [0], [], []
    for v in nodes:
        for j in range(graph.indptr[v], graph.indptr[v + 1]):
            u = int(graph.indices[j])
            if u in local:
                indices.append(local[u])
                edge_ids.append(j)
        indptr.append(len(indices))
    induced = Graph._trusted(np.array(indptr), np.array(indices, np.int32), symmetric=True)
    return Subgraph(
        np.array(nodes, np.int32), induced, np.array(edge_ids, np.int64), transpose_perm(induced)
    )
