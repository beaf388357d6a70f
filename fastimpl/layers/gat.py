"""refimpl/layers/gat.py on kernels."""

import numpy as np

from fastimpl._buffers import empty, empty_like
from fastimpl._twin import twin
from fastimpl.layers import _elementwise, _gat
from fastimpl.layers._shared import bias_gradient, masked, spare, threshold
from fastimpl.propagation import matmul_into, matmul_t_into, spmm_into
from refimpl._support.numpy_warnings import quiet
from refimpl.layers.gat import (
    GatGradients,
    GatOutput,
    gat_arguments,
    gat_backward_arguments,
)
from refimpl.profiling import count, timed

NORM = {"softmax": _gat.SOFTMAX, "row": _gat.ROW, "none": _gat.NONE}


@twin
@quiet
def gat_forward(
    A,
    X,
    W,
    a_recv,
    a_send,
    *,
    norm="softmax",
    form="joint",
    slope=0.2,
    b=None,
    relu=True,
    dropout=0.0,
    keys=None,
):
    options = norm, form, slope, b, relu, dropout, keys
    A, X, W, a_recv, a_send, *options = gat_arguments(A, X, W, a_recv, a_send, *options)
    norm, form, slope, b, relu, dropout, keys = options
    heads, n_dst, n_src = len(a_recv), A.graph.n_dst, A.graph.n_src
    H = X if W is None else matmul_into(X, W, empty((n_src, W.shape[1]), X.dtype))
    sigma, tau = empty((heads, n_dst), X.dtype), empty((heads, n_src), X.dtype)
    P = empty((heads, A.graph.e), X.dtype)
    if (A.graph.end - A.graph.start).sum() < A.graph.e:
        P[:] = 0
    with timed("weights"):
        count(dense=(n_dst + n_src) * H.shape[1])
        _gat.scores(H, a_recv, a_send, sigma, tau)
    with timed("aggregation"):
        form = form == "joint"
        _gat.attention(*_entries(A.graph), A.data, sigma, tau, NORM[norm], form, slope, P)
        Q = _dropped(A.graph, P, dropout, keys)
    Z = empty((n_dst, H.shape[1]), X.dtype)
    for k, columns in _heads(H, heads):
        bias = None if b is None else b[columns]
        spmm_into(A.graph, Q[k], H[:, columns], Z[:, columns], bias=bias, relu=relu)
    return GatOutput(Z, H, sigma, tau, P)


@twin
@quiet
def gat_backward(
    A,
    X,
    W,
    a_recv,
    a_send,
    out,
    G_out,
    *,
    norm="softmax",
    form="joint",
    slope=0.2,
    b=None,
    relu=True,
    dropout=0.0,
    keys=None,
    need_dx,
    overwrite=False,
):
    options = norm, form, slope, b, relu, dropout, keys
    A, X, W, a_recv, a_send, out, G_out, *options, need_dx, overwrite = gat_backward_arguments(
        A, X, W, a_recv, a_send, out, G_out, *options, need_dx, overwrite
    )
    norm, form, slope, b, relu, dropout, keys = options
    G = masked(G_out, out.X_out, relu, overwrite)
    scores = NORM[norm], form == "joint", slope
    d_sigma, d_tau, Q_t = _edge_gradients(A, G, out, *scores, dropout, keys)
    db, dX = bias_gradient(b, G), None
    dH = spare(out.X_out, out.H.shape, overwrite)
    for k, columns in _heads(out.H, len(a_recv)):
        spmm_into(A.graph_t, Q_t[k], G[:, columns], dH[:, columns])
    da_recv, da_send = _score_gradients(out.H, a_recv, a_send, d_sigma, d_tau, dH)
    dW = matmul_t_into(X, dH, empty_like(W))
    if need_dx:
        dX = matmul_into(dH, W, spare(G_out, X.shape, overwrite), transpose_b=True)
    return GatGradients(dW, da_recv, da_send, dX, db)


@timed("aggregation")
def _edge_gradients(A, G, out, norm, joint, slope, dropout, keys):
    """Return the gradients of sigma and tau, and Q on the transposed pattern."""
    count(sparse=A.graph.e * G.shape[1])
    epsilon, Q_t = empty_like(out.P), empty((len(out.P), A.graph_t.e), G.dtype)
    d_sigma, d_tau = empty_like(out.sigma), empty_like(out.tau)
    parts = out.sigma, out.tau, out.P
    if not G.shape[1]:
        for array in (d_sigma, d_tau, Q_t):
            array[:] = 0
        return d_sigma, d_tau, Q_t
    drawn = keys if dropout else None, *threshold(dropout)
    _gat.edge_gradients(
        *_entries(A.graph), A.data, G, out.H, *parts, norm, joint, slope, *drawn, epsilon, d_sigma
    )
    Q, start, end = _dropped(A.graph, out.P, dropout, keys), A.graph_t.start, A.graph_t.end
    _gat.transposed(start, end, A.perm, Q, epsilon, out.tau, joint, slope, Q_t, d_tau)
    return d_sigma, d_tau, Q_t


def _dropped(graph, P, dropout, keys):
    """Return what dropout makes of attention weights: P itself where nothing is dropped."""
    if not dropout:
        return P
    Q = empty(P.shape, P.dtype)
    _gat.dropped(graph.start, graph.end, P, keys, *threshold(dropout), Q)
    return Q


@timed("weights")
def _score_gradients(H, a_recv, a_send, d_sigma, d_tau, dH):
    """Add to dH what comes through the scores; return the gradients of a_recv and a_send."""
    count(dense=2 * (d_sigma.shape[1] + len(H)) * H.shape[1])
    sums = empty((_elementwise.blocks_of(len(H)), 2, H.shape[1]), H.dtype)
    _gat.score_gradients(H, a_recv, a_send, d_sigma, d_tau, dH, sums)
    da_recv, da_send = sums.sum(axis=0)
    return da_recv.reshape(a_recv.shape), da_send.reshape(a_send.shape)


def _entries(graph):
    return graph.start, graph.end, graph.indices


def _heads(H, heads):
    """Yield the number and the columns of each head."""
    for k, columns in enumerate(np.arange(H.shape[1]).reshape(heads, -1)):
        yield k, slice(k * len(columns), (k + 1) * len(columns))
