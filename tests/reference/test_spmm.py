"""Sparse x dense: SciPy, dense algebra, and the one right answer to the last bit."""

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import FLOATS, directed_graphs, graph_from_edges, graphs, power_law_graph


@given(
    graph=graphs() | directed_graphs(), width=st.integers(0, 5), dtype=FLOATS, seed=st.integers(0)
)
def test_spmm(gnn, graph, width, dtype, seed):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=graph.e).astype(dtype)
    X = rng.normal(size=(graph.n, width)).astype(dtype)
    data.flags.writeable = X.flags.writeable = False
    got = gnn.spmm(graph, data, X)
    assert got.dtype == dtype
    assert got.flags.c_contiguous
    assert_array_equal(got, oracles.sequential_product(graph, data, X))
    tolerance = {"rtol": 0, "atol": 50 * np.finfo(dtype).eps * max(graph.n, 1)}
    assert_allclose(got, graph.to_scipy(data) @ X, **tolerance)
    assert_allclose(got, oracles.dense(graph, data) @ X, **tolerance)


@pytest.mark.parametrize("width", [1, 7, 64, 129])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_spmm_wide(gnn, width, dtype):
    """Widths on both sides of any vector length, with rows of hundreds of entries."""
    graph, rng = power_law_graph(120), np.random.default_rng(width)
    data = rng.normal(size=graph.e).astype(dtype)
    X = rng.normal(size=(graph.n, width)).astype(dtype)
    assert_array_equal(gnn.spmm(graph, data, X), oracles.sequential_product(graph, data, X))


def test_spmm_rounds_each_product_before_it_adds(gnn):
    """A fused multiply-add would give 2**-60: the square below is not a double."""
    graph, a = graph_from_edges(2, {(0, 0), (0, 1)}), 1 + 2.0**-30
    got = gnn.spmm(graph, np.array([1.0, a, 0.0]), np.array([[-(a * a)], [a]]))
    assert got[0, 0] == 0


def test_spmm_takes_any_layout(gnn):
    graph, rng = power_law_graph(30), np.random.default_rng(0)
    data, X = rng.normal(size=graph.e), rng.normal(size=(graph.n, 6))
    want = oracles.sequential_product(graph, data, X)
    assert_array_equal(gnn.spmm(graph, data, np.asfortranarray(X)), want)
    assert_array_equal(gnn.spmm(graph, data, X[:, ::-1]), want[:, ::-1])
    assert_array_equal(gnn.spmm(graph, np.repeat(data, 2)[::2], X), want)


PATH = graph_from_edges(3, {(0, 1), (1, 2)})


@pytest.mark.parametrize(
    ("data", "X", "error"),
    [
        (np.ones(3), np.ones((3, 2)), ValueError),
        (np.ones((4, 1)), np.ones((3, 2)), ValueError),
        (np.ones(4), np.ones((2, 2)), ValueError),
        (np.ones(4), np.ones(3), ValueError),
        (np.ones(4, np.float32), np.ones((3, 2)), TypeError),
        (np.ones(4, np.float16), np.ones((3, 2), np.float16), TypeError),
        (np.ones(4, int), np.ones((3, 2), int), TypeError),
        (np.ones(4, complex), np.ones((3, 2), complex), TypeError),
        (np.ones(4), "X", TypeError),
        (None, np.ones((3, 2)), TypeError),
    ],
)
def test_spmm_rejects(gnn, data, X, error):
    with pytest.raises(error):
        gnn.spmm(PATH, data, X)
