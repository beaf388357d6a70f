"""MixHop: what sets it apart from the laws of every layer (test_layer_laws.py)."""

import numpy as np
import pytest
from layer_cases import GRAPH, ISOLATED, ORDERS, PATTERNS, MixHop, problem
from numpy.testing import assert_allclose, assert_array_equal
from oracles import dense, matrix

LAYER = MixHop(2, 3, 1)


@pytest.mark.parametrize("depth", LAYER.ways)
def test_equation_5_and_its_gradients_on_the_normalised_graph(gnn, depth):
    """Equation 5, with powers of one matrix, which is its own transpose."""
    _, P, G = problem(LAYER)
    loops = np.maximum(dense(GRAPH), np.eye(GRAPH.n))
    root = np.diag(loops.sum(axis=1) ** -0.5)
    powers = [np.linalg.matrix_power(root @ loops @ root, k) for k in range(3)]
    hops, W = (gnn.adjacency.sym_norm(GRAPH),) * 2, LAYER.weights(P)[0]
    out = gnn.mixhop_forward(hops, P["X"], W, depth)
    Z = np.hstack([A @ P["X"] @ W_k for A, W_k in zip(powers, W, strict=True)])
    assert_allclose(out.X_out, np.maximum(Z, 0), rtol=1e-12, atol=1e-13)
    grads = gnn.mixhop_backward(hops, P["X"], W, out, G, depth, need_dx=True)
    parts = np.split(G * (Z > 0), [2, 5], axis=1)
    for A, G_k, got in zip(powers, parts, grads.W, strict=True):
        assert_allclose(got, P["X"].T @ A @ G_k, rtol=1e-11, atol=1e-12)
    want = sum(A @ G_k @ W_k.T for A, G_k, W_k in zip(powers, parts, W, strict=True))
    assert_allclose(grads.X, want, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("depth", LAYER.ways)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_powers_up_to_the_depth_are_kept_whole(gnn, pattern, depth):
    hops, P, _ = problem(LAYER, pattern)
    out = gnn.mixhop_forward(hops, P["X"], LAYER.weights(P)[0], depth)
    assert isinstance(out.powers, tuple) and len(out.powers) == depth
    power = P["X"]
    for A, got in zip(hops, out.powers, strict=False):
        power = matrix(A.graph, A.data) @ power
        assert_allclose(got, power, rtol=1e-12, atol=1e-13)


def test_without_hops_it_is_a_dense_layer(gnn):
    """K = 0."""
    _, P, G = problem(MixHop(4))
    X, W, b = P["X"], P["W0"], np.array([0.1, -0.2, 0.3, 0.0])
    out, Y = gnn.mixhop_forward((), X, [W], 0, b=b), gnn.dense_forward(X, W, relu=True, b=b)
    assert_allclose(out.X_out, Y, rtol=1e-13)
    assert out.powers == ()
    got = gnn.mixhop_backward((), X, [W], out, G, 0, b=b, need_dx=True)
    want = gnn.dense_backward(X, W, Y, G, relu=True, need_dx=True, b=b)
    for ours, theirs in zip((*got.W, got.X, got.b), want, strict=True):
        assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_with_one_hop_alone_it_is_gcn(gnn, pattern, order, depth):
    """K = 1 and no columns in W_0."""
    hops, P, G = problem(MixHop(0, 4), pattern)
    X, W = P["X"], P["W1"]
    out = gnn.mixhop_forward(hops, X, [P["W0"], W], depth)
    gcn = gnn.gcn_forward(hops[0], X, W, order)
    assert_allclose(out.X_out, gcn.X_out, rtol=1e-11, atol=1e-13)
    got = gnn.mixhop_backward(hops, X, [P["W0"], W], out, G, depth, need_dx=True)
    want = gnn.gcn_backward(hops[0], X, W, gcn, G, order)
    assert got.W[0].shape == (3, 0)
    assert_allclose(got.W[1], want.W, rtol=1e-11, atol=1e-12)
    assert_allclose(got.X, want.X, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("depth", LAYER.ways)
def test_only_branch_0_sees_an_isolated_node(gnn, depth):
    """Gradients of the other branches are zero there."""
    hops, P, G = problem(LAYER)
    W, alone = LAYER.weights(P)[0], np.zeros_like(G)
    alone[ISOLATED] = 1
    out = gnn.mixhop_forward(hops, P["X"], W, depth)
    assert_array_equal(out.X_out[ISOLATED, 2:], 0)
    grads = gnn.mixhop_backward(hops, P["X"], W, out, alone, depth, need_dx=True)
    mask = out.X_out[ISOLATED, :2] > 0
    assert_allclose(grads.W[0], np.outer(P["X"][ISOLATED], mask), rtol=1e-12)
    for gradient in grads.W[1:]:
        assert_array_equal(gradient, 0)
    assert_allclose(grads.X[ISOLATED], W[0] @ mask, rtol=1e-12, atol=1e-14)


def test_hops_are_applied_first_to_last(gnn):
    """Two hops that do not commute: the order is part of the result."""
    layer = MixHop(0, 0, 4)
    hops, P, _ = problem(layer, relu=False)
    first, second = (matrix(A.graph, A.data) for A in hops)
    for depth in layer.ways:
        got = layer.forward(gnn, hops, P, depth, relu=False).X_out
        assert_allclose(got, second @ first @ P["X"] @ P["W2"], rtol=1e-11, atol=1e-12)
        other = first @ second @ P["X"] @ P["W2"]
        assert np.abs(got - other).max() > 0.1


def test_weights_may_be_a_tuple_or_a_list(gnn):
    hops, P, G = problem(LAYER)
    W = LAYER.weights(P)[0]
    results = []
    for sequence in (list, tuple):
        out = gnn.mixhop_forward(sequence(hops), P["X"], sequence(W), 1)
        results.append(
            gnn.mixhop_backward(sequence(hops), P["X"], sequence(W), out, G, 1, need_dx=True)
        )
    for got, want in zip(results[0].W, results[1].W, strict=True):
        assert_array_equal(got, want)
