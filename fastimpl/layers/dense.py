"""refimpl/layers/dense.py on kernels."""

from fastimpl._buffers import empty, empty_like
from fastimpl._chain import chained
from fastimpl._twin import twin
from fastimpl.layers._shared import bias_gradient, masked, spare
from fastimpl.propagation import matmul_into, matmul_t_into
from refimpl._support.numpy_warnings import quiet
from refimpl.layers.dense import DenseGradients, dense_arguments, dense_backward_arguments


@twin
@quiet
def dense_forward(X, W, *, relu, b=None):
    X, W, relu, b = dense_arguments(X, W, relu, b)
    return matmul_into(X, W, empty((X.shape[0], W.shape[1]), X.dtype), bias=b, relu=relu)


@twin
@quiet
def dense_backward(X, W, Y, G_out, *, relu, need_dx, b=None, overwrite=False):
    X, W, Y, G_out, *_, b, _ = dense_backward_arguments(X, W, Y, G_out, relu, need_dx, b, overwrite)
    with chained():
        G = masked(G_out, Y, relu, overwrite)
        dW = matmul_t_into(X, G, empty_like(W))
        dX = matmul_into(G, W, spare(Y, X.shape, overwrite), transpose_b=True) if need_dx else None
        return DenseGradients(dW, dX, bias_gradient(b, G))
