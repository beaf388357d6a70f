"""GraphSAGE layers in both orders of their products, and dense layers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import refimpl
from bench import inputs, work

SIZES = pytest.mark.sizes("tiny", "small", "large")
ORDERS = pytest.mark.parametrize(
    "order",
    [refimpl.scheduling.ProductOrders(1, 1, 2), refimpl.scheduling.ProductOrders(2, 2, 1)],
    ids=["(A X) W", "A (X W)"],
)


def sage_inputs(case):
    """Return A, X, W_neigh, W_self, float32."""
    f, half = case.scale.f, case.scale.hidden // 2
    X = inputs.normal((case.scale.s, f), 1)
    return inputs.adjacency(case.size), X, inputs.weights(f, half, 2), inputs.weights(f, half, 3)


def sage_text(case, A, order):
    text = f"{inputs.graph_text(A.graph)} f={case.scale.f} h={case.scale.hidden}"
    return f"{text} {'(A X) W' if order.forward == 1 else 'A (X W)'} float32"


def products(case, f, h, count):
    """Return the work of `count` dense products of a layer."""
    return work.times(count, work.dense(case.scale.s, f, h, "float32"))


def as_doubles(*arrays):
    return [array.astype(np.float64) for array in arrays]


@SIZES
@ORDERS
def test_sage_forward(case, order):
    A, X, W_neigh, W_self = sage_inputs(case)
    f, half = W_neigh.shape
    done = work.spmm(A.graph, f if order.forward == 1 else half, "float32")
    done += products(case, f, half, 2)
    case.describe("sage_forward", sage_text(case, A, order), done)
    got = case.run(case.gnn.sage_forward, A, X, W_neigh, W_self, order)

    data, X, W_neigh, W_self = as_doubles(A.data, X, W_neigh, W_self)
    halves = [A.graph.to_scipy(data) @ X @ W_neigh, X @ W_self]
    assert_allclose(got.X_out, np.maximum(np.hstack(halves), 0), atol=1e-4)


@SIZES
@ORDERS
def test_sage_backward(case, order):
    A, X, W_neigh, W_self = sage_inputs(case)
    f, half = W_neigh.shape
    G_out = inputs.normal((case.scale.s, 2 * half), 4)
    out = case.other.sage_forward(A, X, W_neigh, W_self, order)
    # A X is kept from the forward pass, or A^T G serves both gradients: one sparse product
    done = work.spmm(A.graph, f if order.dx == 2 else half, "float32")
    done += products(case, f, half, 4)
    case.describe("sage_backward", sage_text(case, A, order), done)
    got = case.run(case.gnn.sage_backward, A, X, W_neigh, W_self, out, G_out, order)

    data, X, W_neigh, W_self, G = as_doubles(
        A.data, X, W_neigh, W_self, np.where(out.X_out > 0, G_out, 0)
    )
    matrix = A.graph.to_scipy(data)
    G_neigh = matrix.T @ G[:, :half]
    scale = np.sqrt(case.scale.s)  # sums over so many nodes
    assert_allclose(got.W_neigh / scale, X.T @ G_neigh / scale, atol=1e-4)
    assert_allclose(got.W_self / scale, X.T @ G[:, half:] / scale, atol=1e-4)
    assert_allclose(got.X, G_neigh @ W_neigh.T + G[:, half:] @ W_self.T, atol=1e-4)


@SIZES
def test_dense_forward(case):
    s, f, h = case.scale.s, case.scale.f, case.scale.hidden
    X, W = inputs.normal((s, f), 1), inputs.weights(f, h, 2)
    text = f"s={s:,} f={f} h={h} relu float32"
    case.describe("dense_forward", text, work.dense(s, f, h, "float32"))
    got = case.run(case.gnn.dense_forward, X, W, relu=True)
    check_rows(got, X, W, relu=True)


def test_dense_forward_float64(case):
    s, f, h = case.scale.s, case.scale.f, case.scale.hidden
    X, W = inputs.normal((s, f), 1, "float64"), inputs.weights(f, h, 2, "float64")
    text = f"s={s:,} f={f} h={h} relu float64"
    case.describe("dense_forward", text, work.dense(s, f, h, "float64"))
    got = case.run(case.gnn.dense_forward, X, W, relu=True)
    check_rows(got, X, W, relu=True)


def check_rows(got, X, W, relu):
    """Compare some rows with sums that no BLAS computed."""
    some = slice(None, None, max(1, len(X) // 16))
    expected = np.einsum("sf,fh->sh", *as_doubles(X[some], W), optimize=False)
    expected = np.maximum(expected, 0) if relu else expected
    assert_allclose(got[some], expected, atol=1e-12 if got.dtype == np.float64 else 1e-4)


@SIZES
def test_dense_backward(case):
    s, f, h = case.scale.s, case.scale.f, case.scale.hidden
    X, W, G_out = inputs.normal((s, f), 1), inputs.weights(f, h, 2), inputs.normal((s, h), 3)
    Y = np.maximum(X @ W, 0)
    text = f"s={s:,} f={f} h={h} relu float32"
    case.describe("dense_backward", text, products(case, f, h, 2))
    got = case.run(case.gnn.dense_backward, X, W, Y, G_out, relu=True, need_dx=True)

    G = np.where(Y > 0, G_out, 0)
    check_rows(got.X, G, W.T, relu=False)
    some = slice(None, None, max(1, f // 8))
    expected = np.einsum("sf,sh->fh", *as_doubles(X[:, some], G), optimize=False)
    assert_allclose(got.W[some] / np.sqrt(s), expected / np.sqrt(s), atol=1e-4)
