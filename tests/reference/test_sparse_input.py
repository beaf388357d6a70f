"""First layers on a sparse matrix of features: dense arithmetic on the same numbers is the law."""

import numpy as np
import pytest
from comparison import threads
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import differences, matrix
from strategies import FLOATS, block_from_rows, blocks, graph_from_edges, graphs, with_values

import fastimpl
import refimpl
from refimpl.layers.sage import CONCAT
from refimpl.scheduling import ProductOrders

ORDER = ProductOrders(2, 2, 0)
TOLERANCE = {np.float64: {"rtol": 1e-10, "atol": 1e-12}, np.float32: {"rtol": 1e-4, "atol": 1e-5}}
PATH = graph_from_edges(3, {(0, 1), (1, 2)})
SPARSE = with_values(block_from_rows([[1], [0, 3], []], 4), np.array([2.0, -1.0, 3.0]))


def features(draw, n, dtype):
    """Draw a sparse matrix of n rows, some of them empty, with entries in any order; and dense."""
    width = draw(st.integers(1, 5), label="columns")
    some = st.lists(st.integers(0, width - 1), max_size=width, unique=True)
    block = block_from_rows(
        draw(st.lists(some, min_size=n, max_size=n)), width, draw(st.booleans())
    )
    data = draw(st.lists(st.integers(-3, 3), min_size=block.e, max_size=block.e))
    X = with_values(block, np.array(data, dtype))
    return X, np.ascontiguousarray(matrix(block, X.data).astype(dtype))


def random(shape, dtype, seed):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@given(st.data())
def test_sage_takes_a_sparse_matrix(gnn, data):
    dtype, concat = data.draw(FLOATS), data.draw(st.sampled_from(CONCAT))
    pattern = data.draw(st.one_of(graphs(1), blocks()))
    A = with_values(pattern, random(pattern.e, dtype, 0))
    X, D = features(data.draw, pattern.n_src, dtype)
    W = [random((X.shape[1], 3), dtype, seed) for seed in (1, 2)]
    options = {"b": random(3 if concat == "sum" else 6, dtype, 3), "concat": concat}
    out, want = (gnn.sage_forward(A, M, *W, ORDER, **options) for M in (X, D))
    assert_allclose(out.X_out, want.X_out, **TOLERANCE[dtype])
    G = random(out.X_out.shape, dtype, 4)
    got, want = (gnn.sage_backward(A, M, *W, want, G, ORDER, **options) for M in (X, D))
    assert got.X is None
    for name in ("W_neigh", "W_self", "b"):
        assert_allclose(getattr(got, name), getattr(want, name), **TOLERANCE[dtype])


@given(st.data())
def test_gcn_and_a_dense_layer_take_a_sparse_matrix(gnn, data):
    dtype, relu = data.draw(FLOATS), data.draw(st.booleans())
    pattern = data.draw(st.one_of(graphs(1), blocks()))
    A = with_values(pattern, random(pattern.e, dtype, 0))
    X, D = features(data.draw, pattern.n_src, dtype)
    W, b = random((X.shape[1], 3), dtype, 1), random(3, dtype, 2)
    out, want = (gnn.gcn_forward(A, M, W, ORDER, b=b, relu=relu) for M in (X, D))
    assert_allclose(out.X_out, want.X_out, **TOLERANCE[dtype])
    G = random(out.X_out.shape, dtype, 3)
    got, want = (gnn.gcn_backward(A, M, W, want, G, ORDER, b=b, relu=relu) for M in (X, D))
    assert got.X is None
    assert_allclose(got.W, want.W, **TOLERANCE[dtype])
    Y, want = (gnn.dense_forward(M, W, relu=relu, b=b) for M in (X, D))
    assert_allclose(Y, want, **TOLERANCE[dtype])
    G, options = random(Y.shape, dtype, 4), {"relu": relu, "need_dx": False, "b": b}
    got, want = (gnn.dense_backward(M, W, want, G, **options) for M in (X, D))
    assert_allclose(got.W, want.W, **TOLERANCE[dtype])
    assert_allclose(got.b, want.b, **TOLERANCE[dtype])


