"""Neighbours drawn hop by hop over any number of relations, and what a batch has met.

A relation is a bipartite graph in compressed rows. A node is met once in each tree: there is one
tree for the whole batch, or one for each root.
"""

from typing import Any, NamedTuple

import numpy as np

from refimpl.graph import Graph
from refimpl.streams import HOP, REPLACED


class Relation(NamedTuple):
    """The edges of one type.

    Attributes
    ----------
    source, target : hashable
        The types of the nodes at both ends.
    graph : Graph
        Row v lists the sources of the edges into v, in any order and perhaps repeated.
    table : EntryTable or None
        The weights and times of the edges.
    """

    source: Any
    target: Any
    graph: Graph
    table: Any = None


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

    nodes: dict
    trees: dict
    rows: dict
    columns: dict
    entries: dict
    node_counts: dict
    edge_counts: dict


class Met:
    """The nodes of one type that a batch has met, with their local ids.

    A node of a tree is a code, ``tree * n + node``. Roots may repeat: the first has the id.
    """

    def __init__(self, codes):
        self.codes = codes
        self.counts = [len(codes)]
        self._sorted, self._local = np.unique(codes, return_index=True)

    @property
    def newest(self):
        """The nodes of the last hop: those that draw next."""
        return self.codes[len(self.codes) - self.counts[-1] :]

    def has(self, codes):
        """Return whether each code was met."""
        return np.append(self._sorted, -1)[np.searchsorted(self._sorted, codes)] == codes

    def local(self, codes):
        """Return the local ids of codes that were met."""
        return self._local[np.searchsorted(self._sorted, codes)]

    def add(self, codes):
        """Meet the codes of a hop: those that are new get the next ids, in ascending order."""
        new = np.unique(codes)
        new = new[~self.has(new)]
        at = np.searchsorted(self._sorted, new)
        self._local = np.insert(self._local, at, len(self.codes) + np.arange(len(new)))
        self._sorted = np.insert(self._sorted, at, new)
        self.codes = np.concatenate([self.codes, new])
        self.counts.append(len(new))


def sample_hops(
    gnn, relations, sizes, roots, trees, fanouts, replace, name, *, times=None, last=False
):
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
    times : (any,) int64 array, optional
        For each tree the time up to which it sees edges, in the relations that have times.
    last : bool
        Draw the latest edges.
    """
    nothing = np.empty(0, np.int64)
    met = {
        kind: Met(trees.get(kind, nothing) * n + roots.get(kind, nothing))
        for kind, n in sizes.items()
    }
    found: dict[Any, list] = {which: [] for which in relations}
    for hop in range(max(map(len, fanouts.values()), default=0)):
        reached: dict[Any, list] = {kind: [nothing] for kind in sizes}
        for number, (which, relation) in enumerate(relations.items()):
            drawing = met[relation.target].newest
            tree, nodes = np.divmod(drawing, max(sizes[relation.target], 1))
            graph, timed = relation.graph, relation.table and relation.table.times is not None
            bounds, entries = gnn.samplers.draw_rows(
                graph,
                nodes,
                fanouts[which][hop],
                row_keys(gnn, name, replace, hop, number, len(nodes)),
                replace=replace,
                table=relation.table,
                until=times[tree] if timed else None,
                last=bool(timed and last),
            )
            counts = np.diff(bounds)
            sources = np.repeat(tree, counts) * sizes[relation.source] + graph.indices[entries]
            first = len(met[relation.target].codes) - len(drawing)
            columns = np.repeat(first + np.arange(len(drawing)), counts)
            reached[relation.source].append(sources)
            found[which].append((sources, columns, entries))
        for kind, codes in reached.items():
            met[kind].add(np.concatenate(codes))
    return drawn_of(relations, sizes, met, found)


def drawn_of(relations, sizes, met, found):
    """Return `Drawn`, of what was met and of (source codes, local targets, positions) a hop."""
    rows, columns, entries = {}, {}, {}
    nothing = (np.empty(0, np.int64),) * 3
    for which, hops in found.items():
        parts = zip(nothing, *hops, strict=True)
        codes, columns[which], entries[which] = map(np.concatenate, parts)
        rows[which] = met[relations[which].source].local(codes)
    apart = {kind: np.divmod(own.codes, max(sizes[kind], 1)) for kind, own in met.items()}
    return Drawn(
        {kind: nodes for kind, (_, nodes) in apart.items()},
        {kind: tree for kind, (tree, _) in apart.items()},
        rows,
        columns,
        entries,
        {kind: own.counts for kind, own in met.items()},
        {which: [len(hop[-1]) for hop in hops] for which, hops in found.items()},
    )


def row_keys(gnn, name, replace, hop, relation, count):
    """Return the keys of the rows of a hop: a node that draws in several trees draws anew."""
    seed, epoch, batch = name
    rows = np.arange(count, dtype=np.uint64)
    domain = REPLACED if replace else HOP
    return gnn.streams.key(seed, domain, epoch, batch, hop, relation, rows)


def _within(counts):
    """Return 0, 1, .. up to each count, one behind another."""
    first = np.cumsum(counts) - counts
    return np.arange(counts.sum()) - np.repeat(first, counts)


def induced(relations, sizes, nodes):
    """Return (local sources, local targets, positions) of all edges between nodes, by relation.

    O(sum of degrees x log) time.

    Parameters
    ----------
    relations, sizes
        As for `sample_hops`.
    nodes : dict of int64 arrays
        The nodes of each type by local id.
    """
    met = {kind: Met(own) for kind, own in nodes.items()}
    rows, columns, entries = {}, {}, {}
    for which, (source, target, graph, _) in relations.items():
        starts = graph.start[nodes[target]]
        degrees = graph.end[nodes[target]] - starts
        every = np.repeat(starts, degrees) + _within(degrees)
        kept = met[source].has(graph.indices[every])
        entries[which] = every[kept]
        rows[which] = met[source].local(graph.indices[entries[which]])
        columns[which] = np.repeat(np.arange(len(degrees)), degrees)[kept]
    return rows, columns, entries
