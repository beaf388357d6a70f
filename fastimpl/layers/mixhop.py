"""refimpl/layers/mixhop.py on kernels: branches side by side, so that one product does for all."""

import numpy as np

from fastimpl._buffers import empty, empty_like
from fastimpl._twin import twin
from fastimpl.layers._shared import bias_gradient, masked, spare
from fastimpl.propagation import matmul_into, matmul_t_into, spmm_into
from refimpl._support.numpy_warnings import quiet
from refimpl.layers.mixhop import (
    MixHopGradients,
    MixHopOutput,
    mixhop_arguments,
    mixhop_backward_arguments,
    rows_after,
)


@twin
@quiet
def mixhop_forward(hops, X, W, depth, *, b=None, relu=True):
    hops, X, W, depth, b, relu = mixhop_arguments(hops, X, W, depth, b, relu)
    edges = _edges(W)
    powers = [X]
    for A in hops[:depth]:
        AX = empty((A.graph.n_dst, X.shape[1]), X.dtype)
        powers.append(spmm_into(A.graph, A.data, powers[-1], AX))
    Z = empty((rows_after(hops, X), edges[-1]), X.dtype)
    for k in range(depth + 1):
        columns = slice(edges[k], edges[k + 1])
        matmul_into(powers[k][: len(Z)], W[k], Z[:, columns], bias=_part(b, columns), relu=relu)
    if depth < len(hops):  # the deeper branches start together, and leave one by one
        offset = edges[depth + 1]
        U = empty((len(powers[-1]), edges[-1] - offset), X.dtype)
        for k in range(depth + 1, len(W)):
            matmul_into(powers[-1], W[k], U[:, edges[k] - offset : edges[k + 1] - offset])
        for k in range(depth + 1, len(W)):
            width = edges[k + 1] - edges[k]
            _hop(hops[k - 1], U[:, :width], Z, slice(edges[k], edges[k + 1]), b, relu)
            if k < len(hops):
                A, U = hops[k - 1], U[:, width:]
                U = spmm_into(A.graph, A.data, U, empty((A.graph.n_dst, U.shape[1]), U.dtype))
    return MixHopOutput(Z, tuple(powers[1:]))


def _hop(A, U, Z, columns, b, relu):
    """Apply the last hop of a branch, for the rows of the result, in its columns."""
    bias = _part(b, columns)
    if A.graph.n_dst == len(Z):
        spmm_into(A.graph, A.data, U, Z[:, columns], bias=bias, relu=relu)
        return
    Y = empty((A.graph.n_dst, U.shape[1]), U.dtype)
    Z[:, columns] = spmm_into(A.graph, A.data, U, Y, bias=bias, relu=relu)[: len(Z)]


@twin
@quiet
def mixhop_backward(hops, X, W, out, G_out, depth, *, b=None, relu=True, need_dx, overwrite=False):
    hops, X, W, (X_out, powers), G_out, depth, b, *_ = mixhop_backward_arguments(
        hops, X, W, out, G_out, depth, b, relu, need_dx, overwrite
    )
    G = masked(G_out, X_out, relu, overwrite)
    edges, B, db = _edges(W), [X, *powers], bias_gradient(b, G)
    dW = [
        matmul_t_into(B[k][: len(G)], G[:, edges[k] : edges[k + 1]], empty_like(W[k]))
        for k in range(depth)
    ]
    R = _returned(hops, G, X_out, edges, depth, overwrite)
    offset, dX = edges[depth], None
    for k in range(depth, len(W)):
        R_k = R[:, edges[k] - offset : edges[k + 1] - offset]
        dW.append(matmul_t_into(B[depth], R_k, empty_like(W[k])))
    if need_dx:
        free = G_out if depth == 0 and len(hops) else X_out  # R may lie in the other
        stacked = np.concatenate(W[depth:], axis=1)
        dX = spare(free, (len(R), X.shape[1]), overwrite)
        matmul_into(R, stacked, dX, transpose_b=True)
        for k in reversed(range(depth)):
            A = hops[k]
            dX = spmm_into(A.graph_t, A.data_t, dX, empty((A.graph.n_src, X.shape[1]), X.dtype))
            G_k = G[:, edges[k] : edges[k + 1]]
            matmul_into(G_k, W[k], dX[: len(G)], transpose_b=True, add=True)
    return MixHopGradients(tuple(dW), dX, db)


def _returned(hops, G, X_out, edges, depth, overwrite):
    """Return G's columns from branch `depth` on, each sent back through its hops above depth."""
    R = G[:, edges[len(hops)] :]
    for k in reversed(range(depth + 1, len(hops) + 1)):
        A, width = hops[k - 1], edges[k] - edges[k - 1]
        shape = A.graph.n_src, width + R.shape[1]
        U = spare(X_out, shape, overwrite and k == 1)
        spmm_into(A.graph_t, A.data_t, R, U[:, width:])
        U[: len(G), :width] = G[:, edges[k - 1] : edges[k]]
        U[len(G) :, :width] = 0
        R = U
    return R


def _edges(W):
    """Return where each branch's columns begin, and the last ones end."""
    return np.cumsum([0, *(W_k.shape[1] for W_k in W)]).tolist()


def _part(b, columns):
    return None if b is None else b[columns]
