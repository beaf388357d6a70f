"""A graph of another library's edges, which knows where each of its entries stood there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from refimpl.graph import Graph
from refimpl.hints import Ids, Positions


class Numbered(NamedTuple):
    """A graph whose entries are numbered as the edges that it was made of.

    Attributes
    ----------
    graph : Graph
        Row v lists the nodes from which an edge leads to v.
    order : (e,) int64 array, or None
        Which edge each entry of the graph is; None if they stand in one order.
    """

    graph: Graph
    order: Positions | None

    def edges(self, entries: NDArray[Any]) -> NDArray[Any]:
        """Return which edges some entries of the graph are, as a new array."""
        return np.array(entries) if self.order is None else self.order[entries]


def numbered(sources: Ids, targets: Ids, n: int) -> Numbered | None:
    """Return the Numbered graph of e edges, or None if one of them stands twice.

    O(e log d) time, d the most edges of a node.

    Parameters
    ----------
    sources, targets : (e,) int32 arrays
        Ids in [0, n).
    n : int, below 2**31
    """
    matrix = sp.csr_array((np.arange(len(sources)), (targets, sources)), shape=(n, n))
    matrix.sum_duplicates()  # sorts each row as well
    if matrix.nnz < len(sources):
        return None
    order = matrix.data if np.any(matrix.data[1:] < matrix.data[:-1]) else None
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)
    return Numbered(Graph._trusted(indptr, indices), order)


def entries_of(graph: Graph, nodes: Ids | Positions) -> tuple[Positions, Positions]:
    """Return (rows, entries): all entries of some nodes' rows, and whose each is, by position."""
    starts = graph.start[nodes]
    degrees = graph.end[nodes] - starts
    rows = np.repeat(np.arange(len(degrees)), degrees)
    return rows, np.arange(len(rows)) + np.repeat(starts - (np.cumsum(degrees) - degrees), degrees)
