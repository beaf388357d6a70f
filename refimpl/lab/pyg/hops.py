"""Neighbours drawn hop by hop over any number of relations, and what a batch has met.

A relation is a bipartite graph in compressed rows. A node is met once in each tree: there is one
tree for the whole batch, or one for each root.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refimpl.graph import Graph
from refimpl.hints import Absent, Positions
from refimpl.samplers.row_draws import EntryTable
from refimpl.streams import HOP, REPLACED

Arrays: TypeAlias = dict[Any, NDArray[Any]]  # by the type of nodes, or by relation
Name: TypeAlias = tuple[int, int, int]  # (seed, epoch, batch)


class Relation(NamedTuple):
    """The edges of one type.

    Attributes
    ----------
    source, target : hashable
        The types of the nodes at both ends.
    graph : Graph
        Row v lists the sources of the edges into v, in any order and perhaps repeated.
    """

    source: Any
    target: Any
    graph: Graph


class Drawn(NamedTuple):
    """What a batch has met and drawn.

    Attributes
    ----------
    nodes, trees : dicts of int64 arrays
        The nodes of each type by local id, and the tree of each.
    rows, columns, entries : dicts of int64 arrays
        For each relation the local source, the local target and the position of every edge.
    node_counts, edge_counts : dicts of lists of ints
        How many nodes of a type and edges of a relation each hop brought; roots count as a hop.
    """

    nodes: Arrays
    trees: Arrays
    rows: Arrays
    columns: Arrays
    entries: Arrays
    node_counts: dict[Any, list[int]]
    edge_counts: dict[Any, list[int]]


class Met:
    """The nodes of one type that a batch has met; the place of a node is its local id.

    A node of a tree is a code, whose lower `bits` are the node. Roots may repeat: the first has
    the id.
    """

    def __init__(self, gnn: ModuleType, n: int, nodes: Positions, trees: Positions) -> None:
        self.gnn, self.bits = gnn, max(n - 1, 0).bit_length()
        self.codes = self.code(trees, nodes)
        self.counts = [len(nodes)]

    def code(self, trees: NDArray[Any], nodes: NDArray[Any]) -> Any:
        """Return the codes of some nodes in their trees."""
        return trees << self.bits | nodes

    def apart(self, codes: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return (trees, nodes) of some codes."""
        return codes >> self.bits, codes & (1 << self.bits) - 1

    @property
    def first(self) -> int:
        """Where the nodes of the last hop begin: those that draw next."""
        return len(self.codes) - self.counts[-1]

    def add(self, codes: NDArray[Any]) -> Any:
        """Meet the codes of a hop; return their places."""
        before = len(self.codes)
        self.codes, places = self.gnn.samplers.relabel(self.codes, codes)
        self.counts.append(len(self.codes) - before)
        return places


