"""Graph attention (JPDC'21 Equations 6 and 7) and its gradients."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.bfloat16 import bfloat16_products
from refimpl._support.numpy_warnings import quiet
from refimpl.adjacency import Adjacency
from refimpl.block import entries_of_rows
from refimpl.hints import Absent, F, Float, Floats, Matrix, Words
from refimpl.layers import _arguments
from refimpl.layers.dense import activate, masked
from refimpl.profiling import count, timed
from refimpl.propagation import matmul, spmm
from refimpl.streams import Stream

NORMS = ("softmax", "row", "none")
FORMS = ("joint", "split")


class GatOutput(NamedTuple):
    """What `gat_forward` gives, and keeps for the backward pass.

    Attributes
    ----------
    X_out : (n_dst, h) float array
    H : (n_src, h) float array
        X W.
    sigma, tau : (heads, n_dst) and (heads, n_src) float arrays
        The receivers' and the senders' shares of the scores.
    P : (heads, e) float array
        The attention matrix of each head, on A's entries, before dropout; 0 for entries in no row.
    """

    X_out: Matrix
    H: Matrix
    sigma: Matrix
    tau: Matrix
    P: Matrix


class GatGradients(NamedTuple):
    """Gradients of the loss; X and b are None where they were not asked for.

    What `gat_backward` returns; all of one dtype.

    Attributes
    ----------
    W : (f, h) float array
    a_recv, a_send : (heads, h / heads) float arrays
    X : (n_src, f) float array or None
    b : (h,) float array or None
    """

    W: Matrix
    a_recv: Matrix
    a_send: Matrix
    X: Matrix | Absent
    b: Floats | Absent


def gat_arguments(
    A, X, W, a_recv, a_send, norm, form, slope, b, relu, dropout, keys, backward=False
):
    """Check the arguments of `gat_forward`, which the backward pass takes too; return them."""
    X = _arguments.adjacency("A", A, X, backward)
    require.choice("norm", norm, NORMS)
    require.choice("form", form, FORMS)
    slope, dropout = require.real("slope", slope, 0), require.rate("dropout", dropout)
    require.switch("relu", relu)
    keys = row_keys(keys, A.graph.n_dst, dropout)
    width = X.shape[1]
    if W is not None or backward:
        W = require.floats("W", W, (width, None), X.dtype)
        width = W.shape[1]
    a_recv = require.floats("a_recv", a_recv, (None, None), X.dtype)
    a_send = require.floats("a_send", a_send, a_recv.shape, X.dtype)
    if a_recv.size != width or not len(a_recv):
        raise ValueError(
            f"a_recv must have heads x (h / heads) = {width} numbers like the columns of W, "
            f"got shape {a_recv.shape}"
        )
    if backward and A.perm is None:
        raise ValueError("A must have perm: see loop_norm")
    b = _arguments.bias(b, width, X.dtype)
    return A, X, W, a_recv, a_send, norm, form, slope, b, relu, dropout, keys


def row_keys(keys, rows, dropout):
    """Check the keys of the rows' dropout, which may be None where nothing is dropped."""
    if keys is None:
        if dropout:
            raise ValueError(f"keys must be given where dropout is {dropout}, got None")
        return None
    keys = require.array("keys", keys) if isinstance(keys, np.ndarray) else keys
    if not isinstance(keys, np.ndarray) or keys.dtype != np.uint64:
        raise TypeError(
            f"keys must be a uint64 array, got {getattr(keys, 'dtype', type(keys).__name__)}"
        )
    if keys.shape != (rows,):
        raise ValueError(f"keys must have shape ({rows},), got {keys.shape}")
    return require.plain(keys)


