"""Graph attention: a node's weights for its neighbours are computed from both."""

import math

from arrays import (
    all_within,
    entries,
    entry_count,
    has_shape,
    is_integers,
    is_like,
    is_switch,
    row_count,
    zeros,
)
from attention import attention, dropped, score_gradients, scores, scores_gradient
from dense_products import (
    activate,
    beside,
    column_sums,
    columns,
    dot,
    masked,
    matmul,
    outer,
    plus,
    transpose,
    weighted_rows,
)
from forms import Array, is_array, is_named, is_real
from layers import check_bias, check_gradient, check_rows_of_X, check_sparse_matrix
from products import spmm


def gat_forward(A, X, W, a_recv, a_send, norm, form, slope, b, relu, dropout, keys):
    H = X if W is None else matmul(X, W)
    n_dst, heads = row_count(A.graph), len(a_recv)
    Z = zeros(X.dtype, n_dst, 0)
    all_sigma, all_tau, all_P = [], [], []
    for k in range(heads):
        H_k = head(H, k, heads)
        sigma = [dot(H_k[u], a_recv[k]) for u in range(n_dst)]
        tau = [dot(H_k[v], a_send[k]) for v in range(X.shape[0])]
        beta = scores(A.graph, sigma, tau, form, slope)
        P = attention(A.graph, A.data, beta, norm)
        Q = dropped(A.graph, P, k, heads, dropout, keys)
        Z = beside(Z, weighted_sums(A.graph, Q, H_k))
        all_sigma.append(sigma)
        all_tau.append(tau)
        all_P.append(P)
    X_out = activate(Z, b, relu)
    return {"X_out": X_out, "H": H, "sigma": all_sigma, "tau": all_tau, "P": all_P}


def head(H, k, heads):
    """The columns of head k."""
    width = H.shape[1] // heads
    return columns(H, k * width, (k + 1) * width)


def weighted_sums(graph, values, H):
    return spmm(graph, Array(values, H.dtype, [len(values)]), H)


def gat_backward(
    A,
    X,
    W,
    a_recv,
    a_send,
    out,
    G_out,
    norm,
    form,
    slope,
    b,
    relu,
    dropout,
    keys,
    need_dx,
):
    G = masked(G_out, out.X_out, relu)  # GAT.1
    heads = len(a_recv)
    dH = zeros(X.dtype, X.shape[0], 0)
    da_recv, da_send = [], []
    for k in range(heads):
        H_k, G_k, P = head(out.H, k, heads), head(G, k, heads), out.P[k]
        dQ = [0.0] * entry_count(A.graph)
        for u in range(row_count(A.graph)):
            for j in entries(A.graph, u):
                dQ[j] = dot(G_k[u], H_k[A.graph.indices[j]])  # GAT.2
        Q = dropped(A.graph, P, k, heads, dropout, keys)  # GAT.3
        dP = dropped(A.graph, dQ, k, heads, dropout, keys)  # GAT.4
        dbeta = scores_gradient(A.graph, A.data, P, dP, norm)  # GAT.5
        dsigma, dtau = score_gradients(  # GAT.6 to GAT.13
            A.graph, out.sigma[k], out.tau[k], dbeta, form, slope
        )
        transposed = [Q[j] for j in A.perm]
        dH_k = weighted_sums(A.graph_t, transposed, G_k)  # GAT.14
        dH_k = plus(dH_k, outer(dsigma, a_recv[k], X.dtype))  # GAT.15
        dH_k = plus(dH_k, outer(dtau, a_send[k], X.dtype))  # GAT.16
        dH = beside(dH, dH_k)
        da_recv.append(weighted_rows(H_k, dsigma))  # GAT.17
        da_send.append(weighted_rows(H_k, dtau))  # GAT.18
    return {
        "W": matmul(transpose(X), dH),  # GAT.19
        "a_recv": da_recv,
        "a_send": da_send,
        "X": matmul(dH, transpose(W)) if need_dx else None,  # GAT.20
        "b": None if b is None else column_sums(G),  # GAT.21
    }