def test_gradients_are_those_of_finite_differences(gnn):
    A, W = refimpl.adjacency.sym_norm(PATH), random((4, 2), np.float64, 1)
    G = random((3, 2), np.float64, 2)

    def loss():
        return (gnn.gcn_forward(A, SPARSE, W, ORDER, relu=False).X_out * G).sum()

    out = gnn.gcn_forward(A, SPARSE, W, ORDER, relu=False)
    got = gnn.gcn_backward(A, SPARSE, W, out, G, ORDER, relu=False)
    assert_allclose(got.W, differences(loss, W), rtol=1e-6, atol=1e-8)


def test_both_packages_and_all_numbers_of_threads_agree():
    """Sparse products have one right answer, so W's gradient and X W have the same bits."""
    rows = [sorted({7 * v % 40, 3 * v % 40, v % 40}) for v in range(300)]
    X = with_values(block_from_rows(rows, 40), random(sum(map(len, rows)), np.float32, 0))
    W, G = random((40, 24), np.float32, 1), random((300, 24), np.float32, 2)
    Y = refimpl.dense_forward(X, W, relu=False)
    want = refimpl.dense_backward(X, W, Y, G, relu=False, need_dx=False).W
    for count in (1, 2, 5):
        with threads(count):
            assert_array_equal(fastimpl.dense_forward(X, W, relu=False), Y)
            got = fastimpl.dense_backward(X, W, Y, G, relu=False, need_dx=False)
        assert_array_equal(got.W, want)


def test_rows_and_the_transpose_are_those_of_the_dense_matrix():
    D = matrix(SPARSE.graph, SPARSE.data)
    assert SPARSE.shape == D.shape and SPARSE.dtype == D.dtype
    assert_array_equal(matrix(SPARSE.T.graph, SPARSE.T.data), D.T)
    some = SPARSE[:2]
    assert_array_equal(matrix(some.graph, some.data), D[:2])
    assert_array_equal(matrix(some.graph_t, some.data_t), D[:2].T)
    assert SPARSE[:3] is SPARSE
    for wrong in (0, np.array([0]), slice(0, 2, 2)):
        with pytest.raises(TypeError, match="must be a slice"):
            SPARSE[wrong]


FORWARD_ONLY = refimpl.Adjacency(SPARSE.graph, SPARSE.data, None, SPARSE.graph_t)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"order": ProductOrders(1, 2, 0)}, ValueError, "order must be .* where X is an Adj"),
        ({"order": ProductOrders(2, 2, 1)}, ValueError, "order must be .* where X is an Adj"),
        ({"X": SPARSE[:2]}, ValueError, r"X must have shape \(3, 4\), got \(2, 4\)"),
        ({"W": np.ones((5, 2))}, ValueError, "W must have shape"),
        ({"W": np.ones((4, 2), np.float32)}, TypeError, "W must be float64"),
        ({"X": FORWARD_ONLY}, ValueError, "X must have data_t"),
    ],
)
def test_what_does_not_fit_is_refused(gnn, changes, error, words):
    given = {"A": refimpl.adjacency.sym_norm(PATH), "X": SPARSE, "W": np.ones((4, 2))}
    given |= {"order": ORDER, **changes}
    out = refimpl.layers.GcnOutput(np.ones((3, 2)), None)
    with pytest.raises(error, match=words):
        gnn.gcn_backward(**given, out=out, G_out=np.ones((3, 2)))


def test_there_is_no_gradient_of_a_sparse_matrix(gnn):
    Y = np.ones((3, 2))
    with pytest.raises(ValueError, match="need_dx must be False"):
        gnn.dense_backward(SPARSE, np.ones((4, 2)), Y, Y, relu=False, need_dx=True)


def test_other_layers_refuse_a_sparse_matrix(gnn):
    A, W = refimpl.adjacency.loop_norm(PATH), np.ones((4, 2))
    with pytest.raises((TypeError, ValueError), match="X must"):
        gnn.gat_forward(A, SPARSE, W, np.ones((1, 2)), np.ones((1, 2)))
    with pytest.raises((TypeError, ValueError), match="X must"):
        gnn.layers.mixhop_forward((A,), SPARSE, [W, W], 0)
