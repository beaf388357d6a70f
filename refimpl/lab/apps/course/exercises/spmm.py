"""Let features travel along edges: the product of a sparse and a dense matrix."""

import numpy as np


def spmm(graph, data, X):
    """Return A X: row v is the sum of data[j] * X[u] over the entries j = (v, u) of row v.

    The aggregation of JPDC'21 Equation 1. Each row is added up in the order of its entries, from
    zero, and each product is rounded before it is added: so there is one right answer, to the last
    bit, and every implementation can be compared with it.

    Parameters
    ----------
    graph : Graph or Block
        Row v, of graph.n_dst, is the entries graph.start[v] to graph.end[v], the end exclusive;
        entry j is in column graph.indices[j]. Between the rows of a block there may be entries
        that belong to no row; their values must not be read.
    data : (e,) float32 or float64 array
        A value for each entry.
    X : (n_src, f) array of the same dtype

    Returns
    -------
    (n_dst, f) array of the same dtype
    """
    Y = np.zeros((graph.n_dst, X.shape[1]), X.dtype)
    for v in range(graph.n_dst):
        for j in range(graph.start[v], graph.end[v]):
            Y[v] += data[j] * X[graph.indices[j]]
    return Y


# ---- what follows is the course's ----

PAGE = "learn/partition"
REFERENCE = "refimpl.propagation:spmm"
BESIDE = "The reference is the same loop."
HINTS = (
    "Two loops and one statement: rows, entries, `+=` of a row of X times a number.",
    "Begin with zeros of the dtype of X: `np.zeros((graph.n_dst, X.shape[1]), X.dtype)`.",
    "A Block has `start` and `end` and no `indptr`; a Graph has all three.",
)
MISTAKES = (
    (
        "data[j] * X[graph.indices[j]]",
        "X[graph.indices[j]]",
        "leaves the values of the entries out",
        "",
    ),
    (
        "range(graph.start[v], graph.end[v])",
        "reversed(range(graph.start[v], graph.end[v]))",
        "adds each row up from its last entry to its first",
        "A row is summed in the order of its entries",
    ),
    (
        "            Y[v] += data[j] * X[graph.indices[j]]",
        "            Y[graph.indices[j]] += data[j] * X[v]",
        "multiplies by the transpose: it gives to the neighbours, where a row takes from them",
        "",
    ),
    (
        "        for j in range(graph.start[v], graph.end[v]):\n",
        "        last = graph.start[v + 1] if v + 1 < graph.n_dst else len(data)\n"
        "        for j in range(graph.start[v], last):\n",
        "lets a row end where the next begins, and so reads entries that belong to no row",
        "infinite or NaN",
    ),
    (
        "np.zeros((graph.n_dst, X.shape[1]), X.dtype)",
        "np.zeros((graph.n_dst, X.shape[1]))",
        "computes in float64 where the features are float32",
        "float32",
    ),
)
