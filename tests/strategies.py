"""Graphs for Hypothesis, with the shapes that break graph code; they shrink to few nodes."""

import inspect

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

import refimpl
from refimpl import Graph, Sampler, as_graph
from refimpl.samplers.nodes import KERNELS

FLOATS = st.sampled_from([np.float64, np.float32])
KEYS = st.integers(0, 2**64 - 1)


def draws_of_a_law(refimpl, fastimpl, quick=2000):
    """Return how many samples of each package a test of a law draws, `quick` in a plain run."""
    if settings().max_examples < 40:
        refimpl = fastimpl = quick
    return {"refimpl": refimpl, "fastimpl": fastimpl}


def graph_from_edges(n, edges):
    """Return the Graph on n nodes with each (u, v) of `edges` in both directions."""
    return directed_from_edges(n, set(edges) | {(v, u) for u, v in edges})


def directed_from_edges(n, edges):
    """Return the Graph on n nodes with exactly the directed `edges`."""
    row, col = np.array(sorted(set(edges)), dtype=np.int64).reshape(-1, 2).T
    return Graph(np.concatenate(([0], np.cumsum(np.bincount(row, minlength=n)))), col)


def dataset_on(graph):
    """Return a Dataset whose nodes are all for training, where only the graph matters."""
    every, none = np.arange(graph.n), np.arange(0)
    return refimpl.Dataset("any", graph, np.ones((graph.n, 1)), every % 2, every, none, none)


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


SIZES = {"m": 1, "n": 2, "b": 1, "r": 1, "h": 1}  # the options that have no default
SAMPLER_OPTIONS = {  # by the names of samplers' options; one name means the same in all of them
    "b": st.integers(1, 40),
    "h": st.integers(0, 5),
    "p_f": st.sampled_from([0, 0.3, 0.7, 0.95, 1]),
    "method": st.sampled_from(["direct", "alias"]),
    "deg_cap": st.sampled_from([None, 1, 2, 3, 100]),
    "include": st.sampled_from(["pushed", "popped"]),
    "eta": st.sampled_from([1.01, 1.2, 1.5, 2, 3.0]),
    "lanes": st.sampled_from([1, 2, 3, 4, 7, 8, 16, 33]),
    "probe_range": st.sampled_from(["capacity", "used"]),
    "overflow": st.sampled_from(["truncate", "grow"]),
}


@st.composite
def sampler_options(draw, graph, name):
    """Draw legal keyword arguments of sampler `name` for a graph with at least one node."""
    m = draw(st.integers(1, graph.n), label="m")
    drawn = {"m": st.just(m), "r": st.just(m), "n": st.integers(m, m + 40), **SAMPLER_OPTIONS}
    return {key: draw(drawn[key], label=key) for key in sampler_takes(name, drawn)}


def sampler_takes(name, options):
    """Return those of `options`, a dictionary, that the sampler `name` takes."""
    parameters = inspect.signature(KERNELS[name]).parameters
    return {key: value for key, value in options.items() if key in parameters}


def sampler_keys(name, *keys):
    """Return the first of `keys`, as many as the sampler `name` takes."""
    return keys[: Sampler(name, **sampler_takes(name, SIZES)).streams]


def distinct(shape, dtype, seed=0):
    """Return a read-only array in which no two values are equal: a misplaced one shows."""
    size = int(np.prod(shape))
    values = np.random.default_rng(seed).permutation(size) - size / 2 + 0.25
    values = (values / max(size, 1)).astype(dtype).reshape(shape)
    values.flags.writeable = False
    return values


def distinct_arrays(shapes, dtype):
    """Return one array of distinct values for each shape."""
    return [distinct(shape, dtype, seed) for seed, shape in enumerate(shapes, start=1)]


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


def block_from_rows(rows, n_src, dead=0):
    """Return the Block with these sources in each row, and `dead` dead entries after each row."""
    lengths = np.array([len(row) for row in rows], np.int64)
    start = np.concatenate(([0], np.cumsum(lengths + dead)))[:-1].astype(np.int64)
    indices = [u for row in rows for u in (*row, *[0] * dead)]
    return refimpl.Block(start, start + lengths, np.array(indices, np.int32), n_src)


def transposed(block):
    """Return the transpose of a Block, and where each of its entries stands in `block`."""
    places = [
        (block.indices[k], v, k)
        for v in range(block.n_dst)
        for k in range(block.start[v], block.end[v])
    ]
    rows = [[v for w, v, _ in sorted(places) if w == u] for u in range(block.n_src)]
    return block_from_rows(rows, block.n_dst), np.array([k for *_, k in sorted(places)], np.int64)


def random_block(rng, n_dst, n_src, *, loops=False, pruned=False):
    """Return a Block with short rows in any order, of which the third is empty.

    With `loops`, every destination stands first in its own row, and no row is empty. If `pruned`,
    a dead entry follows each row, and the third row is empty in any case.
    """
    rows = []
    for v in range(n_dst):
        near = rng.choice(n_src, size=(v + 2) % 4, replace=False).tolist()
        rows.append([v, *(u for u in near if u != v)] if loops else near)
    if pruned:
        rows[2] = []
    return block_from_rows(rows, n_src, dead=int(pruned))


@st.composite
def block_of(draw, n_dst, n_src, *, loops=False):
    """Draw a Block of this size: empty rows, dead entries, and unused sources are common.

    With `loops`, every destination stands first in its own row.
    """
    row = st.lists(st.integers(0, n_src - 1), unique=True, max_size=5) if n_src else st.just([])
    rows = draw(st.lists(row, min_size=n_dst, max_size=n_dst), label="rows")
    if loops:
        rows = [[v, *(u for u in row if u != v)] for v, row in enumerate(rows)]
    return block_from_rows(rows, n_src, draw(st.integers(0, 2), label="dead"))


@st.composite
def blocks(draw, *, loops=False):
    """Draw a Block with at least as many sources as destinations."""
    (block,) = draw(block_chains(1, loops=loops))
    return block


@st.composite
def block_chains(draw, length, *, loops=False):
    """Draw Blocks each of which feeds the next: first to last, they have fewer nodes."""
    sizes = sorted(draw(st.lists(st.integers(0, 8), min_size=length + 1, max_size=length + 1)))
    pairs = zip(sizes[::-1][:-1], sizes[::-1][1:], strict=True)
    return [draw(block_of(n_dst, n_src, loops=loops)) for n_src, n_dst in pairs]


def with_values(pattern, data):
    """Return the Adjacency with `data` on an undirected Graph or a Block, transpose included."""
    if isinstance(pattern, Graph):
        perm = refimpl.transpose_perm(pattern)
        return refimpl.Adjacency(pattern, data, data[perm], None, perm)
    pattern_t, perm = transposed(pattern)
    return refimpl.Adjacency(pattern, data, data[perm], pattern_t, perm)


def asymmetric(pattern, dtype=np.float64, seed=0):
    """Return an Adjacency whose values say which way an edge points; dead entries hold NaN."""
    data = np.random.default_rng(seed).normal(size=pattern.e).astype(dtype)
    live = np.zeros(pattern.e, bool)
    for start, end in zip(pattern.start, pattern.end, strict=True):
        live[start:end] = True
    data[~live] = np.nan
    return with_values(pattern, data)
