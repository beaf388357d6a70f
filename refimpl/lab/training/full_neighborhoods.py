"""Blocks of a whole graph's rows, with all of their neighbours: what an exact pass works on."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from refimpl.adjacency import Adjacency
from refimpl.block import Block, entries_of_rows
from refimpl.graph import Graph, WeightedGraph
from refimpl.typed import TypedGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from refimpl.hints import Absent, FloatDtype, Floats, Ids, Positions

ROWS = 2**16  # whose costs are summed at a time
ENTRIES = 2**20  # that are looked at together where nothing is computed


class CompleteRows(NamedTuple):
    """Some rows of a graph.

    Attributes
    ----------
    block : Block
        From each node to all of its neighbours, in the order of the graph; with `edge_ids`
        where that has types or weights.
    nodes : (n_src,) int32 array
        The block's sources, by their ids; the rows' own come first.
    lengths : (n_src,) int64 array
        Of the rows of the sources in `add_self_loops` of the whole graph; None where the model has
        no use for them.
    graph : Graph
    """

    block: Block
    nodes: Ids
    lengths: Positions | Absent
    graph: Any  # with types or weights where the model asks for them


class Needed:
    """The nodes that an exact pass for some nodes has to know: all within so many hops.

    Parameters
    ----------
    graph : Graph
    nodes : (k,) int32 array
        Ascending, each once.
    hops : int

    Attributes
    ----------
    order : (counts[0],) int32 array
        These nodes: at first those given, then the others, hop by hop, ascending in each.
    counts : list of hops + 1 ints
        After hop t, the first ``counts[t]`` of them are still needed.
    """

    def __init__(self, graph: Graph, nodes: Ids, hops: int) -> None:
        self.graph = graph
        known = np.zeros(graph.n, bool)
        known[nodes] = True
        rings = [nodes]
        for _ in range(hops):
            reached = np.zeros(graph.n, bool)
            for first, last in _pieces(graph, rings[-1]):
                ring = rings[-1][first:last]
                reached[graph.indices[_entries(graph, ring)]] = True
            reached &= ~known
            rings.append(np.flatnonzero(reached).astype(np.int32))
            known |= reached
        self.order = np.concatenate(rings)
        self.counts: list[int] = np.cumsum([len(ring) for ring in rings])[::-1].tolist()
        self.place = np.full(graph.n, -1, np.int32)  # of each node in `order`
        self.place[self.order] = np.arange(len(self.order), dtype=np.int32)

    @property
    def everything(self) -> bool:
        """Whether all nodes are wanted, so that they stand in the graph's order."""
        return self.counts[-1] == self.graph.n

    @property
    def nbytes(self) -> int:
        """Bytes of all that is kept for each node."""
        return 2 * self.order.nbytes + self.place.nbytes

    @cached_property
    def _local(self) -> Ids:
        return np.empty(len(self.order), np.int32)

    @cached_property
    def _looped(self) -> Ids:
        """The needed nodes that have a self-loop, ascending."""
        found = [np.empty(0, np.int32)]
        for first, last in _pieces(self.graph, self.order):
            rows = self.order[first:last]
            owners = np.repeat(rows, self.degrees(rows))
            found.append(owners[self.graph.indices[_entries(self.graph, rows)] == owners])
        return np.sort(np.concatenate(found))

    def degrees(self, nodes: Ids) -> Positions:
        """Return how many neighbours some nodes have."""
        return self.graph.degrees(nodes)

    def rows(
        self, at: NDArray[Any], hop: int, whole: bool, lengths: bool
    ) -> tuple[CompleteRows, Positions]:
        """Return the CompleteRows of the nodes ``order[at]``, and where their sources stand.

        Parameters
        ----------
        at : (k,) int64 array
        hop : int
            From 1.
        whole : bool
            They are all that are needed after this hop, so that the sources are all before it.
        lengths : bool
            The model wants `lengths`.
        """
        nodes, before = self.order[at], self.counts[hop - 1]
        degrees, entries = self.degrees(nodes), _entries(self.graph, nodes)
        indices = self.place[self.graph.indices[entries]]
        if whole:
            sources = np.arange(before)
        else:
            new = np.zeros(before, bool)
            new[indices] = True
            new[at] = False
            sources = np.concatenate([at, np.flatnonzero(new)])
            self._local[sources] = np.arange(len(sources), dtype=np.int32)
            indices = self._local[indices]
        ends, ids = np.cumsum(degrees), self.order[sources]
        edge_ids = entries if isinstance(self.graph, TypedGraph | WeightedGraph) else None
        block = Block._trusted(ends - degrees, ends, indices, len(sources), edge_ids)
        looped = self._lengths(ids) if lengths else None
        return CompleteRows(block, ids, looped, self.graph), sources

    def _lengths(self, nodes: Ids) -> Positions:
        lengths = self.degrees(nodes) + 1
        return lengths - np.isin(nodes, self._looped) if self._looped.size else lengths


