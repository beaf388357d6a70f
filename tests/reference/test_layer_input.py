"""What the layers refuse, and the smallest input that they take."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from strategies import graph_from_edges

from refimpl import Adjacency
from refimpl.scheduling import ProductOrders

PATH = graph_from_edges(3, {(0, 1), (1, 2)})
ORDER = ProductOrders(1, 1, 1)
ONES, SINGLE = np.ones((3, 2)), np.ones((2, 2), np.float32)

FORWARD_CASES = [
    ({"X": np.ones((2, 2))}, ValueError),
    ({"X": np.ones(3)}, ValueError),
    ({"X": np.ones((3, 5))}, ValueError),
    ({"X": np.ones((3, 2), int)}, TypeError),
    ({"X": np.ones((3, 2), np.float32)}, TypeError),
    ({"W_neigh": np.ones((3, 2))}, ValueError),
    ({"W_self": np.ones(2)}, ValueError),
    ({"W_neigh": SINGLE}, TypeError),
    ({"W_self": SINGLE}, TypeError),
    ({"W_self": None}, TypeError),
]


def sage_arguments(gnn, change):
    arguments = {"X": ONES, "W_neigh": np.ones((2, 2)), "W_self": np.ones((2, 2))}
    A = gnn.adjacency.row_norm(PATH, gnn.transpose_perm(PATH))
    return {"A": A, **arguments, "order": ORDER, **change}


@pytest.mark.parametrize(("change", "error"), FORWARD_CASES)
def test_sage_forward_rejects(gnn, change, error):
    with pytest.raises(error):
        gnn.sage_forward(**sage_arguments(gnn, change))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        *FORWARD_CASES,
        ({"G_out": np.ones((3, 3))}, ValueError),
        ({"G_out": np.ones((2, 4))}, ValueError),
        ({"G_out": np.ones((3, 4), np.float32)}, TypeError),
        ({"G_out": 1.0}, (TypeError, ValueError)),
    ],
)
def test_sage_backward_rejects(gnn, change, error):
    out = gnn.sage_forward(**sage_arguments(gnn, {}))
    good = {"out": out, "G_out": np.ones((3, 4))}
    gnn.sage_backward(**sage_arguments(gnn, good))
    with pytest.raises(error):
        gnn.sage_backward(**sage_arguments(gnn, {**good, **change}))


def test_sage_backward_needs_the_transpose(gnn):
    out = gnn.sage_forward(**sage_arguments(gnn, {}))
    change = {"A": gnn.adjacency.row_norm(PATH), "out": out, "G_out": np.ones((3, 4))}
    with pytest.raises(ValueError, match="data_t"):
        gnn.sage_backward(**sage_arguments(gnn, change))


def both_passes(gnn, A, order):
    out = gnn.sage_forward(A, ONES, np.ones((2, 2)), np.ones((2, 2)), order)
    arguments = {"A": A, "out": out, "G_out": np.ones((3, 4)), "order": order}
    gnn.sage_backward(**sage_arguments(gnn, arguments))


@pytest.mark.parametrize(
    ("data", "data_t", "error"),
    [
        (np.ones(2), np.ones(4), ValueError),
        (np.ones(4), np.ones(2), ValueError),
        (np.ones((4, 1)), np.ones(4), ValueError),
        (np.ones(4, np.float32), np.ones(4), TypeError),
        (np.ones(4), np.ones(4, np.float32), TypeError),
        (np.ones(4, int), np.ones(4, int), TypeError),
    ],
)
def test_values_that_do_not_fit_the_pattern_are_refused(gnn, data, data_t, error):
    both_passes(gnn, Adjacency(PATH, np.ones(4), np.ones(4)), ORDER)
    with pytest.raises(error):
        both_passes(gnn, Adjacency(PATH, data, data_t), ORDER)


@pytest.mark.parametrize(
    "order", [(0, 1, 1), (3, 1, 1), (1, 0, 1), (1, 3, 1), (1, 1, 3), (1, 1, -1)]
)
def test_orders_that_do_not_exist_are_refused(gnn, order):
    A = gnn.adjacency.row_norm(PATH, gnn.transpose_perm(PATH))
    with pytest.raises(ValueError, match="order"):
        both_passes(gnn, A, ProductOrders(*order))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"X": np.ones(3)}, ValueError),
        ({"X": np.ones((3, 2), int)}, TypeError),
        ({"W": np.ones((3, 2))}, ValueError),
        ({"W": SINGLE}, TypeError),
        ({"Y": np.ones((3, 3))}, ValueError),
        ({"Y": np.ones((3, 2), np.float32)}, TypeError),
        ({"G_out": np.ones((2, 2))}, ValueError),
        ({"G_out": np.ones((3, 2), np.float32)}, TypeError),
    ],
)
def test_dense_rejects(gnn, change, error):
    good = {"X": ONES, "W": np.ones((2, 2)), "Y": np.ones((3, 2)), "G_out": np.ones((3, 2))}
    bad = {**good, **change}
    with pytest.raises(error):
        gnn.dense_backward(**bad, relu=True, need_dx=True)
    if {"X", "W"} & set(change):
        with pytest.raises(error):
            gnn.dense_forward(bad["X"], bad["W"], relu=True)


@pytest.mark.parametrize("s", [0, 1])
def test_smallest_layers(gnn, s):
    graph = graph_from_edges(s, set())
    A = gnn.adjacency.row_norm(graph, gnn.transpose_perm(graph))
    X, W = np.ones((s, 2)), np.ones((2, 3))
    out = gnn.sage_forward(A, X, W, W, ORDER)
    assert_array_equal(out.X_out, np.tile([0.0] * 3 + [2.0] * 3, (s, 1)))
    grads = gnn.sage_backward(A, X, W, W, out, np.ones((s, 6)), ORDER)
    assert_array_equal(grads.W_neigh, np.zeros((2, 3)))
    assert_array_equal(grads.W_self, np.full((2, 3), float(s)))
    assert_array_equal(grads.X, np.full((s, 2), 3.0))
    Y = gnn.dense_forward(X, W, relu=False)
    assert_array_equal(Y, np.full((s, 3), 2.0))
    assert_array_equal(
        gnn.dense_backward(X, W, Y, np.ones((s, 3)), relu=False, need_dx=False).W,
        np.full((2, 3), float(s)),
    )


def test_a_half_of_width_zero(gnn):
    A, X, W = gnn.adjacency.row_norm(PATH, gnn.transpose_perm(PATH)), ONES, np.ones((2, 3))
    none = np.ones((2, 0))
    for W_neigh, W_self in ((none, W), (W, none)):
        out = gnn.sage_forward(A, X, W_neigh, W_self, ORDER)
        assert_array_equal(out.X_out, np.full((3, 3), 2.0))
        grads = gnn.sage_backward(A, X, W_neigh, W_self, out, np.ones((3, 3)), ORDER)
        assert grads.W_neigh.shape == W_neigh.shape
        assert grads.W_self.shape == W_self.shape
        assert_array_equal(grads.X.sum(), 18.0)
