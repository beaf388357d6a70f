"""What tests put into caches, and how they look at what is there."""

import numpy as np

N = 12


def features(n, d):
    """Return features that all differ."""
    return np.arange(1, n * d + 1, dtype=np.float16).reshape(n, d)


def embeddings(ids, h, number):
    """Return values that say which node and which call they are of."""
    return np.asarray(ids)[:, None] * 1000.0 + number + np.arange(h) / 64


def admit(cache, layer, ids, i, number=0):
    """Admit the embeddings of some nodes; return how many were written."""
    values = embeddings(ids, cache.h, number).astype(cache.arena.dtype)
    return cache.admit(layer, ids, values, i)


def valid(cache, i):
    """Return {(layer, node): embedding} of all valid entries."""
    found = {}
    for layer in range(1, cache.layers + 1):
        slots = cache.lookup(layer, np.arange(cache.n), i)
        nodes = np.flatnonzero(slots >= 0)
        rows = cache.read(slots[nodes])
        found.update({(layer, int(v)): row.tobytes() for v, row in zip(nodes, rows, strict=True)})
    return found
