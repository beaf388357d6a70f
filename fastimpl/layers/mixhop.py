"""refimpl/layers/mixhop.py on kernels: branches side by side, so that one product does for all."""

import numpy as np

from fastimpl._buffers import empty, empty_like
from fastimpl._twin import twin
from fastimpl.layers._shared import bias_gradient, masked
from fastimpl.propagation import matmul_into, matmul_t_into, spmm_into
from refimpl._quiet import quiet
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
    X, W, b = mixhop_arguments(hops, X, W, depth, b, relu)
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
            _hop(hops[k - 1], k, U, Z, edges, offset, b, relu)
            U = _hop_rest(hops[k - 1], k, U, edges, offset)
    return MixHopOutput(Z, tuple(powers[1:]))


def _hop(A, k, U, Z, edges, offset, b, relu):
    """Apply hop k to branch k, whose last it is, for the rows of the result."""
    columns = slice(edges[k], edges[k + 1])
    source = U[:, edges[k] - offset : edges[k + 1] - offset]
    if A.graph.n_dst == len(Z):
        spmm_into(A.graph, A.data, source, Z[:, columns], bias=_part(b, columns), relu=relu)
        return
    Y = spmm_into(
        A.graph,
        A.data,
        source,
        empty((A.graph.n_dst, source.shape[1]), U.dtype),
        bias=_part(b, columns),
        relu=relu,
    )
    Z[:, columns] = Y[: len(Z)]


def _hop_rest(A, k, U, edges, offset):
    """Apply hop k to the branches after k; return them in their columns of a new U."""
    V = empty((A.graph.n_dst, U.shape[1]), U.dtype)
    rest = slice(edges[k + 1] - offset, None)
    if U[:, rest].shape[1]:
        spmm_into(A.graph, A.data, U[:, rest], V[:, rest])
    return V


@twin
@quiet
def mixhop_backward(hops, X, W, out, G_out, depth, *, b=None, relu=True, need_dx):
    X, W, b = mixhop_arguments(hops, X, W, depth, b, relu, backward=True)
    X_out, powers, G_out = mixhop_backward_arguments(hops, X, W, out, G_out, depth, need_dx)
    G = masked(G_out, X_out, relu)
    edges, B = _edges(W), [X, *powers]
    R = _returned(hops, G, edges, depth, len(B[depth]))
    dW = [
        matmul_t_into(B[k][: len(G)], G[:, edges[k] : edges[k + 1]], empty_like(W[k]))
        for k in range(depth)
    ]
    offset = edges[depth]
    for k in range(depth, len(W)):
        R_k = R[:, edges[k] - offset : edges[k + 1] - offset]
        dW.append(matmul_t_into(B[depth], R_k, empty_like(W[k])))
    dX = None
    if need_dx:
        stacked = np.concatenate(W[depth:], axis=1)
        dX = matmul_into(R, stacked, empty((len(R), X.shape[1]), X.dtype), transpose_b=True)
        for k in reversed(range(depth)):
            A = hops[k]
            dX = spmm_into(A.graph_t, A.data_t, dX, empty((A.graph.n_src, X.shape[1]), X.dtype))
            G_k = G[:, edges[k] : edges[k + 1]]
            matmul_into(G_k, W[k], dX[: len(G)], transpose_b=True, add=True)
    return MixHopGradients(tuple(dW), dX, bias_gradient(b, G))


def _returned(hops, G, edges, depth, rows):
    """Return G's columns from branch `depth` on, each sent back through its hops above depth."""
    offset = edges[depth]
    R = np.zeros((len(G), 0), G.dtype)
    for k in reversed(range(depth + 1, len(hops) + 1)):
        A = hops[k - 1]
        U = _joined(G[:, edges[k] : edges[k + 1]], R, A.graph.n_dst)
        R = spmm_into(A.graph_t, A.data_t, U, empty((A.graph.n_src, U.shape[1]), G.dtype))
    return _joined(G[:, offset : edges[depth + 1]], R, rows)


def _joined(G_k, R, rows):
    """Return G_k, with rows of zeros up to `rows`, and R side by side."""
    if not R.shape[1] and len(G_k) == rows:
        return G_k
    U = empty((rows, G_k.shape[1] + R.shape[1]), G_k.dtype)
    U[: len(G_k), : G_k.shape[1]] = G_k
    U[len(G_k) :, : G_k.shape[1]] = 0
    U[:, G_k.shape[1] :] = R
    return U


def _edges(W):
    """Return where each branch's columns begin, and the last ones end."""
    return np.cumsum([0, *(W_k.shape[1] for W_k in W)]).tolist()


def _part(b, columns):
    return None if b is None else b[columns]
