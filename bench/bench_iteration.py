"""One training iteration: draw a subgraph, two GraphSAGE layers and a classifier, Adam."""

from functools import cache, partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fastimpl
import refimpl
from bench import inputs, work
from bench.timing import MIN_ROUNDS

NAMES = ("neigh1", "self1", "neigh2", "self2", "classifier")


@cache
def data(size):
    """Return features and one-hot labels of every node of the parent graph."""
    scale = inputs.SIZES[size]
    X = inputs.normal((scale.parent, scale.f), 1)
    return X, inputs.one_hot(scale.parent, scale.classes, 2)


@cache
def initial_weights(size):
    scale = inputs.SIZES[size]
    half = scale.hidden // 2
    shapes = [(scale.f, half)] * 2 + [(scale.hidden, half)] * 2 + [(scale.hidden, scale.classes)]
    return {name: inputs.weights(*shapes[i], i + 3) for i, name in enumerate(NAMES)}


def orders(size):
    """Return the orders of both layers."""
    scale = inputs.SIZES[size]
    half = scale.hidden // 2
    first = refimpl.scheduling.chain_order(scale.f, half, first=True)
    return first, refimpl.scheduling.chain_order(scale.hidden, half, first=False)


def iteration(gnn, size, q, W, m, v):
    """Do everything from the draw of subgraph q to new weights; return loss and gradients."""
    (X_all, Y_all), (first, second), scale = data(size), orders(size), inputs.SIZES[size]
    sampler = refimpl.Sampler("pin_tile", m=scale.m, n=scale.n)
    (sub,) = gnn.sample_many(inputs.parent(size), sampler, inputs.SEED, q, 1)
    A = gnn.adjacency.row_norm(sub.graph, sub.transpose_perm, dtype=np.float32)
    X, Y = X_all[sub.nodes], Y_all[sub.nodes]
    out1 = gnn.sage_forward(A, X, W["neigh1"], W["self1"], first)
    out2 = gnn.sage_forward(A, out1.X_out, W["neigh2"], W["self2"], second)
    logits = gnn.dense_forward(out2.X_out, W["classifier"], relu=False)
    loss = gnn.softmax_cross_entropy(logits, Y)
    top = gnn.dense_backward(
        out2.X_out, W["classifier"], logits, loss.gradient, relu=False, need_dx=True
    )
    back2 = gnn.sage_backward(A, out1.X_out, W["neigh2"], W["self2"], out2, top.X, second)
    back1 = gnn.sage_backward(A, X, W["neigh1"], W["self1"], out1, back2.X, first)
    gradients = dict(
        zip(NAMES, (back1.W_neigh, back1.W_self, back2.W_neigh, back2.W_self, top.W), strict=True)
    )
    for name in NAMES:
        gnn.adam_step(W[name], gradients[name], m[name], v[name], 1)
    return loss.value, gradients


@cache
def work_of(size):
    """Return the mean work of an iteration: the draw, sparse and dense products."""
    scale = inputs.SIZES[size]
    graph, sampler = inputs.parent(size), refimpl.Sampler("pin_tile", m=scale.m, n=scale.n)
    drawn = fastimpl.sample_many(graph, sampler, inputs.SEED, 0, MIN_ROUNDS)
    return work.mean([one_work(graph, sub, size) for sub in drawn])


def one_work(graph, sub, size):
    scale, s = inputs.SIZES[size], len(sub.nodes)
    total = work.sampling(graph, sub.counters) + work.induced(graph, sub)
    for order, f in zip(orders(size), (scale.f, scale.hidden), strict=True):
        half = scale.hidden // 2
        wide = [order.forward == 1] + ([] if order.dx == 0 else [order.dx == 2])
        if order.dx == 0 and order.dw == 2:
            wide.append(False)
        for is_wide in wide:
            total += work.spmm(sub.graph, f if is_wide else half, "float32")
        products = 2 if order.dx == 0 else 3  # forward, dW, dX
        total += work.times(products, work.dense(s, f, scale.hidden, "float32"))
    return total + work.times(3, work.dense(s, scale.hidden, scale.classes, "float32"))


@cache
def expected(package, size, q):
    """Return loss and gradients as the other package has them."""
    gnn = {"refimpl": refimpl, "fastimpl": fastimpl}[package]
    return iteration(gnn, size, q, *start(size))


def start(size):
    """Return fresh weights and moments."""
    W = {name: array.copy() for name, array in initial_weights(size).items()}
    m, v = ({name: np.zeros_like(array) for name, array in W.items()} for _ in range(2))
    return W, m, v


@pytest.mark.sizes("tiny", "small", "large")
def test_iteration(case):
    scale = case.scale
    text = (
        f"m={scale.m:,} n={scale.n:,} of {inputs.graph_text(inputs.parent(case.size))} "
        f"f={scale.f} h={scale.hidden} C={scale.classes} float32"
    )
    case.describe("training iteration", text, work_of(case.size))
    (_, q, W, _, _), (loss, gradients) = case.run_turns(
        partial(iteration, case.gnn), lambda turn: [case.size, turn, *start(case.size)]
    )
    want_loss, want = expected(case.other.__name__, case.size, q)
    assert loss == pytest.approx(want_loss, rel=1e-4)
    for name in NAMES:
        error = np.linalg.norm(gradients[name] - want[name]) / np.linalg.norm(want[name])
        assert error < 1e-4, name
        grad = gradients[name].astype(np.float64)
        moved = initial_weights(case.size)[name] - 0.01 * grad / (np.abs(grad) + 1e-8)  # step 1
        assert_allclose(W[name], moved, atol=1e-5)