def check_gat_forward(A, X, W, a_recv, a_send, norm, form, slope, b, relu, dropout, keys):
    yield "type", "`relu` is neither true nor false", not is_switch(relu)
    yield "type", "`slope` or `dropout` is no number", not (is_real(slope) and is_real(dropout))
    yield from check_sparse_matrix(A, X, False)
    yield (
        "type",
        "`W` is neither null nor an array of the dtype of `X`",
        not (W is None or is_like(W, X)),
    )
    yield from check_attention_arguments(
        A, X, W, a_recv, a_send, norm, form, slope, b, dropout, keys
    )


def check_attention_arguments(A, X, W, a_recv, a_send, norm, form, slope, b, dropout, keys):
    yield (
        "type",
        "`a_recv` or `a_send` is no array of the dtype of `X`",
        not (is_like(a_recv, X) and is_like(a_send, X)),
    )
    yield (
        "type",
        "`keys` is neither null nor an array of uint64",
        keys is not None and not (is_array(keys) and keys.dtype == "uint64"),
    )
    yield (
        "value",
        "`norm` is not `softmax`, `row` or `none`",
        norm not in ("softmax", "row", "none"),
    )
    yield "value", "`form` is not `joint` or `split`", form not in ("joint", "split")
    yield "value", "not 0 <= `slope` < infinity", not 0 <= slope < math.inf
    yield "value", "not 0 <= `dropout` < 1", not 0 <= dropout < 1
    yield "value", "`keys` is null, and `dropout` is not 0", keys is None and dropout != 0
    yield (
        "value",
        "`keys` has not one key for each row",
        keys is not None and not has_shape(keys, row_count(A.graph)),
    )
    yield from check_rows_of_X(A, X)
    yield (
        "value",
        "`W` has not one row for each column of `X`",
        W is not None and not has_shape(W, X.shape[1], None),
    )
    yield (
        "value",
        "`a_recv` is no matrix, or `a_send` has not its shape",
        not has_shape(a_recv, None, None) or not has_shape(a_send, *a_recv.shape),
    )
    width = X.shape[1] if W is None else W.shape[1]
    yield (
        "value",
        "`a_recv` has no rows, or not one number for each column of X W",
        a_recv.shape[0] == 0 or a_recv.shape[0] * a_recv.shape[1] != width,
    )
    yield from check_bias(b, X, width)


def check_gat_backward(
    A, X, W, a_recv, a_send, out, G_out, norm, form, slope, b, relu, dropout, keys, need_dx
):
    yield (
        "type",
        "`relu` or `need_dx` is neither true nor false",
        not (is_switch(relu) and is_switch(need_dx)),
    )
    yield "type", "`slope` or `dropout` is no number", not (is_real(slope) and is_real(dropout))
    yield from check_sparse_matrix(A, X, True)
    yield "type", "`W` is no array of the dtype of `X`", not is_like(W, X)
    yield from check_attention_arguments(
        A, X, W, a_recv, a_send, norm, form, slope, b, dropout, keys
    )
    yield "type", "`out` is no `GatOutput`", not is_named(out, "GatOutput")
    parts = (out.H, out.sigma, out.tau, out.P)
    yield (
        "type",
        "a part of `out` is no array of the dtype of `X`",
        not all(is_like(part, X) for part in parts),
    )
    e, heads = entry_count(A.graph), a_recv.shape[0]
    n_dst, n_src, width = row_count(A.graph), X.shape[0], W.shape[1]
    yield "value", "`A.perm` is null", A.perm is None
    yield "type", "`A.perm` is no array of integers", not is_integers(A.perm)
    yield (
        "value",
        "`A.perm` has not one entry of `graph` for each of `graph_t`",
        not (has_shape(A.perm, entry_count(A.graph_t)) and all_within(A.perm, 0, e)),
    )
    yield (
        "value",
        "`H`, `sigma`, `tau` or `P` of `out` has not the shape that the forward pass gives it",
        not (
            has_shape(out.H, n_src, width)
            and has_shape(out.sigma, heads, n_dst)
            and has_shape(out.tau, heads, n_src)
            and has_shape(out.P, heads, e)
        ),
    )
    yield from check_gradient(out.X_out, G_out, X, n_dst, width)
