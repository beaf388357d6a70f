"""Random graphs whose edges join nodes with numbers near one another, for other diameters."""

import numpy as np
from scipy.sparse.csgraph import connected_components, dijkstra

from refimpl.graph import from_edges

PATIENCE = 60  # rounds of drawing, before a band counts as too narrow for so many edges


def banded(n, mean_degree, band, exponent, seed=0):
    """Return an undirected graph with ``mean_degree * n / 2`` edges |u - v| <= band.

    The first end of an edge is drawn in proportion to the weights of all nodes, the second to
    those of the nodes within the band; weights are a power law in random order.

    Raises
    ------
    ValueError
        If so many different edges are not found.
    """
    rng, count = np.random.default_rng(seed), round(mean_degree * n / 2)
    weights = rng.permutation(((np.arange(n) + 0.5) / n) ** (-1 / (exponent - 1)))
    bounds = np.concatenate([[0.0], np.cumsum(weights)])
    codes = np.empty(0, np.int64)
    for _ in range(PATIENCE):
        u = at(bounds, bounds[-1] * rng.random(count))
        low, high = bounds[np.maximum(u - band, 0)], bounds[np.minimum(u + band + 1, n)]
        v = at(bounds, low + (high - low) * rng.random(count))
        new = np.minimum(u, v) * n + np.maximum(u, v)
        codes = np.concatenate([codes, new[(u != v) & (np.abs(u - v) <= band)]])
        _, first = np.unique(codes, return_index=True)
        codes = codes[np.sort(first)[:count]]
        if len(codes) == count:
            return from_edges(*np.divmod(codes, n), n, symmetrize=True)
    raise ValueError(
        f"band must be wider: one of {band} has no room for a mean degree of {mean_degree}"
    )


def at(bounds, draws):
    """Return between which bounds draws fall."""
    return np.minimum(np.searchsorted(bounds, draws, side="right") - 1, len(bounds) - 2)


def diameter_at_least(graph):
    """Return a lower bound of the diameter of the largest component: how far a far node sees."""
    matrix = graph.to_scipy()
    parts = connected_components(matrix, directed=False)[1]
    begin = np.flatnonzero(parts == np.bincount(parts).argmax())[0]
    for _ in range(2):
        far = dijkstra(matrix, indices=begin, unweighted=True)
        far[np.isinf(far)] = -1
        begin = far.argmax()
    return int(far.max())