@quiet
@checked_by(gat_arguments)
def gat_forward(
    A: Adjacency,
    X: Matrix[F],
    W: Matrix[F] | None,
    a_recv: Matrix[F],
    a_send: Matrix[F],
    *,
    norm: Literal["softmax", "row", "none"] = "softmax",
    form: Literal["joint", "split"] = "joint",
    slope: Float = 0.2,
    b: Floats[F] | None = None,
    relu: bool = True,
    dropout: Float = 0.0,
    keys: Words | None = None,
) -> GatOutput:
    """Return ReLU([Q_1 H_1 || Q_2 H_2 || ..] + b), where H = X W, and Q_k is head k's attention.

    The score of entry (u, v) is phi(sigma_u + tau_v), sigma = H a_recv of the receiver u and
    tau = H a_send of the sender v; phi is a LeakyReLU. Equation 7 as printed takes the scores
    themselves (``norm="none"``); the attention that it cites makes them a softmax over each row
    (E-E6). In training some of these weights may be dropped, as Velickovic et al. 2018 do; Q_k is
    what is left, P_k where nothing is. JPDC'21 Equations 6 and 7. O(n_src f h + e h) time.

    Parameters
    ----------
    A : Adjacency
        From `loop_norm`: n_dst rows, n_src columns, e entries.
    X : (n_src, f) float32 or float64 array
    W : (f, h) array of the same dtype, or None
        None: X is the product with it already; that has no gradients.
    a_recv, a_send : (heads, h / heads) arrays of the same dtype
        Head k owns columns k h / heads and on.
    norm : {"softmax", "row", "none"}
        Softmax of each row's scores, scores times A's values, or scores as they are.
    form : {"joint", "split"}
        phi(sigma + tau), or phi(sigma) + phi(tau) as in the authors' code (E-E12).
    slope : float, at least 0
        Of phi below 0.
    b : (h,) array of the same dtype, optional
    relu : bool
    dropout : float in [0, 1)
        The share of the attention weights, after `norm`, that is set to 0; the others are over
        1 - dropout. Head k keeps entry i of row u, from 0, if draw i heads + k of the stream
        ``keys[u]`` is at least `dropout`.
    keys : (n_dst,) uint64 array, optional
        A key for each row; needed where something is dropped.

    Returns
    -------
    GatOutput

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    H = X if W is None else matmul(X, W)
    heads = np.split(H, len(a_recv), axis=1)
    sigma = scores([H_k[: A.graph.n_dst] for H_k in heads], a_recv)
    tau = scores(heads, a_send)
    with timed("aggregation"):
        u, j = live_entries(A.graph)
        v = A.graph.indices[j]
        beta = np.zeros((len(heads), A.graph.e), X.dtype)
        if form == "joint":
            beta[:, j] = leaky(sigma[:, u] + tau[:, v], slope)
        else:
            beta[:, j] = leaky(sigma, slope)[:, u] + leaky(tau, slope)[:, v]
        P = attention(A.graph, A.data, beta, norm)
        Q = dropped(P, kept_entries(A.graph, len(heads), dropout, keys), dropout)
    Z = [spmm(A.graph, Q_k, H_k) for Q_k, H_k in zip(Q, heads, strict=True)]
    return GatOutput(activate(np.concatenate(Z, axis=1), b, relu), H, sigma, tau, P)


def gat_backward_arguments(
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
    overwrite,
):
    """Check the arguments of `gat_backward`; return them, and A with a copy of its `perm`."""
    options = norm, form, slope, b, relu, dropout, keys
    A, X, W, a_recv, a_send, *options = gat_arguments(
        A, X, W, a_recv, a_send, *options, backward=True
    )
    require.switch("need_dx", need_dx)
    A = A._with_perm(require.positions("A.perm", A.perm, A.graph_t.e, A.graph.e))
    n_dst, n_src, heads = A.graph.n_dst, A.graph.n_src, len(a_recv)
    out = require.record("out", out, GatOutput)
    X_out, G_out = _arguments.output(out.X_out, G_out, (n_dst, W.shape[1]), X, overwrite)
    shapes = {
        "H": (n_src, W.shape[1]),
        "sigma": (heads, n_dst),
        "tau": (heads, n_src),
        "P": (heads, A.graph.e),
    }
    parts = {
        name: require.floats(f"out.{name}", getattr(out, name), shape, X.dtype)
        for name, shape in shapes.items()
    }
    out = GatOutput(X_out, **parts)
    return A, X, W, a_recv, a_send, out, G_out, *options, need_dx, overwrite


@quiet
@checked_by(gat_backward_arguments)
def gat_backward(
    A: Adjacency,
    X: Matrix[F],
    W: Matrix[F],
    a_recv: Matrix[F],
    a_send: Matrix[F],
    out: GatOutput,
    G_out: Matrix[F],
    *,
    norm: Literal["softmax", "row", "none"] = "softmax",
    form: Literal["joint", "split"] = "joint",
    slope: Float = 0.2,
    b: Floats[F] | None = None,
    relu: bool = True,
    dropout: Float = 0.0,
    keys: Words | None = None,
    need_dx: bool,
    overwrite: bool = False,
) -> GatGradients:
    """Return the gradients of a GAT layer from the gradient of its output.

    H acts three times: through Q H, and through the scores of receivers and senders. Besides
    sparse products this takes the inner product of two rows for every entry, and sums over the
    entries of a row and of a column (E-E7). Lines bear the numbers of the equations of
    docs/models.md, for one head; dY is the gradient of the loss with respect to Y.
    O(n_src f h + e h) time.

    Parameters
    ----------
    A, X, W, a_recv, a_send, norm, form, slope, b, relu, dropout, keys
        As given to `gat_forward`; A has `data_t` and `perm`.
    out : GatOutput
        What `gat_forward` returned.
    G_out : (n_dst, h) array of the dtype of X
        Gradient of the loss with respect to ``out.X_out``.
    need_dx : bool
    overwrite : bool
        Whether `G_out` and ``out.X_out`` may be written over: what they held is lost, and
        results may lie in them.

    Returns
    -------
    GatGradients

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    G = masked(G_out, out.X_out, relu, overwrite)  # GAT.1: G = dX_out where X_out > 0, else 0
    kept = kept_entries(A.graph, len(a_recv), dropout, keys)
    dH, da_recv, da_send = np.empty_like(out.H), np.empty_like(a_recv), np.empty_like(a_send)
    n_dst = A.graph.n_dst
    for k, columns in enumerate(np.split(np.arange(W.shape[1]), len(a_recv))):
        H_k, G_k, P_k = out.H[:, columns], G[:, columns], out.P[k]
        sigma, tau = out.sigma[k], out.tau[k]
        dQ = entry_products(A.graph, G_k, H_k)  # GAT.2: dQ_uv = <G_u, H_v>
        with timed("aggregation"):
            Q_k = dropped(P_k, kept[k], dropout)  # GAT.3: Q = P / (1 - p) where kept, else 0
            dP = dropped(dQ, kept[k], dropout)  # GAT.4: dP = dQ / (1 - p) where kept, else 0
            dbeta = scores_gradient(A, P_k, dP, norm)  # GAT.5: dbeta = P (dP - sum_w P_uw dP_uw)
            if form == "joint":
                E = entry_sums(A.graph, sigma, tau)  # GAT.6: E_uv = sigma_u + tau_v
                dE = dbeta * leaky_slope(E, slope)  # GAT.7: dE_uv = dbeta_uv phi'(E_uv)
                dsigma = row_sums(A.graph, dE)  # GAT.8: dsigma_u = sum_v dE_uv
                dtau = row_sums(A.graph_t, dE[A.perm])  # GAT.9: dtau_v = sum_u dE_uv
            else:
                dsigma = row_sums(A.graph, dbeta)  # GAT.10: dsigma_u = sum_v dbeta_uv
                dsigma *= leaky_slope(sigma, slope)  # GAT.11: dsigma_u *= phi'(sigma_u)
                dtau = row_sums(A.graph_t, dbeta[A.perm])  # GAT.12: dtau_v = sum_u dbeta_uv
                dtau *= leaky_slope(tau, slope)  # GAT.13: dtau_v *= phi'(tau_v)
        dH[:, columns] = spmm(A.graph_t, Q_k[A.perm], G_k)  # GAT.14: dH = Q^T G
        dH[:n_dst, columns] += outer(dsigma, a_recv[k])  # GAT.15: dH += dsigma a_recv^T
        dH[:, columns] += outer(dtau, a_send[k])  # GAT.16: dH += dtau a_send^T
        da_recv[k] = apply(H_k[:n_dst].T, dsigma)  # GAT.17: da_recv = H^T dsigma
        da_send[k] = apply(H_k.T, dtau)  # GAT.18: da_send = H^T dtau
    dW = matmul(X.T, dH)  # GAT.19: dW = X^T dH
    dX = matmul(dH, W.T) if need_dx else None  # GAT.20: dX = dH W^T
    db = None if b is None else G.sum(axis=0)  # GAT.21: db = sum_u G_u
    return GatGradients(dW, da_recv, da_send, dX, db)