def sample_hops(
    gnn: ModuleType,
    relations: dict[Any, Relation],
    sizes: dict[Any, int],
    roots: Arrays,
    trees: Arrays,
    fanouts: Mapping[Any, Sequence[int]],
    replace: bool,
    name: Name,
    *,
    tables: dict[Any, EntryTable] | None = None,
    times: Positions | Absent = None,
    last: bool = False,
) -> Drawn:
    """Return what a batch draws, as `Drawn`.

    Every hop, the nodes that the hop before met draw in each relation into their type. O(entries
    drawn x log) time beside the drawing.

    Parameters
    ----------
    gnn : module
    relations : dict of Relations
    sizes : dict
        How many nodes each type has.
    roots, trees : dicts of (any,) int64 arrays
        For some types, the nodes to begin with and the tree of each.
    fanouts : dict
        For each relation a list with a number a hop; -1 is all.
    replace : bool
        Whether a node may draw an edge more than once.
    name : (seed, epoch, batch)
        What the draws depend on.
    tables : dict, optional
        For some relations an EntryTable with the weights and times of the edges.
    times : (any,) int64 array, optional
        For each tree the time up to which it sees edges, in the relations that have times.
    last : bool
        Draw the latest edges.
    """
    nothing = np.empty(0, np.int64)
    met = {
        kind: Met(gnn, n, roots.get(kind, nothing), trees.get(kind, nothing))
        for kind, n in sizes.items()
    }
    found: dict[Any, list[Any]] = {which: [] for which in relations}
    for hop in range(max(map(len, fanouts.values()), default=0)):
        reached: dict[Any, list[Any]] = {kind: [] for kind in sizes}
        for number, (which, (source, target, graph)) in enumerate(relations.items()):
            table = (tables or {}).get(which)
            first = met[target].first
            tree, nodes = met[target].apart(met[target].codes[first:])
            timed = table is not None and table.times is not None
            bounds, entries = gnn.samplers.draw_rows(
                graph,
                nodes,
                fanouts[which][hop],
                row_keys(gnn, name, replace, hop, number, len(nodes)),
                replace=replace,
                table=table,
                until=times[tree] if timed else None,
                last=timed and last,
            )
            counts = np.diff(bounds)
            columns = np.repeat(np.arange(first, first + len(nodes)), counts)
            codes = met[source].code(np.repeat(tree, counts), graph.indices[entries])
            reached[source].append((which, codes))
            found[which].append((columns, entries))
        for kind, drawn in reached.items():
            places = met[kind].add(np.concatenate([nothing, *(codes for _, codes in drawn)]))
            ends = np.cumsum([len(codes) for _, codes in drawn])
            for (which, _), rows in zip(drawn, np.split(places, ends[:-1]), strict=False):
                found[which][-1] = (rows, *found[which][-1])
    return drawn_of(met, found)


def drawn_of(met: dict[Any, Met], found: dict[Any, list[Any]]) -> Drawn:
    """Return `Drawn`, of what was met and of (local sources, local targets, positions) a hop."""
    nothing = (np.empty(0, np.int64),) * 3
    parts = {
        which: tuple(map(np.concatenate, zip(nothing, *hops, strict=True)))
        for which, hops in found.items()
    }
    apart = {kind: own.apart(own.codes) for kind, own in met.items()}
    return Drawn(
        {kind: nodes for kind, (_, nodes) in apart.items()},
        {kind: tree for kind, (tree, _) in apart.items()},
        {which: rows for which, (rows, _, _) in parts.items()},
        {which: columns for which, (_, columns, _) in parts.items()},
        {which: entries for which, (_, _, entries) in parts.items()},
        {kind: own.counts for kind, own in met.items()},
        {which: [len(hop[-1]) for hop in hops] for which, hops in found.items()},
    )


def row_keys(
    gnn: ModuleType, name: Name, replace: bool, hop: int, relation: int, count: int
) -> Any:
    """Return the keys of the rows of a hop: a node that draws in several trees draws anew."""
    seed, epoch, batch = name
    rows = np.arange(count, dtype=np.uint64)
    if replace:
        return gnn.streams.key(seed, REPLACED, epoch, batch, hop, relation, rows)
    return gnn.streams.key(seed, HOP, epoch, batch, hop, relation, rows)


def _within(counts: Positions) -> Positions:
    """Return 0, 1, .. up to each count, one behind another."""
    first = np.cumsum(counts) - counts
    return np.arange(counts.sum()) - np.repeat(first, counts)


def induced(
    gnn: ModuleType, relations: dict[Any, Relation], nodes: Arrays
) -> tuple[Arrays, Arrays, Arrays]:
    """Return (local sources, local targets, positions) of all edges between nodes, by relation.

    O(sum of degrees) time.

    Parameters
    ----------
    gnn, relations
        As for `sample_hops`.
    nodes : dict of int64 arrays
        The nodes of each type by local id.
    """
    rows, columns, entries = {}, {}, {}
    for which, (source, target, graph) in relations.items():
        starts = graph.start[nodes[target]]
        degrees = graph.end[nodes[target]] - starts
        every = np.repeat(starts, degrees) + _within(degrees)
        _, places = gnn.samplers.relabel(nodes[source], graph.indices[every])
        kept = places < len(nodes[source])
        entries[which], rows[which] = every[kept], places[kept]
        columns[which] = np.repeat(np.arange(len(degrees)), degrees)[kept]
    return rows, columns, entries
