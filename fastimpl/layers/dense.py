"""refimpl/layers/dense.py on kernels."""

import numpy as np

from fastimpl._twin import twin
from fastimpl.layers import _relu
from fastimpl.propagation import matmul_into
from refimpl.layers.dense import DenseGradients, dense_arguments, dense_backward_arguments


@twin
def dense_forward(X, W, *, relu):
    X, W = dense_arguments(X, W)
    Q = matmul_into(X, W, np.empty((X.shape[0], W.shape[1]), X.dtype))
    if relu:
        _relu.relu(Q)
    return Q


@twin
def dense_backward(X, W, Y, G_out, *, relu, need_dx):
    X, W = dense_arguments(X, W)
    Y, G = dense_backward_arguments(X, W, Y, G_out)
    if relu:
        G_out, G = G, np.empty_like(G)
        _relu.masked(G_out, Y, G)
    dW = matmul_into(X, G, np.empty_like(W), transpose_a=True)
    dX = matmul_into(G, W, np.empty_like(X), transpose_b=True) if need_dx else None
    return DenseGradients(dW, dX)
