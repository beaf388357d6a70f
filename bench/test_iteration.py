"""One training iteration: draw a subgraph, two GraphSAGE layers and a classifier, Adam."""

from functools import cache

import numpy as np

import refimpl
from bench import inputs, work
from bench.answers import near, near_norm
from bench.case import Bench, Task, timed
from bench.timing import MIN_ROUNDS

NAMES = ("neigh1", "self1", "neigh2", "self2", "classifier")
PARTS = (
    "sample_many",
    "row_norm",
    "sage_forward",
    "sage_backward",
    "dense_forward",
    "dense_backward",
    "softmax_cross_entropy",
    "adam_step",
)


@cache
def data(size):
    """Return features and one-hot labels of every node of the parent graph."""
    scale = inputs.SIZES[size]
    X = inputs.normal((scale.parent, scale.f), 1)
    return X, inputs.one_hot(scale.parent, scale.classes, 2)


@cache
def initial_weights(size):
    """Return the weights that every iteration begins with."""
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
    drawn = inputs.fastest().sample_many(graph, sampler, inputs.SEED, 0, MIN_ROUNDS)
    return work.mean([one_work(graph, sub, size) for sub in drawn])


def one_work(graph, sub, size):
    """Return the work of an iteration on one subgraph."""
    scale, s = inputs.SIZES[size], len(sub.nodes)
    total = work.sampling(graph, sub.counters) + work.induced(graph, sub.nodes, sub.graph.e)
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


def start(size):
    """Return fresh weights and moments by the names of `iteration`."""
    W = {name: array.copy() for name, array in initial_weights(size).items()}
    m, v = ({name: np.zeros_like(array) for name, array in W.items()} for _ in range(2))
    return {"W": W, "m": m, "v": v}


def iteration_tasks(size):
    """Yield iterations on one subgraph after another."""
    scale, known = inputs.SIZES[size], {}

    def check(got, args, other):
        loss, gradients = got
        if other is not None:
            if other.__name__ not in known:
                known[other.__name__] = iteration(other, size, args["q"], **start(size))
            want_loss, want = known[other.__name__]
            near("loss", float(loss), float(want_loss), rtol=1e-4)
            for name in NAMES:
                near_norm(f"gradient of {name}", gradients[name], want[name], 1e-4)
        for name in NAMES:
            grad = gradients[name].astype(np.float64)
            step = 0.01 * grad / (np.abs(grad) + 1e-8)  # Adam's first
            moved = (initial_weights(size)[name] - step).astype(np.float32)
            near(f"weights of {name}", args["W"][name], moved, atol=1e-5)

    text = (
        f"m={scale.m:,} n={scale.n:,} of {inputs.graph_text(inputs.parent(size))} "
        f"f={scale.f} h={scale.hidden} C={scale.classes} float32"
    )
    yield Task(
        text,
        {"size": size},
        check,
        work_of(size),
        turn=lambda q: {"q": q, **start(size)},
        call=iteration,
    )


test_iteration = timed(Bench("training iteration", iteration_tasks, parts=PARTS))
