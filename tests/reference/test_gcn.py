"""GCN: what sets it apart from the laws of every layer (test_layer_laws.py)."""

import numpy as np
import pytest
from layer_cases import GRAPH, ISOLATED, ORDERS, Gcn, problem
from numpy.testing import assert_allclose, assert_array_equal
from oracles import dense, matrix


def normalised(gnn):
    """Return GRAPH's matrix of Equation 4, and the same by its formula."""
    loops = np.maximum(dense(GRAPH), np.eye(GRAPH.n))
    root = np.diag(loops.sum(axis=1) ** -0.5)
    return gnn.adjacency.sym_norm(GRAPH), root @ loops @ root


@pytest.mark.parametrize("order", ORDERS)
def test_equation_4_and_its_gradients_on_the_normalised_graph(gnn, order):
    """Equation 4 on dense matrices; the matrix is its own transpose."""
    _, P, G = problem(Gcn(4))
    A, M = normalised(gnn)
    out = gnn.gcn_forward(A, P["X"], P["W"], order)
    assert_allclose(out.X_out, np.maximum(M @ P["X"] @ P["W"], 0), rtol=1e-12, atol=1e-13)
    grads = gnn.gcn_backward(A, P["X"], P["W"], out, G, order)
    G = G * (out.X_out > 0)
    assert_allclose(grads.W, P["X"].T @ M @ G, rtol=1e-12, atol=1e-12)
    assert_allclose(grads.X, M @ G @ P["W"].T, rtol=1e-12, atol=1e-12)
    assert grads.b is None


def test_forward_keeps_the_aggregate_in_order_1_only(gnn):
    (A,), P, _ = problem(Gcn(4))
    for order in ORDERS:
        out = gnn.gcn_forward(A, P["X"], P["W"], order)
        if order.forward == 1:
            want = matrix(A.graph, A.data) @ P["X"]
            assert_allclose(out.AX, want, rtol=1e-12, atol=1e-13)
        else:
            assert out.AX is None


@pytest.mark.parametrize("order", ORDERS)
def test_an_isolated_node_is_a_dense_layer(gnn, order):
    """On the normalised graph only its own loop is left."""
    _, P, G = problem(Gcn(4))
    A, _ = normalised(gnn)
    alone = np.zeros_like(G)
    alone[ISOLATED] = 1
    out = gnn.gcn_forward(A, P["X"], P["W"], order)
    grads = gnn.gcn_backward(A, P["X"], P["W"], out, alone, order)
    X = P["X"][[ISOLATED]]
    Y = gnn.dense_forward(X, P["W"], relu=True)
    want = gnn.dense_backward(X, P["W"], Y, np.ones_like(Y), relu=True, need_dx=True)
    assert_allclose(out.X_out[[ISOLATED]], Y, rtol=1e-12)
    assert_allclose(grads.W, want.W, rtol=1e-12)
    assert_allclose(grads.X[[ISOLATED]], want.X, rtol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_it_is_the_neighbour_half_of_graphsage(gnn, order):
    (A,), P, G = problem(Gcn(4))
    own, common = np.zeros((3, 0)), (A, P["X"], P["W"])
    gcn, sage = gnn.gcn_forward(*common, order), gnn.sage_forward(*common, own, order)
    assert_array_equal(gcn.X_out, sage.X_out)
    got = gnn.gcn_backward(*common, gcn, G, order)
    want = gnn.sage_backward(*common, own, sage, G, order)
    assert_allclose(got.W, want.W_neigh, rtol=1e-12, atol=1e-13)
    assert_allclose(got.X, want.X, rtol=1e-12, atol=1e-13)
