"""Weights of edges as people have them: given to a graph, or named where they are ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support import edge_sources, require
from refimpl._support.foreign_graphs import has_directions
from refimpl._support.user_warnings import warn
from refimpl.graph import Graph, WeightedGraph, from_edges
from refimpl.lab.data.tables import warn_of_loops

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from refimpl.hints import Absent, FilePath


def read_graph(source: Any) -> tuple[Graph, NDArray[Any] | None]:
    """Return a source of `as_graph`, which is no Graph, undirected and without self-loops; names.

    A WeightedGraph where the source has weights that are not all 1. Warns of directions that are
    added, and of weights that are ignored.
    """
    found = edge_sources.entries(source, None, False)
    row, weights = found.row, [(where, _listed(held)) for where, held in found.weights]
    if row is None:
        row = np.repeat(np.arange(found.n, dtype=np.int32), np.diff(found.indptr))
    col = found.col
    if require.issparse(source):
        row, col, weights = _added(row, col, weights, found.n)
    if has_directions(source):
        directed = Graph._trusted(*edge_sources.canonical(found, False, True))
        if not directed.symmetric:
            warn("the graph is directed: its edges are read in both directions")
    warn_of_loops(row[row == col], "source")
    graph = from_edges(row, col, found.n, symmetrize=True, self_loops=False)
    used = False
    for where, held in weights:
        if np.array_equal(held, np.ones(len(held))):
            continue
        if used:
            warn(f"ignored the weights in {where!r} of source: it has others")
            continue
        if len(held) * 2 == len(row):  # both directions of an undirected source
            held = np.concatenate([held, held])
        graph = with_weights(graph, row, col, held, f"{where!r} of source")
        used = True
    return graph, found.names


def _added(
    row: NDArray[Any], col: NDArray[Any], weights: list[tuple[str, NDArray[Any]]], n: int
) -> tuple[NDArray[Any], NDArray[Any], list[tuple[str, NDArray[Any]]]]:
    """Return the entries of a matrix, those at one place added, as SciPy does."""
    places, first, back = np.unique(
        row.astype(np.int64) * n + col, return_index=True, return_inverse=True
    )
    if places.size == row.size:
        return row, col, weights
    where, data = weights[0]
    kind = data.dtype if data.dtype.kind == "b" else np.result_type(data, np.float64)
    added = np.zeros(places.size, kind)
    np.add.at(added, back, data)
    return row[first], col[first], [(where, added)]


def with_weights(
    graph: Graph, u: NDArray[Any], v: NDArray[Any], weights: Any, where: FilePath
) -> Graph:
    """Return a WeightedGraph, edge (u[i], v[i]) having ``weights[i]`` in both directions.

    Where they are no weights of an undirected graph, the reason is named and the graph returned.

    Parameters
    ----------
    graph : Graph
        Undirected, of these edges except self-loops.
    u, v : (k,) integer arrays
    weights : array
    where : str
    """
    weights, fault = _numbers(weights, len(u))
    if fault is None and graph.self_loops:
        fault = "the graph has self-loops"
    if fault is None:
        kept = u != v
        low, high = np.minimum(u, v)[kept].astype(np.int64), np.maximum(u, v)[kept]
        keys, first, back = np.unique(low * graph.n + high, return_index=True, return_inverse=True)
        given = weights[kept]
        other = np.flatnonzero(given != given[first][back])
        if other.size:
            a, b = divmod(int(keys[back[other[0]]]), graph.n)
            fault = (
                f"the edge between nodes {a} and {b} has the weights "
                f"{given[first[back[other[0]]]]:g} and {given[other[0]]:g}"
            )
    if fault is not None:
        warn(f"ignored the weights in {where}: {fault}")
        return graph
    row = np.repeat(np.arange(graph.n), graph.degrees())
    wanted = np.minimum(row, graph.indices) * graph.n + np.maximum(row, graph.indices)
    held = given[first][np.searchsorted(keys, wanted)]
    return graph if (held == 1).all() else WeightedGraph._with_weights(graph, held)


def _numbers(weights: Any, k: int) -> tuple[Absent, str | None]:
    """Return weights as floats, and what is wrong with them or None."""
    try:
        numbers = require.array("weights", weights)
        if numbers.dtype.kind == "c":
            return None, "they must be real numbers"
        numbers = numbers.astype(np.float64)
    except (TypeError, ValueError):
        return None, "they must be numbers"
    if numbers.shape != (k,):
        return None, f"they must have shape ({k},), one for each edge, got {numbers.shape}"
    bad = np.flatnonzero(~(np.isfinite(numbers) & (numbers > 0)))
    if bad.size:
        return None, f"they must be positive and finite, but edge {bad[0]} has {numbers[bad[0]]:g}"
    return numbers, None


def _listed(held: Any) -> NDArray[Any]:
    return held if isinstance(held, np.ndarray) else np.array(list(held))
