"""Compute a layer of GraphSAGE."""

import numpy as np

from refimpl.layers.sage import SageOutput
from refimpl.propagation import matmul, spmm


def sage_forward(A, X, W_neigh, W_self, order, *, b=None, relu=True, concat="neigh_first"):
    """Return the output of a GraphSAGE layer: ReLU([A X W_neigh || X W_self] + b)."""
    AX = None
    if order.forward == 1:
        AX = spmm(A.graph, A.data, X)
        neighbours = matmul(AX, W_neigh)
    else:
        neighbours = spmm(A.graph, A.data, matmul(X, W_neigh))
    own = matmul(X[: A.graph.n_dst], W_self)
    if concat == "sum":
        out = neighbours + own
    elif concat == "neigh_first":
        out = np.concatenate([neighbours, own], axis=1)
    else:
        out = np.concatenate([own, neighbours], axis=1)
    if b is not None:
        out = out + b
    return SageOutput(np.maximum(out, 0) if relu else out, AX)
