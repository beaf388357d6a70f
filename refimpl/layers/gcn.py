"""The graph convolution of GCN (JPDC'21 Equation 4) and its gradients."""

from __future__ import annotations

from typing import NamedTuple

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.numpy_warnings import quiet
from refimpl.adjacency import Adjacency
from refimpl.hints import Absent, F, Floats, Matrix, Sparse
from refimpl.layers import _arguments
from refimpl.layers.dense import activate, masked
from refimpl.layers.sage import saved_product
from refimpl.propagation import matmul, spmm
from refimpl.scheduling import ProductOrders


class GcnOutput(NamedTuple):
    """What `gcn_forward` gives, and keeps for the backward pass.

    Attributes
    ----------
    X_out : (n_dst, h) float array
    AX : (n_dst, f) float array or None
        A X, where the chosen order computes it.
    """

    X_out: Matrix
    AX: Matrix | Absent


class GcnGradients(NamedTuple):
    """Gradients of the loss; X and b are None where they were not asked for.

    What `gcn_backward` returns; all of one dtype.

    Attributes
    ----------
    W : (f, h) float array
    X : (n_src, f) float array or None
    b : (h,) float array or None
    """

    W: Matrix
    X: Matrix | Absent
    b: Floats | Absent


def gcn_arguments(A, X, W, order, b, relu, backward=False):
    """Check the arguments of `gcn_forward`, which the backward pass takes too; return them."""
    X = _arguments.adjacency("A", A, X, backward, sparse=True)
    order = _arguments.order_for(X, order)
    require.switch("relu", relu)
    W = require.floats("W", W, (X.shape[1], None), X.dtype)
    return A, X, W, order, _arguments.bias(b, W.shape[1], X.dtype), relu


@quiet
@checked_by(gcn_arguments)
def gcn_forward(
    A: Adjacency,
    X: Matrix[F] | Sparse,
    W: Matrix[F],
    order: ProductOrders,
    *,
    b: Floats[F] | None = None,
    relu: bool = True,
) -> GcnOutput:
    """Return ReLU(A X W + b).

    JPDC'21 Equation 4. O(e f + n_dst f h) time for (A X) W, O(e h + n_src f h) for A (X W).

    Parameters
    ----------
    A : Adjacency
        From `sym_norm`; n_dst rows and n_src columns, n of both for a graph.
    X : (n_src, f) float32 or float64 array, or Adjacency
        An Adjacency is a sparse X, for a first layer: `order` is then ``ProductOrders(2, 2, 0)``.
    W : (f, h) array of the same dtype
    order : ProductOrders
        From `chain_order`; it changes the cost, and the result by rounding only.
    b : (h,) array of the same dtype, optional
    relu : bool

    Returns
    -------
    GcnOutput

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    if order.forward == 1:
        AX = spmm(A.graph, A.data, X)
        Z = matmul(AX, W)
    else:
        AX = None
        Z = spmm(A.graph, A.data, matmul(X, W))
    return GcnOutput(activate(Z, b, relu), AX)


def gcn_backward_arguments(A, X, W, out, G_out, order, b, relu, overwrite):
    """Check the arguments of `gcn_backward`; return them."""
    A, X, W, order, b, relu = gcn_arguments(A, X, W, order, b, relu, backward=True)
    rows, out = A.graph.n_dst, require.record("out", out, GcnOutput)
    X_out, G_out = _arguments.output(out.X_out, G_out, (rows, W.shape[1]), X, overwrite)
    out = GcnOutput(X_out, saved_product(out.AX, rows, X))
    return A, X, W, out, G_out, order, b, relu, overwrite


@quiet
@checked_by(gcn_backward_arguments)
def gcn_backward(
    A: Adjacency,
    X: Matrix[F] | Sparse,
    W: Matrix[F],
    out: GcnOutput,
    G_out: Matrix[F],
    order: ProductOrders,
    *,
    b: Floats[F] | None = None,
    relu: bool = True,
    overwrite: bool = False,
) -> GcnGradients:
    """Return the gradients of a GCN layer from the gradient of its output.

    With G the gradient before the ReLU, that of W is (A X)^T G = X^T (A^T G), and that of X is
    A^T G W^T (JPDC'21 section 5.1, for Equation 4). O(e (f + h) + n_src f h) time.

    Parameters
    ----------
    A, X, W, order, b, relu
        As given to `gcn_forward`; A has `data_t`. Where ``order.dx`` is 0 there is no gradient
        of X.
    out : GcnOutput
        What `gcn_forward` returned.
    G_out : (n_dst, h) array of the dtype of X
        Gradient of the loss with respect to ``out.X_out``.
    overwrite : bool
        Whether `G_out` and ``out.X_out`` may be written over: what they held is lost, and
        results may lie in them.

    Returns
    -------
    GcnGradients

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    G = masked(G_out, out.X_out, relu, overwrite)
    AtG = None
    if order.dw == 1:
        AX = spmm(A.graph, A.data, X) if out.AX is None else out.AX
        dW = matmul(AX.T, G)
    else:
        AtG = spmm(A.graph_t, A.data_t, G)
        dW = matmul(X.T, AtG)
    db = None if b is None else G.sum(axis=0)
    if order.dx == 0:
        return GcnGradients(dW, None, db)
    if order.dx == 1:
        AtG = spmm(A.graph_t, A.data_t, G) if AtG is None else AtG
        dX = matmul(AtG, W.T)
    else:
        dX = spmm(A.graph_t, A.data_t, matmul(G, W.T))
    return GcnGradients(dW, dX, db)
