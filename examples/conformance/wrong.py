"""A kernel with one line wrong: a transposition without line 8 of Algorithm 6.

PYTHONPATH=examples/conformance minibatch-gnn conformance --impl wrong --only transpose_perm
"""

import numpy as np

import refimpl


def transpose_perm(graph):
    if not isinstance(graph, refimpl.Graph):
        raise TypeError("graph must be a Graph")
    if not graph.symmetric:
        raise ValueError("graph must be undirected")
    perm, free = np.full(graph.e, -1, np.int32), graph.indptr[:-1]
    for v in range(graph.n):
        for j in range(graph.indptr[v], graph.indptr[v + 1]):
            perm[free[graph.indices[j]]] = j  # line 8, `free[u] += 1`, should follow
    return perm
