"""Where the nodes of a small graph are drawn: near, where few edges are between them."""

import numpy as np

ROUNDS = 200


def places(graph, width, apart):
    """Return an (n, 2) array of positions from 0 to `width`, for a Graph of a few dozen nodes.

    Distances in the plane are brought near to those in the graph: stress is made smaller by
    majorization (SMACOF), from the two main directions of the distances. Then nodes that are
    less than `apart` from one another are moved. The graph lies as wide, and as low, as it can.
    Nothing is random.
    """
    n = graph.n
    if n < 2:
        return np.zeros((n, 2))
    D = distances(graph)
    weights = 1 / (D + np.eye(n)) ** 2
    np.fill_diagonal(weights, 0)
    V = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(V)
    X = _start(D)
    for _ in range(ROUNDS):
        now = np.linalg.norm(X[:, None] - X[None], axis=2)
        B = -weights * D / np.maximum(now, 1e-9)
        np.fill_diagonal(B, 0)
        np.fill_diagonal(B, -B.sum(axis=1))
        X = inverse @ (B @ X)
    X -= X.mean(axis=0)
    X = X @ np.linalg.eigh(X.T @ X)[1][:, ::-1]  # the longer direction is the first
    X = _moved_apart(X * width / max(np.ptp(X, axis=0).max(), 1e-9), apart)
    X -= X.min(axis=0)
    return X * width / max(np.ptp(X, axis=0).max(), 1e-9)


def distances(graph):
    """Return the (n, n) array of numbers of edges between nodes, directions not looked at."""
    n = graph.n
    adjacent = np.eye(n, dtype=bool)
    adjacent[np.repeat(np.arange(n), graph.degrees()), graph.indices] = True
    adjacent |= adjacent.T
    D, reached = np.full((n, n), np.inf), np.eye(n, dtype=bool)
    for steps in range(n):
        new = reached & np.isinf(D)
        if not new.any():
            break
        D[new] = steps
        reached = (reached.astype(np.int64) @ adjacent) > 0
    return np.where(np.isinf(D), D[np.isfinite(D)].max() + 1, D)  # parts that no edge joins


def _moved_apart(X, apart):
    """Return points of which those that were too near have each been moved away."""
    for _ in range(ROUNDS):
        between = X[:, None] - X[None]
        away = np.linalg.norm(between, axis=2) + apart * np.eye(len(X))
        near = np.maximum(apart - away, 0) / np.maximum(away, 1e-9)
        if not near.any():
            break
        X = X + 0.25 * (near[:, :, None] * between).sum(axis=1)
    return X


def _start(D):
    """Return the points of classical scaling, moved a little: twins would stand on each other."""
    n = len(D)
    centred = D**2 - (D**2).mean(axis=0)
    values, vectors = np.linalg.eigh(-(centred - centred.mean(axis=1, keepdims=True)) / 2)
    vectors = vectors[:, -2:] * np.sign(vectors[:, -2:].sum(axis=0) + 1e-12)
    turn = 2 * np.pi * np.arange(n) / n
    return vectors * np.sqrt(np.maximum(values[-2:], 0)) + 0.2 * np.c_[np.cos(turn), np.sin(turn)]
