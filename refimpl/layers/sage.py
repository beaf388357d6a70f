"""GraphSAGE with mean aggregation (JPDC'21 Equation 1) and its gradients (Equation 12)."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.numpy_warnings import quiet
from refimpl.adjacency import Adjacency
from refimpl.hints import Absent, F, Floats, Matrix, Sparse
from refimpl.layers import _arguments
from refimpl.layers.dense import activate, masked
from refimpl.propagation import matmul, spmm
from refimpl.scheduling import ProductOrders

CONCAT = ("neigh_first", "self_first", "sum")


class SageOutput(NamedTuple):
    """What `sage_forward` gives, and keeps for the backward pass.

    Attributes
    ----------
    X_out : (n_dst, h_neigh + h_self) float array
        h wide where the halves are added.
    AX : (n_dst, f) float array or None
        A X, where the chosen order computes it.
    """

    X_out: Matrix
    AX: Matrix | Absent


class SageGradients(NamedTuple):
    """Gradients of the loss; X and b are None where they were not asked for.

    What `sage_backward` returns; all of one dtype.

    Attributes
    ----------
    W_neigh, W_self : (f, h_neigh) and (f, h_self) float arrays
    X : (n_src, f) float array or None
    b : float array of shape (width of X_out,) or None
    """

    W_neigh: Matrix
    W_self: Matrix
    X: Matrix | Absent
    b: Floats | Absent


def sage_arguments(A, X, W_neigh, W_self, order, b, relu, concat, backward=False):
    """Check the arguments of `sage_forward`, which the backward pass takes too; return them."""
    X = _arguments.adjacency("A", A, X, backward, sparse=True)
    order = _arguments.order_for(X, order)
    require.switch("relu", relu)
    require.choice("concat", concat, CONCAT)
    W_neigh = require.floats("W_neigh", W_neigh, (X.shape[1], None), X.dtype)
    W_self = require.floats("W_self", W_self, (X.shape[1], None), X.dtype)
    if concat == "sum" and W_self.shape != W_neigh.shape:
        raise ValueError(
            f'W_self must have shape {W_neigh.shape} like W_neigh where concat is "sum", '
            f"got {W_self.shape}"
        )
    b = _arguments.bias(b, sage_width(W_neigh, W_self, concat), X.dtype)
    return A, X, W_neigh, W_self, order, b, relu, concat


@quiet
@checked_by(sage_arguments)
def sage_forward(
    A: Adjacency,
    X: Matrix[F] | Sparse,
    W_neigh: Matrix[F],
    W_self: Matrix[F],
    order: ProductOrders,
    *,
    b: Floats[F] | None = None,
    relu: bool = True,
    concat: Literal["neigh_first", "self_first", "sum"] = "neigh_first",
) -> SageOutput:
    """Return ReLU([A X W_neigh || X W_self] + b), or ReLU(A X W_neigh + X W_self + b).

    JPDC'21 Equation 1; the sum is Hamilton et al. 2017, Algorithm 1, where one matrix multiplies
    both, and makes an output as wide as there are classes. With h = h_neigh + h_self,
    O(e f + n_dst f h) time for (A X) W_neigh, and O(e h_neigh + n_src f h) for A (X W_neigh).

    Parameters
    ----------
    A : Adjacency
        From `row_norm`; n_dst rows and n_src columns, n of both for a graph.
    X : (n_src, f) float32 or float64 array, or Adjacency
        An Adjacency is a sparse X, for a first layer: `order` is then ``ProductOrders(2, 2, 0)``.
        The first n_dst rows are those of the receiving nodes themselves.
    W_neigh, W_self : (f, h_neigh) and (f, h_self) arrays of the same dtype
        Of one shape where their products are added.
    order : ProductOrders
        From `chain_order`; it changes the cost, and the result by rounding only.
    b : (h_neigh + h_self,) array of the same dtype, optional
        Of h_neigh numbers where the halves are added.
    relu : bool
    concat : {"neigh_first", "self_first", "sum"}
        Which half comes first: the neighbours' as in Equation 1, or the node's own (E-E1); "sum"
        adds them.

    Returns
    -------
    SageOutput

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    if order.forward == 1:
        AX = spmm(A.graph, A.data, X)
        N = matmul(AX, W_neigh)
    else:
        AX = None
        N = spmm(A.graph, A.data, matmul(X, W_neigh))
    S = matmul(X[: A.graph.n_dst], W_self)
    if concat == "sum":
        Z = N + S
    else:
        Z = np.concatenate([N, S] if concat == "neigh_first" else [S, N], axis=1)
    return SageOutput(activate(Z, b, relu), AX)


