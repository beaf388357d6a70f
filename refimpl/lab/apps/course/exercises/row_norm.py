"""Make the matrix that takes the mean over each node's neighbours."""

import numpy as np

from refimpl.adjacency import Adjacency


def row_norm(graph, transpose_perm=None, *, dtype=np.float64):
    """Return D^-1 A: entry (v, u) of the graph has the value 1 / degree of v.

    JPDC'21 Equation 1. Row v of the product with the features is then the mean over v's
    neighbours. A node without neighbours has no entries, and nothing is divided by 0.

    Parameters
    ----------
    graph : Graph
        Undirected; graph.degrees() are the lengths of its rows.
    transpose_perm : (e,) integer array, optional
        Where it is given, the values of the transpose are data[transpose_perm].
    dtype : float32 or float64
        Of the values. Each is 1 divided by the degree, in this dtype.

    Returns
    -------
    Adjacency
        `Adjacency(graph, data, data_t)`: the pattern, a value for each entry, and the values of
        the transpose, or None without `transpose_perm`.
    """
    degrees = graph.degrees()
    inverse = 1 / np.maximum(degrees, 1).astype(dtype)
    data = np.repeat(inverse, degrees)
    return Adjacency(graph, data, None if transpose_perm is None else data[transpose_perm])


# ---- what follows is the course's ----

PAGE = "learn/training"
REFERENCE = "refimpl.adjacency:row_norm"
BESIDE = "The reference is the same four lines behind its checks."
HINTS = (
    "`np.repeat(values, lengths)` repeats each value as often as the row has entries.",
    "`np.maximum(degrees, 1)` keeps 1 / 0 away; a row of length 0 repeats its value no times.",
    "Turn the degrees into `dtype` before the division.",
)
MISTAKES = (
    (
        "np.repeat(inverse, degrees)",
        "inverse[graph.indices]",
        "divides by the degree of the neighbour: the mean is taken at the receiving node",
        "",
    ),
    (
        "np.repeat(inverse, degrees)",
        "np.ones(graph.e, dtype)",
        "adds the neighbours up, and does not divide by how many there are",
        "",
    ),
    (
        "data[transpose_perm]",
        "data",
        "gives the transpose the same values, as if the matrix were symmetric",
        "`transpose_perm` is given",
    ),
    (
        "1 / np.maximum(degrees, 1).astype(dtype)",
        "1 / np.maximum(degrees, 1)",
        "returns float64 whatever `dtype` says",
        "float32 is wanted",
    ),
)
