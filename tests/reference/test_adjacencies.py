"""Normalised adjacencies of graphs and of blocks, against dense matrices."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import dense, matrix, neighbours
from strategies import (
    FLOATS,
    block_from_rows,
    blocks,
    directed_from_edges,
    graph_from_edges,
    graphs,
)

from refimpl.lab.backend import find

DEGREES = st.integers(0, 2**30)


def with_loops(graph):
    """Return I + A, its entries 0 or 1."""
    return np.maximum(dense(graph), np.eye(graph.n))


def assert_transpose(A):
    """Check that `graph_t`, `data_t` and `perm` are those of the transpose of A."""
    pattern_t = A.graph if A.graph_t is None else A.graph_t
    assert_array_equal(matrix(pattern_t, A.data_t), matrix(A.graph, A.data).T)
    assert_array_equal(matrix(pattern_t), matrix(A.graph).T)
    assert A.data_t.dtype == A.data.dtype
    if A.perm is not None:
        assert A.perm.dtype == np.int64
        assert_array_equal(A.data_t, A.data[A.perm])


@given(graph=graphs(), dtype=FLOATS)
def test_row_norm(gnn, graph, dtype):
    """Rows add up to 1, or to 0; the transpose holds 1 / deg(u) at (v, u)."""
    A = gnn.adjacency.row_norm(graph, gnn.transpose_perm(graph), dtype=dtype)
    degree = dense(graph).sum(axis=1, keepdims=True)
    mean = (dense(graph) / np.maximum(degree, 1)).astype(dtype)
    assert_array_equal(matrix(A.graph, A.data), mean)
    assert_transpose(A)


@given(graph=graphs())
def test_add_self_loops(gnn, graph):
    looped = gnn.adjacency.add_self_loops(graph)
    assert type(looped) is type(graph)
    assert_array_equal(dense(looped), with_loops(graph))
    for v in range(graph.n):
        assert neighbours(looped, v) == sorted({v, *neighbours(graph, v)})
    assert looped.symmetric
    assert_array_equal(dense(gnn.adjacency.add_self_loops(looped)), dense(looped))
    assert (looped.indptr.dtype, looped.indices.dtype) == (np.int64, np.int32)
    for array in (looped.indptr, looped.indices):
        assert not array.flags.writeable


@given(graph=graphs(), dtype=FLOATS)
def test_sym_norm(gnn, graph, dtype):
    """(I + D)^-1/2 (I + A) (I + D)^-1/2, its own transpose to the last bit."""
    A = gnn.adjacency.sym_norm(graph, dtype=dtype)
    M = matrix(A.graph, A.data)
    root = 1 / np.sqrt(with_loops(graph).sum(axis=1))
    tolerance = 2 * np.finfo(dtype).eps
    assert_allclose(M, with_loops(graph) * np.outer(root, root), rtol=tolerance)
    assert M.dtype == dtype
    assert_array_equal(M, M.T)
    assert_transpose(A)
    largest = np.abs(np.linalg.eigvalsh(M.astype(float))).max(initial=0)
    assert largest <= 1 + 10 * np.finfo(dtype).eps
    if graph.n:  # reached: (I + D)^1/2 1 is an eigenvector
        assert_allclose(largest, 1, rtol=10 * np.finfo(dtype).eps)


@given(graph=graphs(), dtype=FLOATS)
def test_loop_norm(gnn, graph, dtype):
    A = gnn.adjacency.loop_norm(graph, dtype=dtype)
    size = with_loops(graph).sum(axis=1, keepdims=True)
    assert_array_equal(matrix(A.graph, A.data), (with_loops(graph) / size).astype(dtype))
    assert_array_equal(A.perm, gnn.transpose_perm(A.graph))
    assert_transpose(A)


def test_a_path_by_hand(gnn):
    """Nodes 0 - 1 and the loop of 1; node 2 is isolated."""
    graph = graph_from_edges(3, {(0, 1), (1, 1)})
    half = pytest.approx(0.5, rel=1e-15)
    assert gnn.adjacency.add_self_loops(graph).indices.tolist() == [0, 1, 0, 1, 2]
    assert gnn.adjacency.sym_norm(graph).data.tolist() == [half, half, half, half, 1]
    assert gnn.adjacency.loop_norm(graph).data.tolist() == [0.5, 0.5, 0.5, 0.5, 1]
    assert gnn.adjacency.row_norm(graph).data.tolist() == [1, 0.5, 0.5]


@given(block=blocks(), dtype=FLOATS)
def test_block_row_norm(gnn, block, dtype):
    A = gnn.adjacency.block_norm("row", block, dtype=dtype)
    count = np.maximum(matrix(block).sum(axis=1, keepdims=True), 1)
    assert_array_equal(matrix(A.graph, A.data), (matrix(block) / count).astype(dtype))
    assert_transpose(A)
    assert A.graph_t is not None and A.perm is not None


def sampled(block):
    """Return the sources of each row, the row's own node left out."""
    rows = zip(block.start, block.end, strict=True)
    return [
        [u for u in block.indices[start:end].tolist() if u != v]
        for v, (start, end) in enumerate(rows)
    ]


@given(block=blocks(), degrees=st.data(), dtype=FLOATS)
def test_block_sym_norm(gnn, block, degrees, dtype):
    """The definition by sampled neighbours; a node sampled from itself is there once."""
    rows = sampled(block)
    more = degrees.draw(st.lists(DEGREES, min_size=block.n_src, max_size=block.n_src))
    d = [m + (len(rows[v]) if v < len(rows) else 0) for v, m in enumerate(more)]
    A = gnn.adjacency.block_norm("sym", block, np.array(d, np.int64), dtype=dtype)
    want = np.zeros((block.n_dst, block.n_src))
    for v, near in enumerate(rows):
        want[v, v] = 1 / (d[v] + 1)
        for u in near:
            want[v, u] = d[v] / len(near) / math.sqrt((d[u] + 1) * (d[v] + 1))
    assert_allclose(matrix(A.graph, A.data), want, rtol=4 * np.finfo(dtype).eps)
    assert A.data.dtype == dtype
    assert_own_first(A, rows)
    assert_transpose(A)


