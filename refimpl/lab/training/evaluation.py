"""One exact pass over a whole graph: how a model is scored, and how it is used."""

from typing import NamedTuple

import numpy as np

from refimpl._threads import one_blas_thread


class FullGraphPass(NamedTuple):
    """What a stack makes of every node: the classifier's input, (n, hidden), and its output."""

    embeddings: np.ndarray
    logits: np.ndarray


def full_graph_forward(stack, weights, graph, X, A=None):
    """Return what a stack makes of every node, from all of its neighbours.

    Nothing is sampled, weighted or dropped. O(e f + n f^2) time for widths f.

    Parameters
    ----------
    stack : Stack
    weights : dict of arrays
        By name, as ``stack.shapes()``.
    graph : Graph
        Undirected, with n nodes; it may be another one than the stack was trained on.
    X : (n, f) float array
        Features, scaled.
    A : Adjacency, optional
        ``stack.adjacency(graph, dtype=X.dtype)``, where the caller has kept it.

    Returns
    -------
    FullGraphPass
    """
    with one_blas_thread():
        A = stack.adjacency(graph, dtype=X.dtype) if A is None else A
        logits, kept = stack.forward(weights, stack.operands(A), X)
    return FullGraphPass(kept["classifier"][0], logits)
