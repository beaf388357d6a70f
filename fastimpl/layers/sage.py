"""refimpl/layers/sage.py on kernels: each product is written straight to its place."""

import numpy as np

from fastimpl._buffers import empty, empty_like
from fastimpl._chain import chained, run
from fastimpl._twin import twin
from fastimpl.layers._shared import bias_gradient, masked, spare
from fastimpl.propagation import (
    matmul_apart_into,
    matmul_into,
    matmul_t_into,
    spmm_into,
    spmm_matmul_into,
)
from refimpl._support.numpy_warnings import quiet
from refimpl._support.row_block_products import alike
from refimpl.adjacency import Adjacency
from refimpl.layers.sage import (
    SageGradients,
    SageOutput,
    sage_arguments,
    sage_backward_arguments,
    sage_width,
)


@twin
@quiet
def sage_forward(A, X, W_neigh, W_self, order, *, b=None, relu=True, concat="neigh_first"):
    A, X, W_neigh, W_self, order, b, relu, concat = sage_arguments(
        A, X, W_neigh, W_self, order, b, relu, concat
    )
    n_dst, n_src = A.graph.n_dst, A.graph.n_src
    neigh, self_ = _halves(W_neigh, W_self, concat)
    Z = empty((n_dst, sage_width(W_neigh, W_self, concat)), X.dtype)
    added = concat == "sum"  # then the second product is, and what follows the sum follows it
    options = {} if added else {"bias": None if b is None else b[neigh], "relu": relu}
    last = {"bias": None if b is None else b[self_], "relu": relu}
    with chained():
        if order.forward == 1:
            AX = empty((n_dst, X.shape[1]), X.dtype)
            spmm_matmul_into(A.graph, A.data, X, AX, W_neigh, Z[:, neigh], **options)
            matmul_into(X[:n_dst], W_self, Z[:, self_], add=added, **last)
            return SageOutput(Z, AX)
        XW = empty((n_src, W_neigh.shape[1]), X.dtype)
        sizes = not isinstance(X, Adjacency) and X.size and W_neigh.size and W_self.size
        together = n_dst == n_src and not added and sizes and not alike.get()
        if together:
            matmul_apart_into(X, W_neigh, W_self, XW, Z[:, self_], **last)
        else:
            matmul_into(X, W_neigh, XW)
        spmm_into(A.graph, A.data, XW, Z[:, neigh], **options)
        if not together:
            matmul_into(X[:n_dst], W_self, Z[:, self_], add=added, **last)
        return SageOutput(Z, None)


@twin
@quiet
def sage_backward(
    A,
    X,
    W_neigh,
    W_self,
    out,
    G_out,
    order,
    *,
    b=None,
    relu=True,
    concat="neigh_first",
    overwrite=False,
):
    A, X, W_neigh, W_self, (X_out, AX), G_out, order, b, *_ = sage_backward_arguments(
        A, X, W_neigh, W_self, out, G_out, order, b, relu, concat, overwrite
    )
    neigh, self_ = _halves(W_neigh, W_self, concat)
    D, at = None, (neigh, self_)
    if A.graph.n_dst == A.graph.n_src and order.dw == 2 and order.dx != 2:
        D = spare(X_out, (X.shape[0], W_neigh.shape[1] + W_self.shape[1]), overwrite)
        at = at if concat != "sum" else _halves(W_neigh, W_self, "neigh_first")
    with chained():
        if D is None:
            G = masked(G_out, X_out, relu, overwrite)
            G_neigh, G_self = G[:, neigh], G[:, self_]
        else:  # read from memory of its own, side by side
            G_neigh = masked(G_out[:, neigh], X_out[:, neigh], relu, False)
            G_self = masked(G_out[:, self_], X_out[:, self_], relu, False, D[:, at[1]])
        db = None
        if b is not None:
            db = np.empty_like(b)
            bias_gradient(b[neigh], G_neigh, db[neigh])
            bias_gradient(b[self_], G_self, db[self_])
        if D is None:
            dW_neigh, dW_self, dX = _one_by_one(A, X, W_neigh, W_self, AX, G_neigh, G_self, order)
        else:
            spmm_into(A.graph_t, A.data_t, G_neigh, D[:, at[0]])
            dX = spare(G_out, X.shape, overwrite) if order.dx else None
            dW_neigh, dW_self = _side_by_side(X, W_neigh, W_self, D, at, dX)
    return SageGradients(dW_neigh, dW_self, dX, db)


def _halves(W_neigh, W_self, concat):
    """Return the columns of the output that each half fills, or is added to."""
    h_neigh, h_self = W_neigh.shape[1], W_self.shape[1]
    if concat == "sum":
        return slice(0, h_neigh), slice(0, h_neigh)
    if concat == "neigh_first":
        return slice(0, h_neigh), slice(h_neigh, h_neigh + h_self)
    return slice(h_self, h_self + h_neigh), slice(0, h_self)


def _side_by_side(X, W_neigh, W_self, D, at, dX):
    """Return the gradients of the weights, and write that of X to `dX`, if there is one.

    D has A^T G_neigh in the columns ``at[0]`` and G_self in the columns ``at[1]``. Then both
    gradients are one product X^T D, and that of X is D W^T with both W side by side: half as many
    products, twice as wide.
    """
    neigh, self_ = at
    dW = matmul_t_into(X, D, empty((X.shape[1], D.shape[1]), X.dtype))
    dW_neigh, dW_self = empty_like(W_neigh), empty_like(W_self)
    if dX is not None:
        W = empty_like(dW)
        W[:, neigh], W[:, self_] = W_neigh, W_self
        matmul_into(D, W, dX, transpose_b=True)
    run("weights", np.copyto, dW_neigh, dW[:, neigh])
    run("weights", np.copyto, dW_self, dW[:, self_])
    return dW_neigh, dW_self


def _one_by_one(A, X, W_neigh, W_self, AX, G_neigh, G_self, order):
    """Return the gradients, each product by itself."""
    n_dst, h_neigh = A.graph.n_dst, W_neigh.shape[1]
    dX = empty_like(X) if order.dx else None
    AtG = None
    if order.dw == 2 or order.dx == 1:
        AtG = empty((X.shape[0], h_neigh), X.dtype)
    if order.dx == 1:
        spmm_matmul_into(A.graph_t, A.data_t, G_neigh, AtG, W_neigh, dX, transpose_b=True)
    elif AtG is not None:
        spmm_into(A.graph_t, A.data_t, G_neigh, AtG)
    if order.dw == 1:
        if AX is None:
            AX = spmm_into(A.graph, A.data, X, empty((n_dst, X.shape[1]), X.dtype))
        dW_neigh = matmul_t_into(AX, G_neigh, empty_like(W_neigh))
    else:
        dW_neigh = matmul_t_into(X, AtG, empty_like(W_neigh))
    dW_self = matmul_t_into(X[:n_dst], G_self, empty_like(W_self))
    if order.dx == 2:
        GW = matmul_into(G_neigh, W_neigh, empty((n_dst, X.shape[1]), X.dtype), transpose_b=True)
        spmm_into(A.graph_t, A.data_t, GW, dX)
    if dX is not None:
        matmul_into(G_self, W_self, dX[:n_dst], transpose_b=True, add=True)
    return dW_neigh, dW_self, dX