def scores(heads, a):
    """Return H_k a_k for every head k."""
    return np.stack([apply(H_k, a_k) for H_k, a_k in zip(heads, a, strict=True)])


def apply(M, x):
    """Return M x, for a vector x."""
    with bfloat16_products(False):  # no product of rows with a matrix of weights
        return matmul(M, x[:, None])[:, 0]


def outer(x, y):
    """Return x y^T, for vectors x and y."""
    with bfloat16_products(False):
        return matmul(x[:, None], y[None])


def leaky(x, slope):
    """Return phi(x), the LeakyReLU."""
    return np.where(x > 0, x, x * x.dtype.type(slope))


def leaky_slope(x, slope):
    """Return the derivative of `leaky`, that from below at 0."""
    return np.where(x > 0, x.dtype.type(1), x.dtype.type(slope))


def attention(graph, data, beta, norm):
    """Return P from the scores `beta`, one row of it a head."""
    if norm == "none":
        return beta
    P = np.zeros_like(beta)
    if norm == "row":
        _, j = live_entries(graph)
        P[:, j] = beta[:, j] * data[j]
        return P
    for start, end in zip(graph.start, graph.end, strict=True):
        row = beta[:, start:end]
        exponentials = np.exp(row - row.max(axis=1, keepdims=True, initial=-np.inf))
        P[:, start:end] = exponentials / exponentials.sum(axis=1, keepdims=True)
    return P