def sage_backward_arguments(A, X, W_neigh, W_self, out, G_out, order, b, relu, concat, overwrite):
    """Check the arguments of `sage_backward`; return them."""
    A, X, W_neigh, W_self, *options = sage_arguments(
        A, X, W_neigh, W_self, order, b, relu, concat, backward=True
    )
    rows, out = A.graph.n_dst, require.record("out", out, SageOutput)
    shape = (rows, sage_width(W_neigh, W_self, concat))
    X_out, G_out = _arguments.output(out.X_out, G_out, shape, X, overwrite)
    out = SageOutput(X_out, saved_product(out.AX, rows, X))
    return A, X, W_neigh, W_self, out, G_out, *options, overwrite


@quiet
@checked_by(sage_backward_arguments)
def sage_backward(
    A: Adjacency,
    X: Matrix[F] | Sparse,
    W_neigh: Matrix[F],
    W_self: Matrix[F],
    out: SageOutput,
    G_out: Matrix[F],
    order: ProductOrders,
    *,
    b: Floats[F] | None = None,
    relu: bool = True,
    concat: Literal["neigh_first", "self_first", "sum"] = "neigh_first",
    overwrite: bool = False,
) -> SageGradients:
    """Return the gradients of a GraphSAGE layer from the gradient of its output.

    JPDC'21 Equation 12, with the halves in the order of Equation 1 (E-E1) and the mask of this
    layer's own ReLU (E-E3). O(e (f + h_neigh) + n_src f h) time with h = h_neigh + h_self.

    Parameters
    ----------
    A, X, W_neigh, W_self, order, b, relu, concat
        As given to `sage_forward`; A has `data_t`. Where ``order.dx`` is 0 there is no
        gradient of X.
    out : SageOutput
        What `sage_forward` returned.
    G_out : (n_dst, width of the output) array of the dtype of X
        Gradient of the loss with respect to ``out.X_out``.
    overwrite : bool
        Whether `G_out` and ``out.X_out`` may be written over: what they held is lost, and
        results may lie in them.

    Returns
    -------
    SageGradients

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    G = masked(G_out, out.X_out, relu, overwrite)
    if concat == "sum":
        G_neigh = G_self = G
    elif concat == "neigh_first":
        G_neigh, G_self = np.split(G, [W_neigh.shape[1]], axis=1)
    else:
        G_self, G_neigh = np.split(G, [W_self.shape[1]], axis=1)
    X_self = X[: A.graph.n_dst]
    AtG = None
    if order.dw == 1:
        AX = spmm(A.graph, A.data, X) if out.AX is None else out.AX
        dW_neigh = matmul(AX.T, G_neigh)
    else:
        AtG = spmm(A.graph_t, A.data_t, G_neigh)
        dW_neigh = matmul(X.T, AtG)
    dW_self = matmul(X_self.T, G_self)
    db = None if b is None else G.sum(axis=0)
    if order.dx == 0:
        return SageGradients(dW_neigh, dW_self, None, db)
    if order.dx == 1:
        AtG = spmm(A.graph_t, A.data_t, G_neigh) if AtG is None else AtG
        dX = matmul(AtG, W_neigh.T)
    else:
        dX = spmm(A.graph_t, A.data_t, matmul(G_neigh, W_neigh.T))
    dX[: A.graph.n_dst] += matmul(G_self, W_self.T)
    return SageGradients(dW_neigh, dW_self, dX, db)


def sage_width(W_neigh, W_self, concat):
    """Return the width of a layer's output."""
    return W_neigh.shape[1] + (0 if concat == "sum" else W_self.shape[1])


def saved_product(AX, rows, X):
    """Check A X of a forward pass, None where it was not computed; return it."""
    return None if AX is None else require.floats("out.AX", AX, (rows, X.shape[1]), X.dtype)
