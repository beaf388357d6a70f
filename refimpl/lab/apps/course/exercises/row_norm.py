"""Make the matrix that takes the mean over each node's neighbours."""

import numpy as np

from refimpl.adjacency import Adjacency


def row_norm(graph, transpose_perm=None, *, dtype=np.float64):
    """Return D^-1 A: entry (v, u) of the graph has the value 1 / degree of v."""
    degrees = graph.degrees()
    inverse = 1 / np.maximum(degrees, 1).astype(dtype)
    data = np.repeat(inverse, degrees)
    return Adjacency(graph, data, None if transpose_perm is None else data[transpose_perm])