def kept_entries(graph, heads, dropout, keys):
    """Return which entries each head keeps, all that are in a row where nothing is dropped."""
    kept = np.zeros((heads, graph.e), bool)
    if not dropout:
        kept[:, live_entries(graph)[1]] = True
        return kept
    for u, (start, end) in enumerate(zip(graph.start, graph.end, strict=True)):
        draws = Stream(int(keys[u])).uniforms(heads * (end - start)).reshape(-1, heads)
        kept[:, start:end] = (draws >= dropout).T
    return kept


def dropped(values, kept, dropout):
    """Return what dropout makes of attention weights; of a gradient as well."""
    return np.where(kept, values * values.dtype.type(1 / (1 - dropout)), 0)


def scores_gradient(A, P, dP, norm):
    """Return dbeta from dP for one head: the gradient of `attention`."""
    if norm == "none":
        return dP
    dbeta = np.zeros_like(dP)
    if norm == "row":
        _, j = live_entries(A.graph)
        dbeta[j] = dP[j] * A.data[j]
        return dbeta
    for start, end in zip(A.graph.start, A.graph.end, strict=True):
        p, dp = P[start:end], dP[start:end]
        dbeta[start:end] = p * (dp - (p * dp).sum())
    return dbeta


@timed("aggregation")
def entry_products(graph, G, H):
    """Return the inner product of row u of G and row v of H for every entry (u, v)."""
    count(sparse=graph.e * G.shape[1])
    products = np.zeros(graph.e, G.dtype)
    for u in range(graph.n_dst):
        for j in range(graph.start[u], graph.end[u]):
            products[j] = G[u] @ H[graph.indices[j]]
    return products


def entry_sums(graph, sigma, tau):
    """Return sigma_u + tau_v for every entry (u, v)."""
    u, j = live_entries(graph)
    sums = np.zeros(graph.e, sigma.dtype)
    sums[j] = sigma[u] + tau[graph.indices[j]]
    return sums


def row_sums(graph, values):
    """Return the sum of each row's values, entry after entry."""
    sums = np.zeros(graph.n_dst, values.dtype)
    u, j = live_entries(graph)
    np.add.at(sums, u, values[j])
    return sums


def live_entries(graph):
    """Return the row and the position of every entry; a pruned block has others as well."""
    rows = np.repeat(np.arange(graph.n_dst), graph.end - graph.start)
    return rows, entries_of_rows(graph.start, graph.end)