def matrix_of(kind: str, rows: CompleteRows, dtype: FloatDtype) -> Adjacency:
    """Return `row_norm`, `sym_norm` or `loop_norm` of the whole graph, but these rows alone.

    Its values have the same bits, and stand in the same order. It has no transpose.

    Parameters
    ----------
    kind : {"row", "sym", "loop"}
    rows : CompleteRows
    dtype : float32 or float64

    Returns
    -------
    Adjacency
    """
    if kind == "row":
        return mean_of(rows.block, dtype)
    looped = with_loops(rows)
    if kind == "loop":
        return mean_of(looped, dtype)
    lengths = looped.degrees()
    products = np.repeat(lengths, lengths)
    products *= rows.lengths[looped.indices]
    return forward_only(looped, (1 / np.sqrt(products)).astype(dtype))


def mean_of(pattern: Block, dtype: FloatDtype) -> Adjacency:
    """Return the mean over the entries of each row of a Block, without its transpose."""
    lengths = pattern.degrees()
    return forward_only(pattern, np.repeat(1 / np.maximum(lengths, 1).astype(dtype), lengths))


def forward_only(pattern: Block, data: Floats[Any]) -> Adjacency:
    """Return an Adjacency on a Block whose transpose is not there."""
    none = np.broadcast_to(np.int64(0), pattern.n_src)
    nothing = Block._trusted(none, none, np.empty(0, np.int32), pattern.n_dst)
    return Adjacency(pattern, data, None, nothing)


def with_loops(rows: CompleteRows) -> Block:
    """Return the block with each row's own node in its place, if it was not there."""
    block, nodes = rows.block, rows.nodes
    lengths = block.degrees()
    row = np.repeat(np.arange(block.n_dst, dtype=np.int32), lengths)
    owner, entry = nodes[row], nodes[block.indices]
    missing = np.ones(block.n_dst, bool)
    missing[row[entry == owner]] = False
    below = np.bincount(row[entry < owner], minlength=block.n_dst)
    own = np.flatnonzero(missing).astype(np.int32)
    indices = np.insert(block.indices, (block.start + below)[own], own)
    lengths = lengths + missing
    ends = np.cumsum(lengths)
    return Block._trusted(ends - lengths, ends, indices, block.n_src)


def cuts(
    count: int, costs: Callable[[int, int], NDArray[Any]], most: int
) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of pieces of rows 0, 1, .. whose costs are at most `most` together.

    A row that costs more is a piece alone; ``costs(first, last)`` returns those of some rows.
    """
    first, room = 0, most
    for low in range(0, count, ROWS):
        ends = np.cumsum(costs(low, min(low + ROWS, count)))
        at, spent = 0, 0
        while (fit := int(np.searchsorted(ends, spent + room, side="right"))) < len(ends):
            at = max(fit, at + (first == low + at))
            yield first, low + at
            first, room, spent = low + at, most, int(ends[at - 1]) if at else 0
        room -= int(ends[-1]) - spent
    if first < count:
        yield first, count


def _pieces(graph: Graph, nodes: Ids) -> Iterator[tuple[int, int]]:
    def degrees(first: int, last: int) -> Positions:
        return graph.degrees(nodes[first:last])

    return cuts(len(nodes), degrees, ENTRIES)


def _entries(graph: Graph, nodes: Ids) -> Positions:
    return entries_of_rows(graph.start[nodes], graph.end[nodes])
