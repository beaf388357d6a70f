"""R-GCN: a weight matrix for each relation (FreshGNN's model for typed graphs), and its gradients.

The layer is that of Schlichtkrull et al. 2018, its mean taken over each relation by itself. With
the basis decomposition (their Equation 3) the matrices of all relations are mixtures of a few.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.numpy_warnings import quiet
from refimpl.adjacency import Adjacency
from refimpl.hints import Absent, F, Floats, Matrix
from refimpl.layers import _arguments
from refimpl.layers.dense import activate, masked
from refimpl.propagation import matmul, spmm


class RgcnOutput(NamedTuple):
    """What `rgcn_forward` gives, and keeps for the backward pass.

    Attributes
    ----------
    X_out : (n_dst, h) float array
    means : tuple of R (n_r, f) float arrays
        The rows of A_r X for the n_r destinations that have a source in relation r, in order.
    """

    X_out: Matrix
    means: tuple[Matrix, ...]


class RgcnGradients(NamedTuple):
    """Gradients of the loss, W one a matrix; None where they do not apply or were not asked for.

    What `rgcn_backward` returns; all of one dtype.

    Attributes
    ----------
    W : tuple of R, or B, (f, h) float arrays
        One a relation, or one a basis.
    W_self : (f, h) float array
    coefficients : (R, B) float array or None
    X : (n_src, f) float array or None
    b : (h,) float array or None
    """

    W: tuple[Matrix, ...]
    W_self: Matrix
    coefficients: Matrix | Absent
    X: Matrix | Absent
    b: Floats | Absent


def rgcn_arguments(A, X, W, W_self, coefficients, b, relu, backward=False):
    """Check the arguments of `rgcn_forward`, which the backward pass takes too; return them."""
    require.switch("relu", relu)
    for name, value in (("A", A), ("W", W)):
        if not isinstance(value, tuple | list):
            raise TypeError(f"{name} must be a tuple or list, got {type(value).__name__}")
    A, W = tuple(A), tuple(W)
    for name, value in (("A", A), ("W", W)):
        if not value:
            raise ValueError(f"{name} must not be empty")
    for r, A_r in enumerate(A):
        _arguments.pattern(f"A[{r}]", A_r)
        if r:
            _check_alike(f"A[{r}]", A_r, A[0])
        X = _arguments.adjacency(f"A[{r}]", A_r, X, backward)
    if A[0].graph.n_dst > A[0].graph.n_src:
        raise ValueError(
            f"A[0] must have at most as many rows as its {A[0].graph.n_src} columns, "
            f"got {A[0].graph.n_dst}"
        )
    W_self = require.floats("W_self", W_self, (X.shape[1], None), X.dtype)
    W = tuple(require.floats(f"W[{i}]", W_i, W_self.shape, X.dtype) for i, W_i in enumerate(W))
    if coefficients is not None:
        shape = len(A), len(W)
        coefficients = require.floats("coefficients", coefficients, shape, X.dtype)
    elif len(W) != len(A):
        raise ValueError(
            f"W must have {len(A)} matrices for as many relations, or coefficients be given, "
            f"got {len(W)}"
        )
    b = _arguments.bias(b, W_self.shape[1], X.dtype)
    return A, X, W, W_self, coefficients, b, relu


def _check_alike(name, A, first):
    """Check that the Adjacency of a relation has the shape and dtype of the first one."""
    if not isinstance(A.data, np.ndarray):
        return  # refused by `_arguments.adjacency`
    want, got = ((B.graph.n_dst, B.graph.n_src) for B in (first, A))
    if got != want:
        raise ValueError(f"{name} must have shape {want} like A[0], got {got}")
    if A.data.dtype != first.data.dtype:
        raise TypeError(
            f"{name}.data must be {first.data.dtype} like A[0].data, got {A.data.dtype}"
        )


@quiet
@checked_by(rgcn_arguments)
def rgcn_forward(
    A: Sequence[Adjacency],
    X: Matrix[F],
    W: Sequence[Matrix[F]],
    W_self: Matrix[F],
    *,
    coefficients: Matrix[F] | None = None,
    b: Floats[F] | None = None,
    relu: bool = True,
) -> RgcnOutput:
    """Return ReLU(X W_self + A_1 X W_1 + .. + A_R X W_R + b), the first term for destinations.

    O(k f + m f h) time for k entries and m pairs of a relation and a destination that has a
    source in it, and O(n_dst f h). Schlichtkrull et al. 2018, Equations 2 and 3; FreshGNN trains
    it in section 7.6.

    Parameters
    ----------
    A : sequence of R >= 1 Adjacency
        From `relation_norms`: the mean over the sources in each relation. All have n_dst rows and
        n_src >= n_dst columns.
    X : (n_src, f) float32 or float64 array
        The first n_dst rows are those of the receiving nodes themselves.
    W : sequence of R arrays (f, h) of the same dtype
        With `coefficients`: of B >= 1 arrays (f, h), the bases.
    W_self : (f, h) array of the same dtype
    coefficients : (R, B) array of the same dtype, optional
        W_r is the sum of ``coefficients[r, i] * W[i]``.
    b : (h,) array of the same dtype, optional
    relu : bool

    Returns
    -------
    RgcnOutput

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit, or a sequence is empty.
    """
    Z = matmul(X[: A[0].graph.n_dst], W_self)
    means = []
    for A_r, W_r in zip(A, mixed(W, coefficients), strict=True):
        rows = destinations(A_r)
        means.append(spmm(A_r.graph, A_r.data, X)[rows])
        Z[rows] += matmul(means[-1], W_r)
    return RgcnOutput(activate(Z, b, relu), tuple(means))


def rgcn_backward_arguments(A, X, W, W_self, out, G_out, coefficients, b, relu, need_dx, overwrite):
    """Check the arguments of `rgcn_backward`; return them."""
    A, X, W, W_self, *options = rgcn_arguments(
        A, X, W, W_self, coefficients, b, relu, backward=True
    )
    require.switch("need_dx", need_dx)
    shape = A[0].graph.n_dst, W_self.shape[1]
    out = require.record("out", out, RgcnOutput)
    X_out, G_out = _arguments.output(out.X_out, G_out, shape, X, overwrite)
    means = require.sequence("out.means", out.means, "arrays")
    if len(means) != len(A):
        raise ValueError(f"out.means must have {len(A)} arrays, got {len(means)}")
    means = tuple(
        require.floats(f"out.means[{r}]", M, (len(destinations(A_r)), X.shape[1]), X.dtype)
        for r, (A_r, M) in enumerate(zip(A, means, strict=True))
    )
    out = RgcnOutput(X_out, means)
    return A, X, W, W_self, out, G_out, *options, need_dx, overwrite


@quiet
@checked_by(rgcn_backward_arguments)
def rgcn_backward(
    A: Sequence[Adjacency],
    X: Matrix[F],
    W: Sequence[Matrix[F]],
    W_self: Matrix[F],
    out: RgcnOutput,
    G_out: Matrix[F],
    *,
    coefficients: Matrix[F] | None = None,
    b: Floats[F] | None = None,
    relu: bool = True,
    need_dx: bool,
    overwrite: bool = False,
) -> RgcnGradients:
    """Return the gradients of an R-GCN layer from the gradient of its output.

    With G the gradient before the ReLU, that of W_r is (A_r X)^T G, that of a basis and of a
    coefficient follow from it, and that of X is the sum of A_r^T G W_r^T, and of G W_self^T for
    the destinations. Schlichtkrull et al. 2018 leave gradients to their library.
    O(k f + R n_dst f h) time for k entries.

    Parameters
    ----------
    A, X, W, W_self, coefficients, b, relu
        As given to `rgcn_forward`; each of A has `data_t`.
    out : RgcnOutput
        What `rgcn_forward` returned.
    G_out : (n_dst, h) array of the dtype of X
        Gradient of the loss with respect to ``out.X_out``.
    need_dx : bool
    overwrite : bool
        Whether `G_out` and ``out.X_out`` may be written over: what they held is lost, and
        results may lie in them.

    Returns
    -------
    RgcnGradients

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit, or a sequence is empty.
    """
    C = coefficients
    G = masked(G_out, out.X_out, relu, overwrite)
    n_dst = len(G)
    dW = [matmul(M.T, G[destinations(A_r)]) for A_r, M in zip(A, out.means, strict=True)]
    dC = None
    if C is not None:
        dC = np.array([[np.sum(dW_r * V) for V in W] for dW_r in dW])
        dW = mixed(dW, C.T)
    dW_self = matmul(X[:n_dst].T, G)
    db = None if b is None else G.sum(axis=0)
    if not need_dx:
        return RgcnGradients(tuple(dW), dW_self, dC, None, db)
    dX = np.zeros_like(X)
    dX[:n_dst] = matmul(G, W_self.T)
    for A_r, W_r in zip(A, mixed(W, C), strict=True):
        dX += spmm(A_r.graph_t, A_r.data_t, matmul(G, W_r.T))
    return RgcnGradients(tuple(dW), dW_self, dC, dX, db)


def mixed(W, coefficients):
    """Return the sums of the matrices W by each row of coefficients; W itself without any."""
    if coefficients is None:
        return W
    return [sum(c * V for c, V in zip(row, W, strict=True)) for row in coefficients]


def destinations(A):
    """Return the rows of A that have an entry, ascending."""
    return np.flatnonzero(A.graph.end > A.graph.start)
