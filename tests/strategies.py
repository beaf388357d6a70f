"""Graphs for Hypothesis, with the shapes that break graph code; they shrink to few nodes."""

import numpy as np
from hypothesis import strategies as st

from refimpl import Graph, as_graph

FLOATS = st.sampled_from([np.float64, np.float32])
KEYS = st.integers(0, 2**64 - 1)


def graph_from_edges(n, edges):
    """Return the Graph on n nodes with each (u, v) of `edges` in both directions."""
    return directed_from_edges(n, set(edges) | {(v, u) for u, v in edges})


def directed_from_edges(n, edges):
    """Return the Graph on n nodes with exactly the directed `edges`."""
    row, col = np.array(sorted(set(edges)), dtype=np.int64).reshape(-1, 2).T
    return Graph(np.concatenate(([0], np.cumsum(np.bincount(row, minlength=n)))), col)


def _star(n):
    return {(0, v) for v in range(1, n)}


def _path(n):
    return {(v, v + 1) for v in range(n - 1)}


def _clique_with_tail(n):
    head = max(n - 2, 0)
    return {(u, v) for u in range(head) for v in range(u)} | {(v, v + 1) for v in range(n - 1)}


def _two_components(n):
    return {(v, v + 2) for v in range(n - 2)}


def _nothing(n):
    return set()


SHAPES = (_nothing, _path, _star, _two_components, _clique_with_tail)


@st.composite
def graphs(draw, min_nodes=0, max_nodes=10):
    """Draw an undirected Graph: a shape, a few more edges and loops, a few isolated nodes."""
    n = draw(st.integers(min_nodes, max_nodes), label="nodes")
    isolated = draw(st.integers(0, min(2, n)), label="isolated at the end")
    core = n - isolated
    edges = draw(st.sampled_from(SHAPES), label="shape")(core)
    edges |= draw(_node_pairs(core), label="more edges")
    return graph_from_edges(n, edges)


@st.composite
def directed_graphs(draw, max_nodes=8):
    """Draw a Graph in which (u, v) may stand without (v, u)."""
    n = draw(st.integers(0, max_nodes), label="nodes")
    return directed_from_edges(n, draw(_node_pairs(n), label="edges"))


def _node_pairs(n):
    node = st.integers(0, max(n - 1, 0))
    return st.sets(st.tuples(node, node), max_size=n + n // 2)


@st.composite
def sampler_options(draw, graph, name):
    """Draw legal keyword arguments of sampler `name` for a graph with at least one node."""
    m = draw(st.integers(1, graph.n), label="m")
    options = {
        "m": m,
        "n": draw(st.integers(m, m + 12), label="n"),
        "deg_cap": draw(st.sampled_from([None, 1, 2, 3, 100]), label="deg_cap"),
        "include": draw(st.sampled_from(["pushed", "popped"]), label="include"),
    }
    if name == "pin_tile":
        options["eta"] = draw(st.sampled_from([1.01, 1.2, 1.5, 2, 3.0]), label="eta")
        options["lanes"] = draw(st.sampled_from([1, 3, 4, 8, 16, 33]), label="lanes")
        options["probe_range"] = draw(st.sampled_from(["capacity", "used"]), label="probe_range")
        options["overflow"] = draw(st.sampled_from(["truncate", "grow"]), label="overflow")
    return options


def distinct(shape, dtype, seed=0):
    """Return a read-only array in which no two values are equal: a misplaced one shows."""
    size = int(np.prod(shape))
    values = np.random.default_rng(seed).permutation(size) - size / 2 + 0.25
    values = (values / max(size, 1)).astype(dtype).reshape(shape)
    values.flags.writeable = False
    return values


def power_law_graph(n, seed=0):
    """Return a graph with a few hubs, a long tail and some isolated nodes."""
    weight = 1 / np.arange(1, n - n // 50 + 1)
    rng = np.random.default_rng(seed)
    ends = rng.choice(len(weight), size=(4 * n, 2), p=weight / weight.sum())
    return as_graph(ends, n=n, symmetrize=True, self_loops=False)


def even_graph(n, degree, seed=0):
    """Return a graph in which every degree is close to `degree`."""
    ends = np.random.default_rng(seed).integers(0, n, size=(n * degree // 2, 2))
    return as_graph(ends, n=n, symmetrize=True, self_loops=False)
