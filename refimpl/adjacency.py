"""Normalised adjacency matrices: values for the entries of a graph's pattern."""

from dataclasses import dataclass

import numpy as np

from refimpl import _check
from refimpl.graph import Graph


@dataclass(frozen=True, eq=False)
class Adjacency:
    """A sparse matrix A on the pattern of an undirected graph, and A^T on the same pattern.

    Attributes
    ----------
    graph : Graph
    data : (e,) float array
        ``data[j]`` is A[v, u] for entry j = (v, u): v receives from u.
    data_t : (e,) float array or None
        The values of A^T; None where only the forward pass is wanted.
    """

    graph: Graph
    data: np.ndarray
    data_t: np.ndarray | None

    def __post_init__(self):
        for name in ("data", "data_t"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name)))


def row_norm(graph, transpose_perm=None, *, dtype=np.float64):
    """Return D^-1 A, the matrix that takes the mean over each node's neighbours.

    JPDC'21 Equation 1; D holds the degrees in `graph` itself (E-A4), and the mean is taken at
    the receiving node (E-A1). A node without neighbours keeps an empty row. O(n + e) time.

    Parameters
    ----------
    graph : Graph
        Undirected, with n nodes and e edges.
    transpose_perm : (e,) int64 array, optional
        From `transpose_perm`; without it the result has no `data_t`.
    dtype : float32 or float64

    Returns
    -------
    Adjacency

    Raises
    ------
    TypeError, ValueError
        If the graph is directed, `transpose_perm` is not e positions, or `dtype` is another one.
    """
    dtype, perm = norm_arguments(graph, transpose_perm, dtype)
    degrees = graph.degrees()
    inverse = 1 / np.maximum(degrees, 1).astype(dtype)
    data = np.repeat(inverse, degrees)
    return Adjacency(graph, data, None if perm is None else data[perm])


def norm_arguments(graph, transpose_perm, dtype):
    """Check the arguments of a normalisation; return (dtype, transpose_perm)."""
    _check.symmetric(graph)
    dtype = _check.float_dtype("dtype", dtype)
    if transpose_perm is None:
        return dtype, None
    perm = _check.ids("transpose_perm", transpose_perm, 0, graph.e, np.int64)
    if perm.size != graph.e:
        raise ValueError(f"transpose_perm must have shape ({graph.e},), got {perm.shape}")
    return dtype, perm