@given(block=blocks(), dtype=FLOATS)
def test_block_loop_norm(gnn, block, dtype):
    """A node that was sampled from itself, over a loop, is there once."""
    rows = sampled(block)
    A = gnn.adjacency.block_norm("loop", block, dtype=dtype)
    want = np.zeros((block.n_dst, block.n_src), dtype)
    for v, near in enumerate(rows):
        want[v, [v, *near]] = dtype(1) / dtype(len(near) + 1)
    assert_array_equal(matrix(A.graph, A.data), want)
    assert_own_first(A, rows)
    assert_transpose(A)


@given(block=blocks(), kind=st.sampled_from(["row", "sym", "loop"]), dtype=FLOATS)
def test_weights_of_a_block_multiply_its_entries(gnn, block, kind, dtype):
    """By the weight over the mean of the row; a row's own node is not in this mean."""
    weights = 1 + 0.3 * np.arange(block.e)
    parts = block.start, block.end, block.indices, block.n_src
    degrees = np.arange(block.n_src) + 9 if kind == "sym" else None
    plain = gnn.adjacency.block_norm(kind, gnn.Block(*parts), degrees, dtype=dtype)
    A = gnn.adjacency.block_norm(kind, gnn.Block(*parts, None, weights), degrees, dtype=dtype)
    want = matrix(plain.graph, plain.data.astype(float))
    for v, (start, end) in enumerate(zip(block.start, block.end, strict=True)):
        row = [j for j in range(start, end) if kind == "row" or block.indices[j] != v]
        for j in row:
            want[v, block.indices[j]] *= weights[j] / np.mean(weights[row])
    assert_allclose(matrix(A.graph, A.data), want, rtol=8 * np.finfo(dtype).eps)
    assert_array_equal(A.graph.indices, plain.graph.indices)
    assert_transpose(A)


def assert_own_first(A, rows):
    """Check that row v has its own node, then the sampled in their order."""
    for v, near in enumerate(rows):
        row = A.graph.indices[A.graph.start[v] : A.graph.end[v]].tolist()
        assert row == [v, *near]


@given(graph=graphs())
def test_a_block_of_all_neighbours_has_the_values_of_the_graph(gnn, graph):
    block = block_from_rows([neighbours(graph, v) for v in range(graph.n)], graph.n)
    others = (with_loops(graph).sum(axis=1) - 1).astype(int)
    for kind, degrees, A in (
        ("row", None, gnn.adjacency.row_norm(graph)),
        ("loop", None, gnn.adjacency.loop_norm(graph)),
        ("sym", others, gnn.adjacency.sym_norm(graph)),
    ):
        B = gnn.adjacency.block_norm(kind, block, degrees)
        assert_allclose(matrix(B.graph, B.data), matrix(A.graph, A.data), rtol=1e-14, atol=0)


def test_sym_of_a_block_is_unbiased(gnn):
    """The mean over all samples of two neighbours is the row of the whole graph's matrix."""
    star = graph_from_edges(6, {(0, v) for v in range(1, 6)} | {(1, 2)})
    samples = list(itertools.combinations(neighbours(star, 0), 2))
    values = [
        gnn.adjacency.block_norm("sym", block_from_rows([near], 6), star.degrees())
        for near in samples
    ]
    mean = sum(matrix(A.graph, A.data) for A in values) / len(samples)
    whole = gnn.adjacency.sym_norm(star)
    assert_allclose(mean, matrix(whole.graph, whole.data)[:1], rtol=1e-14)


PATH = graph_from_edges(3, {(0, 1), (1, 2)})
ARROW = directed_from_edges(3, {(0, 1)})


@pytest.mark.parametrize("name", ["row_norm", "add_self_loops", "sym_norm", "loop_norm"])
@pytest.mark.parametrize("graph", [ARROW, "graph", None])
def test_only_an_undirected_graph_is_taken(gnn, name, graph):
    with pytest.raises((TypeError, ValueError), match="graph must"):
        find(gnn, name)(graph)


@pytest.mark.parametrize("name", ["row_norm", "sym_norm", "loop_norm"])
@pytest.mark.parametrize("dtype", [np.float16, int, complex, "numbers"])
def test_only_two_dtypes_are_made(gnn, name, dtype):
    with pytest.raises((TypeError, ValueError), match="dtype must be float32 or float64"):
        find(gnn, name)(PATH, dtype=dtype)


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"kind": "mean"}, "kind"),
        ({"kind": None}, "kind"),
        ({"block": PATH}, "block"),
        ({"block": None}, "block"),
        ({"degrees": None}, "degrees"),
        ({"degrees": np.ones(2, int)}, "degrees"),
        ({"degrees": np.ones((3, 1), int)}, "degrees"),
        ({"degrees": np.ones(3)}, "degrees"),
        ({"degrees": np.array([2, 1, -1])}, "degrees"),
        ({"dtype": np.float16}, "dtype"),
    ],
)
def test_block_norm_rejects(gnn, change, argument):
    block = block_from_rows([[1, 2], []], 3)
    good = {"kind": "sym", "block": block, "degrees": np.array([2, 1, 1])}
    gnn.adjacency.block_norm(**good)
    with pytest.raises((TypeError, ValueError), match=argument):
        gnn.adjacency.block_norm(**{**good, **change})
