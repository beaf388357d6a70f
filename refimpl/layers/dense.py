"""A layer without a graph: the classifier (JPDC'21 Equations 2 and 11), or a layer of an MLP."""

from typing import NamedTuple

import numpy as np

from refimpl import _check
from refimpl.propagation import matmul


class DenseGradients(NamedTuple):
    """Gradients of the loss; X is None where it was not asked for."""

    W: np.ndarray
    X: np.ndarray | None


def dense_forward(X, W, *, relu):
    """Return X W, or ReLU(X W).

    The papers print a ReLU before the classifier's sigmoid or softmax, which keeps every
    probability of a sigmoid at 1/2 or more (E-E8): the classifier's default is without.

    Parameters
    ----------
    X : (s, f) float32 or float64 array
    W : (f, h) array of the same dtype
    relu : bool

    Returns
    -------
    (s, h) array of the same dtype

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    X, W = dense_arguments(X, W)
    Q = matmul(X, W)
    return np.maximum(Q, 0) if relu else Q


def dense_backward(X, W, Y, G_out, *, relu, need_dx):
    """Return the gradients of `dense_forward` from the gradient of its result Y.

    JPDC'21 Equation 11, with the mask applied before the product with W^T (E-E2).

    Parameters
    ----------
    X, W, relu
        As given to `dense_forward`.
    Y : (s, h) array
        What it returned.
    G_out : (s, h) array
        Gradient of the loss with respect to Y.
    need_dx : bool

    Returns
    -------
    DenseGradients

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    X, W = dense_arguments(X, W)
    Y, G_out = dense_backward_arguments(X, W, Y, G_out)
    G = np.where(Y > 0, G_out, 0) if relu else G_out
    return DenseGradients(matmul(X.T, G), matmul(G, W.T) if need_dx else None)


def dense_arguments(X, W):
    """Check what both passes take; return (X, W)."""
    X = _check.floats("X", X, (None, None))
    return X, _check.floats("W", W, (X.shape[1], None), X.dtype)


def dense_backward_arguments(X, W, Y, G_out):
    """Check what only the backward pass takes; return (Y, G_out)."""
    shape = (X.shape[0], W.shape[1])
    Y = _check.floats("Y", Y, shape, X.dtype)
    return Y, _check.floats("G_out", G_out, shape, X.dtype)
