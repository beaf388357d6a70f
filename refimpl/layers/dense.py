"""A layer without a graph: the classifier (JPDC'21 Equations 2 and 11), or a layer of an MLP."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.numpy_warnings import quiet
from refimpl.adjacency import Adjacency
from refimpl.hints import Absent, F, Floats, Matrix, Sparse
from refimpl.layers import _arguments
from refimpl.propagation import matmul


class DenseGradients(NamedTuple):
    """Gradients of the loss; X and b are None where they were not asked for.

    What `dense_backward` returns; all of one dtype.

    Attributes
    ----------
    W : (f, h) float array
    X : (s, f) float array or None
    b : (h,) float array or None
    """

    W: Matrix
    X: Matrix | Absent
    b: Floats | Absent


def dense_arguments(X, W, relu, b, backward=False):
    """Check the arguments of `dense_forward`, which the backward pass takes too; return them."""
    require.switch("relu", relu)
    X = _arguments.floats_or_sparse("X", X, (None, None), backward=backward)
    W = require.floats("W", W, (X.shape[1], None), X.dtype)
    return X, W, relu, _arguments.bias(b, W.shape[1], X.dtype)


@quiet
@checked_by(dense_arguments)
def dense_forward(
    X: Matrix[F] | Sparse, W: Matrix[F], *, relu: bool, b: Floats[F] | None = None
) -> Matrix[F]:
    """Return X W + b, or ReLU(X W + b).

    The papers print a ReLU before the classifier's sigmoid or softmax, which keeps every
    probability of a sigmoid at 1/2 or more (E-E8): the classifier's default is without. JPDC'21
    Equation 2. O(s f h) time.

    Parameters
    ----------
    X : (s, f) float32 or float64 array, or Adjacency
        An Adjacency is a sparse X.
    W : (f, h) array of the same dtype
    relu : bool
    b : (h,) array of the same dtype, optional

    Returns
    -------
    (s, h) array of the same dtype

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    return activate(matmul(X, W), b, relu)


def dense_backward_arguments(X, W, Y, G_out, relu, need_dx, b, overwrite):
    """Check the arguments of `dense_backward`; return them."""
    X, W, relu, b = dense_arguments(X, W, relu, b, backward=True)
    if require.switch("need_dx", need_dx) and isinstance(X, Adjacency):
        raise ValueError("need_dx must be False where X is an Adjacency: it has no gradient")
    shape = (X.shape[0], W.shape[1])
    Y, G_out = _arguments.output(Y, G_out, shape, X, overwrite, name="Y")
    return X, W, Y, G_out, relu, need_dx, b, overwrite


@quiet
@checked_by(dense_backward_arguments)
def dense_backward(
    X: Matrix[F] | Sparse,
    W: Matrix[F],
    Y: Matrix[F],
    G_out: Matrix[F],
    *,
    relu: bool,
    need_dx: bool,
    b: Floats[F] | None = None,
    overwrite: bool = False,
) -> DenseGradients:
    """Return the gradients of `dense_forward` from the gradient of its result Y.

    JPDC'21 Equation 11, with the mask applied before the product with W^T (E-E2). O(s f h) time.

    Parameters
    ----------
    X, W, relu, b
        As given to `dense_forward`.
    Y : (s, h) array of the dtype of X
        What it returned.
    G_out : (s, h) array of the dtype of X
        Gradient of the loss with respect to Y.
    need_dx : bool
    overwrite : bool
        Whether `G_out` and `Y` may be written over: what they held is lost, and results may lie
        in them.

    Returns
    -------
    DenseGradients

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    G = masked(G_out, Y, relu, overwrite)
    dX = matmul(G, W.T) if need_dx else None
    return DenseGradients(matmul(X.T, G), dX, None if b is None else G.sum(axis=0))


def activate(Z, b, relu):
    """Return Z + b, or ReLU(Z + b); `b` may be None."""
    Z = Z if b is None else Z + b
    return np.maximum(Z, 0) if relu else Z


def masked(G_out, X_out, relu, overwrite):
    """Return the gradient before the ReLU: G_out where the layer's output is above 0 (E-E3)."""
    if not relu:
        return G_out
    G = G_out if overwrite else G_out.copy()
    G[~(X_out > 0)] = 0  # also where the output is no number
    return G
