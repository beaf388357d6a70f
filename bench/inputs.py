"""Inputs of the benchmarks: made once, from fixed seeds, outside every timer."""

import importlib
from functools import cache
from typing import NamedTuple

import numpy as np

import refimpl

SEED = 20210901


class Size(NamedTuple):
    """One scale of input.

    parent, parent_degree : nodes and mean degree of the graph that is sampled
    m, n : frontier size and node budget of the samplers
    s, degree : nodes and mean degree of the graph that layers work on
    f, hidden, classes : widths of features, of a layer's output, of the logits
    """

    parent: int
    parent_degree: int
    m: int
    n: int
    s: int
    degree: int
    f: int
    hidden: int
    classes: int


SIZES = {
    "tiny": Size(64, 6, 4, 16, 16, 4, 16, 16, 4),
    "medium": Size(10_000, 15, 100, 800, 1_000, 15, 128, 128, 16),
    "large": Size(200_000, 20, 1_000, 8_000, 8_000, 30, 256, 256, 64),
}


@cache
def fastest():
    """Return fastimpl where it is compiled, else refimpl: for what is not timed and takes long."""
    try:
        return importlib.import_module("fastimpl")
    except ImportError:
        return refimpl


@cache
def power_law(n, mean_degree):
    """Return an undirected random graph whose degrees follow a power law."""
    return refimpl.lab.data.power_law(n, mean_degree, SEED)


def parent(size):
    """Return the graph that the samplers walk on."""
    return power_law(SIZES[size].parent, SIZES[size].parent_degree)


def layer_graph(size):
    """Return a graph as large as a subgraph, for the layers and the sparse product."""
    return power_law(SIZES[size].s, SIZES[size].degree)


@cache
def adjacency(size, dtype="float32"):
    """Return the row-normalised adjacency of `layer_graph`."""
    return refimpl.adjacency.row_norm(layer_graph(size), transpose_of(size), dtype=np.dtype(dtype))


@cache
def transpose_of(size):
    """Return the permutation that transposes `layer_graph`."""
    return np.argsort(layer_graph(size).indices, kind="stable").astype(np.int32)


@cache
def neighbours(size, times=1):
    """Return message-flow graphs of two hops from m roots of `parent`, `times` as many if large."""
    roots = np.arange(SIZES[size].m * (times if size == "large" else 1))
    return refimpl.sample_mfg(parent(size), roots, [10, 5], seed=SEED, epoch=0, batch=0)


def normal(shape, seed, dtype="float32"):
    """Return standard normal numbers, all different in practice."""
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.dtype(dtype))


def weights(rows, cols, seed, dtype="float32"):
    """Return a weight matrix whose products stay near 1."""
    return normal((rows, cols), seed, dtype) / np.sqrt(rows, dtype=np.dtype(dtype))


def one_hot(rows, classes, seed, dtype="float32"):
    """Return random one-hot rows."""
    chosen = np.random.default_rng(seed).integers(0, classes, rows)
    return np.eye(classes, dtype=np.dtype(dtype))[chosen]


def graph_text(graph):
    """Return how the report names a graph."""
    return f"n={graph.n:,} e={graph.e:,}"
