"""Transpose a matrix on an undirected graph by moving its values only."""

import numpy as np

from refimpl.graph import Graph


def transpose_perm(graph):
    """Return the permutation that transposes a matrix on the pattern of `graph`."""
    if not isinstance(graph, Graph):
        raise TypeError("graph must be a Graph")
    if not graph.symmetric:
        raise ValueError("graph must be undirected")
    perm = np.full(graph.e, -1, np.int32)
    pointer = graph.indptr[:-1].copy()
    for v in range(graph.n):
        for j in range(graph.indptr[v], graph.indptr[v + 1]):
            u = graph.indices[j]
            perm[pointer[u]] = j
            pointer[u] += 1
    return perm
