"""FastGCN and LADIES: their blocks written out densely, no bias, and what a layer may meet."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import oracles
import pytest
from comparison import assert_bits
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import (
    FLOATS,
    KEYS,
    directed_graphs,
    even_graph,
    graph_from_edges,
    graphs,
    power_law_graph,
)

import refimpl
from refimpl.lab.backend import find
from refimpl.samplers import importance
from refimpl.streams import Stream

# A hub, a triangle, a tail, a node with a loop, and an isolated node.
GRAPH = graph_from_edges(8, {(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (4, 5), (6, 6)})
HUBS, EVEN = power_law_graph(400), even_graph(1000, 12)
SIZES = st.lists(st.integers(1, 6), max_size=3)


def row_mean(graph, dtype=np.float64):
    """Return (pattern, values) of D^-1 A."""
    A = refimpl.adjacency.row_norm(graph, dtype=dtype)
    return A.graph, A.data


def sym(graph, dtype=np.float64):
    """Return (pattern, values) of the matrix of GCN."""
    A = refimpl.adjacency.sym_norm(graph, dtype=dtype)
    return A.graph, A.data


def dense(graph, data):
    P = np.zeros((graph.n, graph.n))
    P[oracles.rows(graph), graph.indices] = data
    return P


def block_matrix(n, mfg, values, layer):
    """Return what a block says of all n nodes: a dense matrix with its values at true ids."""
    block, src, dst = mfg.blocks[layer], mfg.nodes[layer], mfg.nodes[layer + 1]
    M = np.zeros((n, n))
    row = np.repeat(np.arange(block.n_dst), block.degrees())
    M[dst[row], src[block.indices]] = values[layer]
    return M


def counted_draws(mass, draws, size):
    """Return how often each column is drawn, by a walk along the masses."""
    counts = np.zeros(len(mass))
    for _ in range(size):
        x = draws.uniform() * sum(mass.tolist())
        if sum(mass.tolist()) > 0:
            u, upto = 0, float(mass[0])
            while upto <= x:
                u += 1
                upto += float(mass[u])
            counts[u] += 1
    return counts


def written_out(P, roots, sizes, key, method):
    """Return (nodes, matrices), inputs first: the weights of each layer, at true ids."""
    draws, nodes, layers = oracles.Draws(key), [list(roots)], []
    for size in sizes:
        S = nodes[-1]
        mass = (P**2).sum(axis=0) if method == "fastgcn" else (P[S] ** 2).sum(axis=0)
        counts = counted_draws(mass, draws, size)
        q = mass / max(mass.sum(), 1e-300)
        scale = np.divide(counts, size * q, out=np.zeros(len(q)), where=counts > 0)
        W = np.zeros_like(P)
        W[S] = P[S] * scale
        if method == "ladies":
            W[S, S] = P[S, S]
            total = W.sum(axis=1, keepdims=True)
            W = np.divide(W, total, out=np.zeros_like(W), where=total > 0)
        layers.append(W)
        met = set(np.flatnonzero(W.any(axis=0)).tolist())
        nodes.append(S + sorted(met - set(S)))
    return nodes[::-1], layers[::-1]


def sample(method, graph, data, *args):
    return find(refimpl, f"{method}_sample")(graph, data, *args)


METHODS = pytest.mark.parametrize("method", ["fastgcn", "ladies"])
NORMS = pytest.mark.parametrize("norm", [row_mean, sym])


@st.composite
def matrix_and_roots(draw):
    """Draw (pattern, values, roots): values of a model, or any, with zeros, on any pattern."""
    norm = draw(st.sampled_from([row_mean, sym, None]))
    graph = draw(graphs(max_nodes=10) if norm else graphs(max_nodes=10) | directed_graphs())
    if norm:
        graph, data = norm(graph)
    else:
        data = np.array([draw(st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0])) for _ in range(graph.e)])
    roots = draw(st.permutations(range(graph.n)))[: draw(st.integers(0, graph.n))]
    return graph, data, np.array(roots, np.int32)


@METHODS
@given(matrix=matrix_and_roots(), sizes=SIZES, key=KEYS)
def test_samples_are_what_is_written_out(method, matrix, sizes, key):
    graph, data, roots = matrix
    nodes, layers = written_out(dense(graph, data), roots.tolist(), sizes, key, method)
    mfg, values = sample(method, graph, data, roots, sizes, key)
    assert [array.dtype for array in mfg.nodes] == [np.int32] * len(mfg.nodes)
    assert len(mfg.blocks) == len(values) == len(sizes)
    assert [array.tolist() for array in mfg.nodes] == nodes
    for layer, W in enumerate(layers):
        got = block_matrix(graph.n, mfg, values, layer)
        assert_allclose(got, W, rtol=1e-12, atol=0)
        assert mfg.blocks[layer].e == np.count_nonzero(W)


def check_invariants(graph, data, roots, sizes, mfg, values):
    """Prefixes, true entries of P in the order of its rows, no new node without a use."""
    assert_array_equal(mfg.nodes[-1], roots)
    for layer, size in enumerate(sizes[::-1]):
        src, dst, block = mfg.nodes[layer], mfg.nodes[layer + 1], mfg.blocks[layer]
        assert (block.n_src, block.n_dst) == (len(src), len(dst))
        assert_array_equal(src[: len(dst)], dst)
        assert len(np.unique(src)) == len(src)
        assert (np.diff(src[len(dst) :]) > 0).all()
        assert set(range(len(dst), len(src))) <= set(block.indices.tolist())
        assert len(src) <= len(dst) + size
        row = np.repeat(np.arange(len(dst)), block.degrees())
        assert_array_equal(oracles.rows(graph)[block.edge_ids], dst[row])
        assert_array_equal(graph.indices[block.edge_ids], src[block.indices])
        assert (np.diff(block.edge_ids)[row[1:] == row[:-1]] > 0).all()
        checked = (block.start, block.end, block.indices, block.n_src, block.edge_ids)
        assert type(block)(*checked).e == block.e == len(values[layer])
        assert not any(array.flags.writeable for array in checked if array is not block.n_src)
        assert values[layer].dtype == data.dtype
        assert (values[layer] > 0).all()


@METHODS
@NORMS
@pytest.mark.parametrize("sizes", [(30, 20), (200,), (1, 1, 1), (40, 40, 40)])
def test_invariants_on_hundreds_of_nodes(method, norm, sizes):
    for graph in (HUBS, EVEN):
        P, data = norm(graph, np.float32)
        for key in range(3):
            roots = np.random.default_rng(key).permutation(graph.n)[:40].astype(np.int32)
            mfg, values = sample(method, P, data, roots, sizes, key)
            check_invariants(P, data, roots, sizes, mfg, values)
            assert mfg.blocks[-1].e or method == "fastgcn"


# The law.


@NORMS
@pytest.mark.parametrize("size", [1, 3])
def test_fastgcn_has_no_bias_by_enumeration(norm, size, monkeypatch):
    """Each way to draw, with its probability: the mean block is P, on the rows asked for."""
    graph, data = norm(GRAPH)
    law = refimpl.samplers.importance_law(graph, data)
    mass = (dense(graph, data) ** 2).sum(axis=0)
    assert_allclose(law.q, mass / mass.sum(), rtol=1e-14)
    possible = np.flatnonzero(law.q)
    assert len(possible) == (7 if norm is row_mean else 8)  # only sym has the isolated node
    middle = (law.cumulative - mass / 2) / law.cumulative[-1]
    roots, mean, chance = np.array([0, 5, 7, 6, 1]), 0, 0
    for way in product(possible, repeat=size):
        monkeypatch.setattr(Stream, "uniforms", lambda self, n, way=way: middle[list(way)])
        mfg, values = refimpl.samplers.fastgcn_sample(graph, data, roots, [size], 0, law=law)
        probability = np.prod(law.q[list(way)])
        chance += probability
        mean += probability * block_matrix(8, mfg, values, 0)
    want = dense(graph, data)
    want[[2, 3, 4]] = 0
    assert chance == pytest.approx(1, rel=1e-12)
    assert_allclose(mean, want, rtol=1e-11, atol=1e-15)


@pytest.mark.runs
def test_mean_and_variance_of_fastgcn_over_many_keys():
    """An entry p drawn with probability q has mean p and variance p^2 (1/q - 1) / t.

    The tolerance is 5 standard errors: 3 in 100 million for one of 22 entries and a normal law.
    """
    graph, data = sym(GRAPH)
    law, keys, t = refimpl.samplers.importance_law(graph, data), 4000, 5
    roots, seen = np.arange(8), []
    for key in range(keys):
        mfg, values = refimpl.samplers.fastgcn_sample(graph, data, roots, [t], key, law=law)
        seen.append(block_matrix(8, mfg, values, 0))
    P = dense(graph, data)
    variance = P**2 * (1 / law.q - 1) / t
    assert (np.abs(np.mean(seen, axis=0) - P) <= 5 * np.sqrt(variance / keys)).all()
    assert_allclose(np.var(seen, axis=0), variance, rtol=0.3)


def test_ladies_estimates_without_bias_before_the_division(monkeypatch):
    """By enumeration; the division is undone by the one value that chance leaves alone."""
    graph, data = sym(GRAPH)
    P, S, size = dense(graph, data), [4, 0, 7], 2
    mass = (P[S] ** 2).sum(axis=0)
    near = np.flatnonzero(mass)
    ends = np.cumsum(mass[near])
    middle, q = (ends - mass[near] / 2) / ends[-1], mass[near] / ends[-1]
    mean = np.zeros((8, 8))
    for way in product(range(len(near)), repeat=size):
        monkeypatch.setattr(Stream, "uniforms", lambda self, n, way=way: middle[list(way)])
        mfg, values = refimpl.samplers.ladies_sample(graph, data, np.array(S), [size], 0)
        W = block_matrix(8, mfg, values, 0)
        assert_allclose(W[S].sum(axis=1), 1, rtol=1e-14)
        mean[S] += np.prod(q[list(way)]) * W[S] * (P[S, S] / W[S, S])[:, None]
    assert_allclose(mean[S], P[S], rtol=1e-12, atol=1e-15)


def test_ladies_meets_neighbours_only():
    """One draw is enough where there is one neighbour; FastGCN mostly draws another node."""
    graph, data = row_mean(GRAPH)
    for key in range(20):
        mfg, (values,) = refimpl.samplers.ladies_sample(graph, data, [5], [1], key)
        assert mfg.nodes[0].tolist() == [5, 4]
        assert values.tolist() == [1]
    met = [
        len(refimpl.samplers.fastgcn_sample(graph, data, [5], [1], key).mfg.nodes[0])
        for key in range(20)
    ]
    assert set(met) == {1, 2}
    assert met.count(1) > 10


def test_squares_of_small_values_are_not_rounded_to_0():
    small = np.full(GRAPH.e, 1e-30, np.float32)
    law, even = (refimpl.samplers.importance_law(GRAPH, data) for data in (small, ONES))
    assert_allclose(law.q, even.q, rtol=1e-12)


# What is empty.


@METHODS
def test_rows_without_neighbours_or_draws_are_empty(method):
    graph, data = row_mean(GRAPH)
    mfg, (values,) = sample(method, graph, data, np.array([7, 0]), [9], 1)
    assert mfg.blocks[0].degrees()[0] == 0
    assert mfg.blocks[0].degrees()[1] > 0
    mfg, (values,) = sample(method, graph, data, np.array([7]), [9], 1)
    assert (mfg.nodes[0].tolist(), values.size) == ([7], 0)
    found = [sample(method, graph, data, [0, 5], [1], key).mfg.blocks[0] for key in range(20)]
    assert any((block.degrees() == 0).any() for block in found)


@METHODS
def test_gcn_rows_of_ladies_keep_the_node_itself(method):
    graph, data = sym(EVEN)
    roots = np.arange(0, 1000, 3, dtype=np.int32)
    mfg, _ = sample(method, graph, data, roots, [5], 1)
    own = np.array([i in mfg.blocks[0].indices[s:e] for i, (s, e) in enumerate(_rows(mfg))])
    assert own.all() == (method == "ladies")
    assert own.mean() < 0.1 or method == "ladies"


def _rows(mfg):
    return zip(mfg.blocks[0].start, mfg.blocks[0].end, strict=True)


@METHODS
def test_graphs_without_edges_roots_without_nodes_layers_without_number(method):
    for n in (0, 1, 4):
        graph = graph_from_edges(n, set())
        mfg, values = sample(method, graph, np.empty(0), np.arange(n), [3, 2], 1)
        assert [array.tolist() for array in mfg.nodes] == [list(range(n))] * 3
        assert [array.size for array in values] == [0, 0]
    graph, data = sym(GRAPH)
    mfg, values = sample(method, graph, data, [], [3, 2], 1)
    assert [array.size for array in mfg.nodes] == [0, 0, 0]
    mfg, values = sample(method, graph, data, [3, 1], [], 1)
    assert [array.tolist() for array in mfg.nodes] == [[3, 1]]
    assert mfg.blocks == values == ()


def test_columns_of_zeros_are_never_drawn():
    """Even by the least and the greatest number that a draw can be."""
    cumulative = np.array([0.0, 0.0, 2.0, 2.0, 5.0, 5.0])
    law = importance.ColumnLaw(np.array([0, 0, 0.4, 0, 0.6, 0]), cumulative)
    u = np.array([0, np.nextafter(0.4, 0), 0.4, 1 - 2**-53])
    assert_allclose(importance._scale(law, u), [0, 0, 2 / 1.6, 0, 2 / 2.4, 0], rtol=1e-15)
    for total in np.random.default_rng(0).random(1000):
        assert total * (1 - 2**-53) < total


# The same bits.


@METHODS
@given(matrix=matrix_and_roots(), sizes=SIZES, key=KEYS)
def test_a_law_that_was_kept_and_other_calls_change_nothing(method, matrix, sizes, key):
    graph, data, roots = matrix
    want = sample(method, graph, data, roots, sizes, key)
    sample(method, graph, data, roots[::-1], sizes, key ^ 1)
    assert_bits(sample(method, graph, data, roots, sizes, key), want)
    if method == "fastgcn":
        law = refimpl.samplers.importance_law(graph, data)
        assert_bits(refimpl.samplers.fastgcn_sample(graph, data, roots, sizes, key, law=law), want)


@METHODS
def test_calls_in_several_threads_share_nothing(method):
    jobs = [
        (*norm(graph), np.arange(q % 5, 60, 7), sizes, q)
        for q in range(4)
        for graph in (HUBS, EVEN)
        for norm in (row_mean, sym)
        for sizes in ((40, 30), (7,))
    ]
    want = [sample(method, *job) for job in jobs]
    with ThreadPoolExecutor(4) as pool:
        got = pool.map(lambda job: sample(method, *job), jobs)
        for one, other in zip(got, want, strict=True):
            assert_bits(one, other)


@METHODS
@given(matrix=matrix_and_roots(), sizes=SIZES, key=KEYS, dtype=FLOATS)
def test_dtype_and_roots_are_the_callers(method, matrix, sizes, key, dtype):
    graph, data, roots = matrix
    mfg, values = sample(method, graph, data.astype(dtype), roots, sizes, key)
    assert all(array.dtype == dtype for array in values)
    assert not np.shares_memory(mfg.nodes[-1], roots)


def test_layers_draw_other_numbers():
    """The second layer goes on where the first one stopped."""
    graph, data = sym(EVEN)
    roots = np.arange(30)
    one = refimpl.samplers.fastgcn_sample(graph, data, roots, [200], 5).mfg
    two = refimpl.samplers.fastgcn_sample(graph, data, roots, [200, 200], 5).mfg
    assert_array_equal(one.blocks[0].edge_ids, two.blocks[1].edge_ids)
    row = two.nodes[0][two.blocks[0].indices[: two.blocks[0].start[30]]]
    assert set(row.tolist()) != set(one.nodes[0][one.blocks[0].indices].tolist())


# Refused.

ONES, LAW = np.ones(GRAPH.e), refimpl.samplers.importance_law(GRAPH, np.ones(GRAPH.e))
BAD = {
    "graph": (("graph", ONES, [0], [2], 1), TypeError, "graph must be a Graph"),
    "data-short": ((GRAPH, ONES[1:], [0], [2], 1), ValueError, "data must have shape"),
    "data-int": ((GRAPH, ONES.astype(int), [0], [2], 1), TypeError, "data must be float"),
    "data-negative": ((GRAPH, -ONES, [0], [2], 1), ValueError, "data must be finite"),
    "data-nan": ((GRAPH, ONES * np.nan, [0], [2], 1), ValueError, "data must be finite"),
    "roots-outside": ((GRAPH, ONES, [8], [2], 1), ValueError, "roots must be in"),
    "roots-twice": ((GRAPH, ONES, [1, 1], [2], 1), ValueError, "roots must be distinct"),
    "sizes-int": ((GRAPH, ONES, [0], 2, 1), TypeError, "sizes must be a sequence"),
    "sizes-float": ((GRAPH, ONES, [0], [2.0], 1), TypeError, "sizes must be an integer"),
    "sizes-zero": ((GRAPH, ONES, [0], [2, 0], 1), ValueError, "sizes must be in"),
    "key-negative": ((GRAPH, ONES, [0], [2], -1), ValueError, "key must be"),
}


@METHODS
@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_refused(method, case):
    arguments, error, message = BAD[case]
    with pytest.raises(error, match=message):
        sample(method, *arguments)


def test_laws_that_do_not_fit_are_refused():
    with pytest.raises(TypeError, match="law must be an ColumnLaw"):
        refimpl.samplers.fastgcn_sample(GRAPH, ONES, [0], [2], 1, law=tuple(LAW))
    with pytest.raises(ValueError, match="law must be over the graph's 1000 nodes, got 8"):
        refimpl.samplers.fastgcn_sample(EVEN, np.ones(EVEN.e), [0], [2], 1, law=LAW)
    with pytest.raises(ValueError, match="data must be finite"):
        refimpl.samplers.importance_law(GRAPH, -ONES)
    with pytest.raises(TypeError, match="graph must be a Graph"):
        refimpl.samplers.importance_law(None, ONES)
    endless = LAW._replace(cumulative=np.full(GRAPH.n, np.inf))
    with pytest.raises(ValueError, match="law.cumulative must end in a finite sum"):
        refimpl.samplers.fastgcn_sample(GRAPH, ONES, [0], [2], 1, law=endless)


@METHODS
@pytest.mark.parametrize("key", range(4))
def test_squares_at_both_ends_of_the_range(method, key):
    """The last sum may be the smallest number there is: then a draw can be all of it."""
    pair = graph_from_edges(2, {(0, 1)})
    tiny = sample(method, pair, np.full(2, 2e-162), [0], [1], key)
    assert len(tiny.mfg.nodes[0]) <= 2
    with pytest.raises(ValueError, match="data must have squares with a finite sum"):
        sample(method, pair, np.full(2, 1e200), [0], [1], key)
