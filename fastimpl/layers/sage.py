"""refimpl/layers/sage.py on kernels: each product is written straight to its place."""

import numpy as np

from fastimpl._twin import twin
from fastimpl.layers import _relu
from fastimpl.propagation import matmul_into, spmm_into
from refimpl.layers.sage import (
    SageGradients,
    SageOutput,
    sage_arguments,
    sage_backward_arguments,
)


@twin
def sage_forward(A, X, W_neigh, W_self, order):
    X, W_neigh, W_self = sage_arguments(A, X, W_neigh, W_self, order)
    s, h_neigh = X.shape[0], W_neigh.shape[1]
    Z = np.empty((s, h_neigh + W_self.shape[1]), X.dtype)
    N, S = Z[:, :h_neigh], Z[:, h_neigh:]
    if order.forward == 1:
        AX = spmm_into(A.graph, A.data, X, np.empty_like(X))
        matmul_into(AX, W_neigh, N)
    else:
        AX = None
        XW = matmul_into(X, W_neigh, np.empty((s, h_neigh), X.dtype))
        spmm_into(A.graph, A.data, XW, N)
    matmul_into(X, W_self, S)
    _relu.relu(Z)
    return SageOutput(Z, AX)


@twin
def sage_backward(A, X, W_neigh, W_self, out, G_out, order):
    X, W_neigh, W_self = sage_arguments(A, X, W_neigh, W_self, order)
    X_out, AX, G_out = sage_backward_arguments(A, X, W_neigh, W_self, out, G_out, order)
    s, h_neigh = X.shape[0], W_neigh.shape[1]
    G = np.empty_like(G_out)
    _relu.masked(G_out, X_out, G)
    G_neigh, G_self = G[:, :h_neigh], G[:, h_neigh:]
    dW_neigh, dW_self = np.empty_like(W_neigh), np.empty_like(W_self)
    AtG = None
    if order.dw == 2 or order.dx == 1:
        AtG = spmm_into(A.graph, A.data_t, G_neigh, np.empty((s, h_neigh), X.dtype))
    if order.dw == 1:
        AX = spmm_into(A.graph, A.data, X, np.empty_like(X)) if AX is None else AX
        matmul_into(AX, G_neigh, dW_neigh, transpose_a=True)
    else:
        matmul_into(X, AtG, dW_neigh, transpose_a=True)
    matmul_into(X, G_self, dW_self, transpose_a=True)
    if order.dx == 0:
        return SageGradients(dW_neigh, dW_self, None)
    dX = np.empty_like(X)
    if order.dx == 1:
        matmul_into(AtG, W_neigh, dX, transpose_b=True)
    else:
        GW = matmul_into(G_neigh, W_neigh, np.empty_like(X), transpose_b=True)
        spmm_into(A.graph, A.data_t, GW, dX)
    matmul_into(G_self, W_self, dX, transpose_b=True, add=True)
    return SageGradients(dW_neigh, dW_self, dX)
