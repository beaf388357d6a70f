"""Random graphs and data sets to measure on: like the papers', and with edges of bounded length."""

from functools import cache

import numpy as np
from scipy.sparse.csgraph import connected_components, dijkstra

from bench.figures.experiment import ABOUT
from refimpl.graph import from_edges
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.data.generators import power_law
from refimpl.samplers.sampling import Sampler
from refimpl.streams import SHUFFLE, key, pick_without_replacement

SEED = 0
PATIENCE = 60  # rounds of drawing, before a band counts as too narrow for its edges
# The training graphs of the papers' data sets: nodes, mean degree, features, classes (J Table 2)
LIKE = ABOUT["I-fig3"]["like"]


def graph_like(name, shrink=1):
    """Return a power-law graph with the nodes and the mean degree of a name in `LIKE`.

    The graph has `shrink` times fewer nodes, but at least 10 times its mean degree.
    """
    nodes, degree, *_ = LIKE[name]
    return power_law(max(nodes // shrink, round(10 * degree)), degree, SEED)


def data_like(name, shrink=1):
    """Return the data set of `graph_like`, all of whose nodes are trained on."""
    graph, (*_, features, classes) = graph_like(name, shrink), LIKE[name]
    return data_on(graph, np.arange(graph.n), features, classes, SEED)


def data_on(graph, roots, features, classes=10, seed=0):
    """Return a data set to train on some roots of a whole graph.

    Classes are drawn, and features are the mean of a node's class plus noise.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, graph.n, np.int16)
    X = rng.standard_normal((graph.n, features), np.float32)
    X += rng.standard_normal((classes, features), np.float32)[labels]
    none = np.arange(0)
    return Dataset("made", graph, X, labels, roots, none, none, setting="transductive")


@cache
def made_graph(nodes, degree, exponent=2.3):
    """Return a random graph with power-law degrees."""
    return power_law(nodes, degree, exponent=exponent)


def drawn_roots(n, count, number=0):
    """Return some of n nodes, to train on; other ones for each number."""
    return pick_without_replacement(key(SEED, SHUFFLE, number), 0, n, count)


def banded(n, mean_degree, band, exponent, seed=0):
    """Return an undirected graph with ``mean_degree * n / 2`` edges |u - v| <= band.

    The first end of an edge is drawn in proportion to the weights of all nodes, the second to
    those of the nodes within the band; weights are a power law in random order. A band that cannot
    hold the edges is refused.
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


def drawn_subgraph(gnn, nodes, degree, **sizes):
    """Return a subgraph by frontier sampling on a Dashboard of pins, of a power-law graph."""
    graph = power_law(nodes, degree, exponent=2.3)
    return gnn.sample_many(graph, Sampler("pin_tile", **sizes), 0, 0, 1)[0]
