"""Let features travel along edges: the product of a sparse and a dense matrix."""

import numpy as np


def spmm(graph, data, X):
    """Return A X: row v is the sum of data[j] * X[u] over the entries j = (v, u) of row v."""
    Y = np.zeros((graph.n_dst, X.shape[1]), X.dtype)
    for v in range(graph.n_dst):
        for j in range(graph.start[v], graph.end[v]):
            Y[v] += data[j] * X[graph.indices[j]]
    return Y
