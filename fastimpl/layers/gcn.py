"""refimpl/layers/gcn.py on kernels: a sparse product and the dense one after it go together."""

from fastimpl._buffers import empty, empty_like
from fastimpl._chain import chained
from fastimpl._twin import twin
from fastimpl.layers._shared import bias_gradient, masked, spare
from fastimpl.propagation import matmul_into, matmul_t_into, spmm_into, spmm_matmul_into
from refimpl._support.numpy_warnings import quiet
from refimpl.layers.gcn import GcnGradients, GcnOutput, gcn_arguments, gcn_backward_arguments


@twin
@quiet
def gcn_forward(A, X, W, order, *, b=None, relu=True):
    A, X, W, order, b, relu = gcn_arguments(A, X, W, order, b, relu)
    n_dst, n_src = A.graph.n_dst, A.graph.n_src
    Z = empty((n_dst, W.shape[1]), X.dtype)
    with chained():
        if order.forward == 1:
            AX = empty((n_dst, X.shape[1]), X.dtype)
            spmm_matmul_into(A.graph, A.data, X, AX, W, Z, bias=b, relu=relu)
            return GcnOutput(Z, AX)
        XW = matmul_into(X, W, empty((n_src, W.shape[1]), X.dtype))
        return GcnOutput(spmm_into(A.graph, A.data, XW, Z, bias=b, relu=relu), None)


@twin
@quiet
def gcn_backward(A, X, W, out, G_out, order, *, b=None, relu=True, overwrite=False):
    A, X, W, (X_out, AX), G_out, order, b, *_ = gcn_backward_arguments(
        A, X, W, out, G_out, order, b, relu, overwrite
    )
    with chained():
        G = masked(G_out, X_out, relu, overwrite)
        db, dX, n_dst, n_src = bias_gradient(b, G), None, A.graph.n_dst, A.graph.n_src
        AtG = None
        if order.dw == 2 or order.dx == 1:
            AtG = spmm_into(A.graph_t, A.data_t, G, spare(X_out, (n_src, W.shape[1]), overwrite))
        if order.dw == 1:
            if AX is None:
                AX = spmm_into(A.graph, A.data, X, empty((n_dst, X.shape[1]), X.dtype))
            dW = matmul_t_into(AX, G, empty_like(W))
        else:
            dW = matmul_t_into(X, AtG, empty_like(W))
        if order.dx == 1:
            dX = matmul_into(AtG, W, spare(G_out, X.shape, overwrite), transpose_b=True)
        elif order.dx == 2:
            GW = spare(X_out, (n_dst, X.shape[1]), overwrite)
            matmul_into(G, W, GW, transpose_b=True)
            dX = spmm_into(A.graph_t, A.data_t, GW, spare(G_out, X.shape, overwrite))
        return GcnGradients(dW, dX, db)
