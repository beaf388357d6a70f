"""What a graph looks like in a few numbers, and how subgraphs compare with their graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl import streams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from refimpl.graph import Graph
    from refimpl.hints import Positions

HUBS = 50
MOST_PATHS = 10**8  # paths of length 2 that clustering may look at: about a second's worth
BLOCK_PATHS = 4 * 10**6  # and those looked at together, to bound the memory


def structure(graph: Graph) -> dict[str, Any]:
    """Return the numbers as a dict; a number that the graph has not is None.

    Parameters
    ----------
    graph : Graph
        Undirected, without self-loops.

    Returns
    -------
    dict
        ``edges`` counts undirected ones. ``mean degree of a neighbour`` is that of the node at
        the end of a random edge. ``clustering`` is the mean over the nodes of the share of
        their pairs of neighbours that are neighbours themselves (0 below 2 neighbours); in a
        large graph over ``clustering_nodes`` random nodes only.
    """
    degrees = graph.degrees()
    nodes = _affordable(graph, degrees)
    return {
        "nodes": graph.n,
        "edges": graph.e // 2,
        "isolated": int(np.count_nonzero(degrees == 0)),
        "mean_degree": graph.e / graph.n if graph.n else None,
        "neighbour_degree": float((degrees**2).sum() / graph.e) if graph.e else None,
        "max_degree": int(degrees.max(initial=0)),
        "clustering": clustering(graph, nodes),
        "assortativity": assortativity(graph),
        "clustering_nodes": nodes.size,
    }


def clustering(graph: Graph, nodes: NDArray[Any]) -> float | None:
    """Return the mean local clustering coefficient of `nodes`; None if there are none."""
    if not nodes.size:
        return None
    adjacency, degrees = graph.to_scipy(np.ones(graph.e, np.int32)), graph.degrees()
    total = 0.0
    block = np.cumsum(_paths(graph, degrees)[nodes]) // BLOCK_PATHS
    for part in np.split(nodes, np.flatnonzero(np.diff(block)) + 1):
        rows = adjacency[part]
        closed = (rows @ adjacency).multiply(rows).sum(axis=1)  # twice the triangles of a node
        pairs = degrees[part] * (degrees[part] - 1)
        total += float((closed / np.maximum(pairs, 1)).sum())
    return total / nodes.size


def _paths(graph: Graph, degrees: Positions) -> Positions | Any:
    """Return for each node the sum of its neighbours' degrees."""
    ends = np.concatenate([[0], np.cumsum(degrees[graph.indices])])
    return ends[graph.indptr[1:]] - ends[graph.indptr[:-1]]


def _affordable(graph: Graph, degrees: Positions) -> Positions | Any:
    """Return all nodes, or as many random ones as MOST_PATHS allows."""
    paths = int((degrees**2).sum())
    if paths <= MOST_PATHS:
        return np.arange(graph.n)
    counters = np.arange(graph.n, dtype=np.uint64)
    order = np.argsort(streams.uniform(streams.key(0, streams.STRUCTURE), counters), kind="stable")
    return order[: max(graph.n * MOST_PATHS // paths, 1)]


def assortativity(graph: Graph) -> float | None:
    """Return the correlation of the degrees at both ends of an edge; None if all are alike."""
    degrees = graph.degrees()
    ends = np.repeat(degrees, degrees)
    if not ends.size or ends.min() == ends.max():
        return None
    mean = ends.mean()
    products = np.mean((ends - mean) * (degrees[graph.indices] - mean))
    return float(products / np.mean((ends - mean) ** 2))


def hub_share(graph: Graph, node_sets: Sequence[NDArray[Any]]) -> float:
    """Return how many of the graph's HUBS nodes of highest degree a subgraph has, as a share.

    The mean over `node_sets`; nodes of equal degree count in the order of their ids.
    """
    hubs = np.argsort(-graph.degrees(), kind="stable")[:HUBS]
    return float(np.mean([np.isin(hubs, nodes).mean() for nodes in node_sets]))


def overlap(n: int, node_sets: Sequence[NDArray[Any]]) -> float | None:
    """Return the mean over all pairs of sets of |both| / |either|; None for a single set."""
    sizes = np.array([len(nodes) for nodes in node_sets])
    if sizes.size < 2:
        return None
    ratios = []
    inside = np.zeros(n, np.bool_)
    for i, nodes in enumerate(node_sets):
        inside[nodes] = True
        for j in range(i):
            both = np.count_nonzero(inside[node_sets[j]])
            either = sizes[i] + sizes[j] - both
            ratios.append(both / either if either else 1.0)
        inside[nodes] = False
    return float(np.mean(ratios))
