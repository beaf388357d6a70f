"""Products of a sparse and a dense matrix: features travel along the edges."""

import numpy as np

from refimpl import _check
from refimpl.graph import Graph
from refimpl.profiling import timed


@timed("aggregation")
def spmm(graph, data, X):
    """Return A X, where A has the values `data` on the pattern of `graph`.

    Each row of the result is summed in the order of its entries, each product rounded before it
    is added: the result has one right answer to the last bit. O(e f) time.

    Parameters
    ----------
    graph : Graph
        n nodes and e edges; it may be directed.
    data : (e,) float32 or float64 array
    X : (n, f) array of the same dtype

    Returns
    -------
    (n, f) array of the same dtype

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    data, X = product_arguments(graph, data, X)
    Y = np.zeros_like(X)
    for v in range(graph.n):
        for j in range(graph.indptr[v], graph.indptr[v + 1]):
            Y[v] += data[j] * X[graph.indices[j]]
    return Y


def product_arguments(graph, data, X):
    """Check the arguments of `spmm`; return (data, X)."""
    if not isinstance(graph, Graph):
        raise TypeError(f"graph must be a Graph (see as_graph), got {type(graph).__name__}")
    data = _check.floats("data", data, (graph.e,))
    return data, _check.floats("X", X, (graph.n, None), data.dtype)


@timed("weights")
def matmul(A, B):
    """Return the dense product A B, on NumPy's BLAS."""
    return A @ B
