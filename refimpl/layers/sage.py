"""GraphSAGE with mean aggregation (JPDC'21 Equation 1) and its gradients (Equation 12)."""

from typing import NamedTuple

import numpy as np

from refimpl import _check
from refimpl.adjacency import Adjacency
from refimpl.propagation import matmul, spmm
from refimpl.scheduling import SageOrder


class SageOutput(NamedTuple):
    """What the forward pass gives, and keeps for the backward pass.

    Attributes
    ----------
    X_out : (s, h_neigh + h_self) array
    AX : (s, f) array or None
        A X, where the chosen order computes it.
    """

    X_out: np.ndarray
    AX: np.ndarray | None


class SageGradients(NamedTuple):
    """Gradients of the loss; X is None where it was not asked for."""

    W_neigh: np.ndarray
    W_self: np.ndarray
    X: np.ndarray | None


def sage_forward(A, X, W_neigh, W_self, order):
    """Return ReLU([A X W_neigh || X W_self]), the neighbour half first.

    Parameters
    ----------
    A : Adjacency
        From `row_norm`, on s nodes and e edges.
    X : (s, f) float32 or float64 array
    W_neigh, W_self : (f, h_neigh) and (f, h_self) arrays of the same dtype
    order : SageOrder
        From `sage_order`; it changes the cost, and the result by rounding only.

    Returns
    -------
    SageOutput

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    X, W_neigh, W_self = sage_arguments(A, X, W_neigh, W_self, order)
    if order.forward == 1:
        AX = spmm(A.graph, A.data, X)
        N = matmul(AX, W_neigh)
    else:
        AX = None
        N = spmm(A.graph, A.data, matmul(X, W_neigh))
    S = matmul(X, W_self)
    Z = np.concatenate([N, S], axis=1)
    return SageOutput(np.maximum(Z, 0), AX)


def sage_backward(A, X, W_neigh, W_self, out, G_out, order):
    """Return the gradients of a GraphSAGE layer from the gradient of its output.

    JPDC'21 Equation 12, with the halves in the order of Equation 1 (E-E1) and the mask of this
    layer's own ReLU (E-E3).

    Parameters
    ----------
    A, X, W_neigh, W_self, order
        As given to `sage_forward`; A has `data_t`. Where ``order.dx`` is 0 there is no
        gradient of X.
    out : SageOutput
        What `sage_forward` returned.
    G_out : (s, h_neigh + h_self) array
        Gradient of the loss with respect to ``out.X_out``.

    Returns
    -------
    SageGradients

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    X, W_neigh, W_self = sage_arguments(A, X, W_neigh, W_self, order)
    X_out, AX, G_out = sage_backward_arguments(A, X, W_neigh, W_self, out, G_out, order)
    G = np.where(X_out > 0, G_out, 0)
    G_neigh, G_self = np.split(G, [W_neigh.shape[1]], axis=1)
    AtG = None
    if order.dw == 1:
        AX = spmm(A.graph, A.data, X) if AX is None else AX
        dW_neigh = matmul(AX.T, G_neigh)
    else:
        AtG = spmm(A.graph, A.data_t, G_neigh)
        dW_neigh = matmul(X.T, AtG)
    dW_self = matmul(X.T, G_self)
    if order.dx == 0:
        return SageGradients(dW_neigh, dW_self, None)
    if order.dx == 1:
        AtG = spmm(A.graph, A.data_t, G_neigh) if AtG is None else AtG
        dX = matmul(AtG, W_neigh.T)
    else:
        dX = spmm(A.graph, A.data_t, matmul(G_neigh, W_neigh.T))
    return SageGradients(dW_neigh, dW_self, dX + matmul(G_self, W_self.T))


def sage_arguments(A, X, W_neigh, W_self, order):
    """Check what both passes take; return (X, W_neigh, W_self)."""
    if not isinstance(A, Adjacency):
        raise TypeError(f"A must be an Adjacency (see row_norm), got {type(A).__name__}")
    if not isinstance(order, SageOrder):
        raise TypeError(f"order must be a SageOrder, got {type(order).__name__}")
    data = _check.floats("A.data", A.data, (A.graph.e,))
    if A.data_t is not None:
        _check.floats("A.data_t", A.data_t, (A.graph.e,), data.dtype)
    if order.forward not in (1, 2) or order.dw not in (1, 2) or order.dx not in (0, 1, 2):
        raise ValueError(f"order must be as sage_order returns it, got {order}")
    X = _check.floats("X", X, (A.graph.n, None), A.data.dtype)
    W_neigh = _check.floats("W_neigh", W_neigh, (X.shape[1], None), X.dtype)
    return X, W_neigh, _check.floats("W_self", W_self, (X.shape[1], None), X.dtype)


def sage_backward_arguments(A, X, W_neigh, W_self, out, G_out, order):
    """Check what only the backward pass takes; return (X_out, AX, G_out)."""
    if A.data_t is None:
        raise ValueError("A must have data_t: give row_norm a transpose_perm")
    shape = (X.shape[0], W_neigh.shape[1] + W_self.shape[1])
    X_out = _check.floats("out.X_out", out.X_out, shape, X.dtype)
    AX = None if out.AX is None else _check.floats("out.AX", out.AX, X.shape, X.dtype)
    return X_out, AX, _check.floats("G_out", G_out, shape, X.dtype)
