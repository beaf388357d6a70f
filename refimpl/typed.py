"""Typed graphs: every entry belongs to a relation, and every node may have a type.

The model for them is R-GCN (`rgcn_forward`), which takes a mean over each relation by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.block import Block, entries_of_rows
from refimpl.graph import Graph, Subgraph
from refimpl.graph.csr import checked
from refimpl.graph.weighted import entries_on
from refimpl.hints import Int, Integers, Positions, Types

__all__ = ["TypedGraph", "relation_blocks"]

MOST_TYPES = 2**15  # of edges or nodes: types are int16


@dataclass(frozen=True, eq=False, init=False, repr=False)
class TypedGraph(Graph):
    """A Graph whose entries have types, checked, copied and frozen once, when it is built.

    Wherever a Graph is asked for, this is one. What a relation says may depend on the direction
    ("writes", "is written by"): then (u, v) and (v, u) have two types.
    For `rgcn_forward` by `relation_norms`.

    Parameters
    ----------
    graph : Graph
        With n nodes and e entries.
    edge_types : (e,) integer array
        The relation of each entry of ``graph.indices``, in [0, relations). Stored as int16,
        read-only.
    relations : int in [1, 2**15]
    node_types : (n,) integer array, optional
        From 0 on. Stored as int16, read-only.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or shape, or a type is out of range.
    """

    edge_types: Types
    relations: int
    node_types: Types | None

    def __init__(
        self, graph: Graph, edge_types: Integers, relations: Int, node_types: Integers | None = None
    ) -> None:
        checked(graph)
        relations = require.integer("relations", relations, 1, MOST_TYPES)
        edge_types = types_of("edge_types", edge_types, graph.e, relations)
        if node_types is not None:
            node_types = types_of("node_types", node_types, graph.n, MOST_TYPES)
        self._freeze(graph.indptr, graph.indices, graph.__dict__.get("symmetric"))
        self._freeze_types(edge_types, relations, node_types)

    def _freeze_types(self, edge_types, relations, node_types):
        for array in (edge_types, node_types):
            if array is not None:
                array.flags.writeable = False
        values = {"edge_types": edge_types, "relations": relations, "node_types": node_types}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _with_types(cls, graph, edge_types, relations, node_types):
        """Return a Graph that has these types, of which nothing is checked or copied."""
        typed = object.__new__(cls)
        typed.__dict__.update(graph.__dict__)
        typed._freeze_types(edge_types, relations, node_types)
        return typed

    def __reduce__(self):  # checked again: copies of typed graphs are rare
        graph = Graph._trusted(self.indptr, self.indices, self.symmetric)
        return TypedGraph, (graph, self.edge_types, self.relations, self.node_types)

    def __repr__(self):
        return f"Typed{super().__repr__()[:-1]}, relations={self.relations})"

    @cached_property
    def kinds(self) -> int:
        """Number of types of nodes: the largest plus 1, or 0 where nodes have no types."""
        return 0 if self.node_types is None else int(self.node_types.max(initial=-1)) + 1

    @cached_property
    def relation_graphs(self) -> tuple[tuple[Graph, Positions], ...]:
        """For each relation its entries as a Graph, and their positions in `indices`."""
        row, found = _rows(self), []
        for r in range(self.relations):
            where = np.flatnonzero(self.edge_types == r)
            where.flags.writeable = False
            indptr = np.concatenate([[0], np.cumsum(np.bincount(row[where], minlength=self.n))])
            found.append((Graph._trusted(indptr, self.indices[where], False), where))
        return tuple(found)

    def typed(self, sub: Subgraph) -> Subgraph:
        """Return `sub`, a Subgraph of this graph, with types. O(n + e) time for its sizes."""
        types = self.edge_types[sub.edge_ids]
        node_types = None if self.node_types is None else self.node_types[sub.nodes]
        return sub._replace(graph=TypedGraph(sub.graph, types, self.relations, node_types))

    def on(self, nodes: Integers, graph: Graph) -> TypedGraph:
        """Return `graph` as a TypedGraph: node i of it is ``nodes[i]`` here, with its types.

        O((n + e) log e) time for n nodes and e entries of `graph`.

        Parameters
        ----------
        nodes : (n,) integer array
        graph : Graph
            With n nodes, and no entry that this graph does not have.

        Returns
        -------
        TypedGraph

        Raises
        ------
        TypeError, ValueError
            If an argument is of the wrong kind, or an entry of `graph` has no type here.
        """
        at = entries_on(self, nodes, graph, "type")
        nodes = require.ids("nodes", nodes, 0, self.n, np.int64)
        node_types = None if self.node_types is None else self.node_types[nodes]
        return TypedGraph(graph, self.edge_types[at], self.relations, node_types)


def relation_arguments(pattern, edge_types, relations):
    """Check the arguments of `relation_blocks`, except the range of the types; return all.

    A whole graph has too many types to look at for each block.
    """
    relations = require.integer("relations", relations, 1, MOST_TYPES)
    require.instance("pattern", pattern, (Graph, Block), "a Graph or a Block")
    edge_types = require.array("edge_types", edge_types)
    if edge_types.ndim != 1 or (edge_types.size and edge_types.dtype.kind not in "iu"):
        raise TypeError(
            f"edge_types must be 1-D and hold integers, got {edge_types.ndim}-D {edge_types.dtype}"
        )
    if isinstance(pattern, Graph):
        if edge_types.size != pattern.e:
            raise ValueError(f"edge_types must have shape ({pattern.e},), got {edge_types.shape}")
        return pattern, edge_types, relations
    if pattern.edge_ids is None:
        raise ValueError("pattern must have edge_ids: they say which types its entries have")
    last = pattern.edge_ids.max(initial=-1)
    if last >= edge_types.size:
        raise ValueError(
            f"edge_types must have a type for every edge id up to {last}, got {edge_types.size}"
        )
    return pattern, edge_types, relations


def types_of(name, value, count, kinds):
    """Check the types of `count` edges or nodes, each in [0, kinds); return a copy, int16."""
    types = require.ids(name, value, 0, kinds, np.int16)
    if types.size != count:
        raise ValueError(f"{name} must have shape ({count},), got {types.shape}")
    return types


@checked_by(relation_arguments)
def relation_blocks(
    pattern: Graph | Block, edge_types: Integers, relations: Int
) -> tuple[Block, ...]:
    """Return the entries of each relation, as a Block of the same shape.

    Entries of a row keep their order; a row without a source in a relation is empty in its Block.
    For R-GCN (Schlichtkrull et al. 2018). O(e + R n_dst) time for R relations and e entries.

    Parameters
    ----------
    pattern : Graph or Block
        A Block has `edge_ids`; its dead entries are left out.
    edge_types : (any,) integer array
        Of every entry of the graph: of `pattern` itself where it is a Graph, of the graph that
        it was sampled from where it is a Block. In [0, relations).
    relations : int in [1, 2**15]

    Returns
    -------
    tuple of Blocks
        One a relation, with `edge_ids`, and with `weights` if `pattern` is a Block with weights.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or shape, a type is out of range, or a Block has no
        `edge_ids`.
    """
    live = entries_of_rows(pattern.start, pattern.end)
    ids = live if isinstance(pattern, Graph) else pattern.edge_ids[live]
    kind = types_of("edge_types", np.asarray(edge_types)[ids], len(ids), relations)
    n_dst = pattern.n_dst
    row = np.repeat(np.arange(n_dst), pattern.end - pattern.start)
    order = np.argsort(kind, kind="stable")  # by (relation, row), and in a row as they were
    lengths = np.bincount(kind.astype(np.int64) * n_dst + row, minlength=relations * n_dst)
    lengths = lengths.reshape(relations, n_dst)
    cuts = np.cumsum(lengths.sum(axis=1))[:-1]
    weights = pattern.weights if isinstance(pattern, Block) else None
    blocks = []
    for length, own in zip(lengths, np.split(order, cuts), strict=True):
        end, j = np.cumsum(length), live[own]
        of_entries = ids[own], None if weights is None else weights[j]
        rows = end - length, end, pattern.indices[j]
        blocks.append(Block._trusted(*rows, pattern.n_src, *of_entries))
    return tuple(blocks)


def _rows(graph):
    """Return the row of every entry."""
    return np.repeat(np.arange(graph.n), graph.degrees())
