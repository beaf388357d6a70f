"""Layers and losses in dense algebra on all nodes at once, for methods that keep histories.

Everything takes complex weights too, so that a derivative can be had without a subtraction: the
imaginary part of f(w + 1e-30 i d) over 1e-30.
"""

import numpy as np

import refimpl
from refimpl.lab.data.dataset import Dataset
from refimpl.streams import NODE_DROPOUT, key

N, CLASSES, FEATURES = 44, 3, 5
ISOLATED = (0, 9, 10)  # of the training nodes
STEP = 1e-30


def small_dataset(dtype="float64"):
    """Return a Dataset of 44 nodes, 36 of them for training, three of these without edges."""
    rng = np.random.default_rng(8)
    A = np.triu(rng.random((N, N)) < 0.12, 1)
    A = A | A.T
    A[ISOLATED, :] = A[:, ISOLATED] = False
    train, val, test = np.arange(36), np.arange(36, 40), np.arange(40, 44)
    return Dataset(
        "small",
        refimpl.as_graph(np.argwhere(A), n=N),
        rng.normal(size=(N, FEATURES)).astype(dtype),
        rng.integers(0, CLASSES, N),
        train,
        val,
        test,
        setting="inductive",
    )


def pattern(graph):
    """Return the (n, n) bool array of a graph's edges."""
    return graph.to_scipy().toarray() > 0


def matrix(model, A, degrees):
    """Return what a model multiplies rows by at each node, where it has the neighbours of A.

    They count as a sample of all its `degrees` neighbours. For "gat" only the pattern counts.
    """
    taken = A.sum(axis=1)
    if model == "sage":
        return A / np.maximum(taken, 1)[:, None]
    if model == "gat":
        return A | np.eye(len(A), dtype=bool)
    scale = degrees / np.maximum(taken, 1)
    root = np.sqrt(degrees + 1)
    return A * scale[:, None] / root[:, None] / root + np.diag(1 / (degrees + 1))


def relu(Z):
    return np.where(Z.real > 0, Z, 0)


def layer(model, M, W, Z):
    """Return a layer's output for every node, from the rows Z of every node."""
    if model == "sage":
        out = np.hstack([M @ Z @ W["W_neigh"], Z @ W["W_self"]])
    elif model == "gcn":
        out = M @ Z @ W["W"]
    else:
        H, parts = Z @ W["W"], []
        for k, (recv, send) in enumerate(zip(W["a_recv"], W["a_send"], strict=True)):
            own = H[:, k * len(recv) : (k + 1) * len(recv)]
            e = (own @ recv)[:, None] + own @ send
            e = np.where(e.real > 0, e, 0.2 * e)
            weights = np.exp(e - e.real.max()) * M
            parts.append(weights / weights.sum(axis=1, keepdims=True) @ own)
        out = np.hstack(parts)
    return relu(out + W.get("b", 0))


def weights_of(weights, place):
    return {n.partition(".")[2]: W for n, W in weights.items() if n.startswith(place + ".")}


def mask(gnn, config, n, width, number, iteration):
    """Return the mask of input `number` for every node: a node's has a key of its own."""
    if not config.dropout:
        return np.ones((n, width))
    keys = [key(config.rng, NODE_DROPOUT, iteration, number, v) for v in range(n)]
    return gnn.dropout(np.ones((n, width)), config.dropout, np.array(keys, np.uint64))


def logits(config, weights, H, of_classifier):
    """Return the classifier's output from the last layer's rows."""
    if config.row_l2:
        length = np.sqrt((H * H).sum(axis=1, keepdims=True))
        H = H / np.where(length.real > 1e-6, length, 1e-6)
    return H * of_classifier @ weights["classifier.W"] + weights.get("classifier.b", 0)


def mean_loss(X, Y):
    """Return the mean of the softmax cross-entropy over rows."""
    X = X - X.real.max(axis=1, keepdims=True)
    return -((X - np.log(np.exp(X).sum(axis=1, keepdims=True))) * Y).sum() / len(X)


def copied(arrays):
    return {name: array.copy() for name, array in arrays.items()}


def last_gradients(before, after):
    """Return the gradients of a step, from Adam's means before and after it."""
    return {name: (m - 0.9 * before[name]) / 0.1 for name, m in after.items()}


def check_gradients(loss, weights, gradients):
    """Assert that `gradients` are those of loss(weights), in a random direction of each weight."""
    rng = np.random.default_rng(2)
    assert gradients.keys() == weights.keys()
    for name, W in weights.items():
        way = rng.normal(size=W.shape)
        slope = loss({**weights, name: W + 1j * STEP * way}).imag / STEP
        found = (gradients[name] * way).sum()
        assert abs(slope - found) < 1e-12 * max(np.abs(way).sum(), 1), name
    assert any(g.any() for g in gradients.values())


def bits(state):
    """Return the bytes of all that a run goes on from."""
    cache = {} if state.cache is None else state.cache.state_dict()
    groups = (state.weights, state.m, state.v, state.best_weights, cache)
    return tuple(W.tobytes() for group in groups for W in group.values())
