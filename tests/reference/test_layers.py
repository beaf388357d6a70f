"""The GraphSAGE layer and the classifier, by their definition and by finite differences."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import dense
from strategies import distinct, graph_from_edges, power_law_graph

from refimpl import Adjacency, as_graph
from refimpl.lab.backend import find
from refimpl.scheduling import ProductOrders

# Two components, a loop, a pendant node, and the isolated node 6.
GRAPH = graph_from_edges(7, {(0, 1), (0, 2), (1, 2), (2, 3), (4, 5), (5, 5)})
ISOLATED = 6
ORDERS = [ProductOrders(*order) for order in product((1, 2), (1, 2), (1, 2))]
SHAPES = {"Wn1": (3, 4), "Ws1": (3, 2), "Wn2": (6, 3), "Ws2": (6, 4), "Wc": (7, 5), "X": (7, 3)}


def asymmetric(gnn, graph, seed=0):
    """Return an Adjacency whose values say which way an edge points."""
    data = np.random.default_rng(seed).normal(size=graph.e)
    return Adjacency(graph, data, data[gnn.transpose_perm(graph)])


class Network:
    """Two GraphSAGE layers, a classifier and a loss."""

    def __init__(self, gnn, loss, relu, weighted, seed):
        rng = np.random.default_rng(seed)
        self.gnn, self.relu, self.A = gnn, relu, asymmetric(gnn, GRAPH, seed)
        self.loss = find(gnn, loss)
        self.P = {name: rng.normal(size=shape) for name, shape in SHAPES.items()}
        self.labels = rng.integers(0, 2, size=(GRAPH.n, 5)).astype(float)
        self.weights = rng.random(GRAPH.n) if weighted else None

    def forward(self, order):
        P, sage = self.P, self.gnn.sage_forward
        first = sage(self.A, P["X"], P["Wn1"], P["Ws1"], order)
        second = sage(self.A, first.X_out, P["Wn2"], P["Ws2"], order)
        logits = self.gnn.dense_forward(second.X_out, P["Wc"], relu=self.relu)
        return first, second, logits, self.loss(logits, self.labels, self.weights)

    def gradients(self, order):
        P, gnn = self.P, self.gnn
        first, second, logits, loss = self.forward(order)
        top = gnn.dense_backward(
            second.X_out, P["Wc"], logits, loss.gradient, relu=self.relu, need_dx=True
        )
        mid = gnn.sage_backward(self.A, first.X_out, P["Wn2"], P["Ws2"], second, top.X, order)
        low = gnn.sage_backward(self.A, P["X"], P["Wn1"], P["Ws1"], first, mid.X, order)
        weights = {"Wn1": low.W_neigh, "Ws1": low.W_self, "Wn2": mid.W_neigh, "Ws2": mid.W_self}
        return {**weights, "Wc": top.W, "X": low.X}

    def distance_to_a_kink(self):
        """Return the smallest input of a ReLU in size, zeros of the isolated node left out."""
        M, P = dense(GRAPH, self.A.data), self.P
        Z1 = np.hstack([M @ P["X"] @ P["Wn1"], P["X"] @ P["Ws1"]])
        X1 = np.maximum(Z1, 0)
        Z2 = np.hstack([M @ X1 @ P["Wn2"], X1 @ P["Ws2"]])
        Q = np.maximum(Z2, 0) @ P["Wc"]
        values = np.abs(np.concatenate([Z.ravel() for Z in (Z1, Z2, Q)]))
        return values[values > 0].min()

    def difference(self, name, h=1e-5):
        """Return the central differences of the loss in parameter `name`."""
        array, result = self.P[name], np.empty(SHAPES[name])
        for index in np.ndindex(array.shape):
            value, ends = array[index], []
            for step in (h, -h):
                array[index] = value + step
                ends.append(self.forward(ORDERS[0])[-1].value)
            array[index], result[index] = value, (ends[0] - ends[1]) / (2 * h)
        return result


def network_without_kinks(gnn, loss, relu, weighted):
    """Return the first Network whose ReLUs no finite difference crosses."""
    networks = (Network(gnn, loss, relu, weighted, seed) for seed in range(200))
    return next(n for n in networks if n.distance_to_a_kink() > 2e-3)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("loss", ["softmax_cross_entropy", "sigmoid_cross_entropy"])
def test_finite_differences(gnn, loss, relu, weighted):
    """Errors are measured against the largest gradient in the network."""
    network = network_without_kinks(gnn, loss, relu, weighted)
    want = {name: network.difference(name) for name in SHAPES}
    scale = max(np.abs(gradient).max() for gradient in want.values())
    assert all(np.abs(gradient).max() > 1e-3 * scale for gradient in want.values())
    for order in ORDERS:
        for name, gradient in network.gradients(order).items():
            assert_allclose(gradient, want[name], rtol=0, atol=1e-6 * scale, err_msg=name)


def layer(gnn, seed=1, graph=GRAPH):
    """Return A, X, W_neigh, W_self and G_out of one layer."""
    rng = np.random.default_rng(seed)
    shapes = [(graph.n, 3), (3, 4), (3, 2), (graph.n, 6)]
    return asymmetric(gnn, graph, seed), *(rng.normal(size=shape) for shape in shapes)


def test_forward_is_equation_1_and_keeps_what_it_says(gnn):
    A, X, W_neigh, W_self, _ = layer(gnn)
    AX = dense(GRAPH, A.data) @ X
    want = np.maximum(np.hstack([AX @ W_neigh, X @ W_self]), 0)
    for forward in (1, 2):
        out = gnn.sage_forward(A, X, W_neigh, W_self, ProductOrders(forward, 1, 0))
        assert_allclose(out.X_out, want, rtol=1e-12, atol=1e-13)
        if forward == 1:
            assert_allclose(out.AX, AX, rtol=1e-12, atol=1e-13)
        else:
            assert out.AX is None


def test_orders_agree(gnn):
    """All orders agree; an order of the backward pass need not be that of the forward pass."""
    A, X, W_neigh, W_self, G_out = layer(gnn, graph=power_law_graph(60))
    results = []
    for forward, dw, dx in product((1, 2), (1, 2), (0, 1, 2)):
        order = ProductOrders(forward, dw, dx)
        out = gnn.sage_forward(A, X, W_neigh, W_self, order)
        grads = gnn.sage_backward(A, X, W_neigh, W_self, out, G_out, order)
        assert (grads.X is None) == (dx == 0)
        results.append((out.X_out, grads.W_neigh, grads.W_self, grads.X))
    for result in results:
        for got, want in zip(result, results[1], strict=True):
            if got is not None:
                assert_allclose(got, want, rtol=1e-10, atol=1e-10 * np.abs(want).max())


@pytest.mark.parametrize("order", ORDERS)
def test_relabelling_the_nodes_permutes_the_rows(gnn, order):
    """And leaves the gradients of weights as they were."""
    _, X, W_neigh, W_self, G_out = layer(gnn)
    old = np.random.default_rng(2).permutation(GRAPH.n)  # new node i was old[i]
    new = np.argsort(old)
    renamed = as_graph(GRAPH.to_scipy()[old][:, old])
    results = []
    for graph, pick in ((GRAPH, np.arange(GRAPH.n)), (renamed, old)):
        A = gnn.adjacency.row_norm(graph, gnn.transpose_perm(graph))
        out = gnn.sage_forward(A, X[pick], W_neigh, W_self, order)
        grads = gnn.sage_backward(A, X[pick], W_neigh, W_self, out, G_out[pick], order)
        results.append((out.X_out, grads.X, grads.W_neigh, grads.W_self))
    (*by_node, dWn, dWs), (*by_new_node, dWn2, dWs2) = results
    for here, there in zip(by_node, by_new_node, strict=True):
        assert_allclose(there[new], here, rtol=1e-12, atol=1e-12)
    assert_allclose(dWn2, dWn, rtol=1e-10, atol=1e-12)
    assert_allclose(dWs2, dWs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_without_neighbour_weights_it_is_a_dense_layer(gnn, order):
    """Forward and backward."""
    A, X, W_neigh, W_self, G_out = layer(gnn)
    W_neigh[:] = 0
    out = gnn.sage_forward(A, X, W_neigh, W_self, order)
    Y = gnn.dense_forward(X, W_self, relu=True)
    assert_array_equal(out.X_out[:, :4], 0)
    assert_allclose(out.X_out[:, 4:], Y, rtol=1e-12)
    grads = gnn.sage_backward(A, X, W_neigh, W_self, out, G_out, order)
    want = gnn.dense_backward(X, W_self, Y, G_out[:, 4:], relu=True, need_dx=True)
    assert_allclose(grads.W_self, want.W, rtol=1e-12, atol=1e-14)
    assert_allclose(grads.X, want.X, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("order", ORDERS)
def test_isolated_node_has_no_neighbour_branch(gnn, order):
    """Its half of the output is 0, and what flows back into that half goes nowhere."""
    A, X, W_neigh, W_self, G_out = layer(gnn)
    out = gnn.sage_forward(A, X, W_neigh, W_self, order)
    assert_array_equal(out.X_out[ISOLATED, :4], 0)
    grads = gnn.sage_backward(A, X, W_neigh, W_self, out, G_out, order)
    louder = G_out.copy()
    louder[ISOLATED, :4] = 1e6
    again = gnn.sage_backward(A, X, W_neigh, W_self, out, louder, order)
    for got, want in zip(again, grads, strict=True):
        assert_array_equal(got, want)
    alone = np.zeros_like(G_out)
    alone[ISOLATED] = 1
    grads = gnn.sage_backward(A, X, W_neigh, W_self, out, alone, order)
    assert_array_equal(grads.W_neigh, 0)
    mask = out.X_out[ISOLATED, 4:] > 0
    assert_allclose(grads.X[ISOLATED], W_self @ mask, rtol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("relu", [False, True])
def test_halves_in_the_other_order_are_the_same_model(gnn, order, relu):
    """E-E1: Equation 12 has the node itself first; columns of output and bias change places."""
    A, X, W_neigh, W_self, G_out = layer(gnn)
    b, swap = np.linspace(-1, 1, 6), np.array([4, 5, 0, 1, 2, 3])
    common = A, X, W_neigh, W_self
    out = gnn.sage_forward(*common, order, b=b, relu=relu)
    want = gnn.sage_backward(*common, out, G_out, order, b=b, relu=relu)
    options = {"b": b[swap], "relu": relu, "concat": "self_first"}
    swapped = gnn.sage_forward(*common, order, **options)
    got = gnn.sage_backward(*common, swapped, G_out[:, swap], order, **options)
    assert_array_equal(swapped.X_out, out.X_out[:, swap])
    assert_array_equal(got.b, want.b[swap])
    for ours, theirs in zip(got[:3], want[:3], strict=True):
        assert_allclose(ours, theirs, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("relu", [False, True])
def test_dense_layer_is_equation_11(gnn, relu, dtype):
    X, W, G_out = distinct((9, 4), dtype), distinct((4, 3), dtype, 1), distinct((9, 3), dtype, 2)
    Q = X.astype(float) @ W.astype(float)
    Y = gnn.dense_forward(X, W, relu=relu)
    grads = gnn.dense_backward(X, W, Y, G_out, relu=relu, need_dx=True)
    G = np.where(Q > 0, G_out, 0) if relu else G_out
    assert (Q <= 0).any()
    tolerance = {"rtol": 0, "atol": 20 * np.finfo(dtype).eps}
    assert_allclose(Y, np.maximum(Q, 0) if relu else Q, **tolerance)
    assert_allclose(grads.W, X.T @ G, **tolerance)
    assert_allclose(grads.X, G @ W.T, **tolerance)
    assert {a.dtype for a in (Y, grads.W, grads.X)} == {np.dtype(dtype)}
    short = gnn.dense_backward(X, W, Y, G_out, relu=relu, need_dx=False)
    assert short.X is None
    assert_array_equal(short.W, grads.W)
