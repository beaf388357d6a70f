"""MixHop: several powers of the adjacency side by side (JPDC'21 Equation 5), and its gradients.

Write A^k for the first k hops one after another: on a graph every hop is the same A, on sampled
neighbours each has its own. A split depth J says which powers act before the weights: those up
to J on X itself, once for all branches; the rest on the narrower products (section 6.1 gives no
rule for it, E-F4; `mixhop_depth` does).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.numpy_warnings import quiet
from refimpl.adjacency import Adjacency
from refimpl.hints import Absent, F, Floats, Matrix
from refimpl.layers import _arguments
from refimpl.layers.dense import activate, masked
from refimpl.propagation import matmul, spmm


class MixHopOutput(NamedTuple):
    """What `mixhop_forward` gives, and keeps for the backward pass.

    Attributes
    ----------
    X_out : (n_dst, w_0 + .. + w_K) float array
    powers : tuple of (rows of hop k, f) float arrays
        A X, .., A^J X.
    """

    X_out: Matrix
    powers: tuple[Matrix, ...]


class MixHopGradients(NamedTuple):
    """Gradients of the loss, W one a branch; X and b are None where they were not asked for.

    What `mixhop_backward` returns; all of one dtype.

    Attributes
    ----------
    W : tuple of K + 1 (f, w_k) float arrays
    X : (n_src, f) float array or None
    b : (w_0 + .. + w_K,) float array or None
    """

    W: tuple[Matrix, ...]
    X: Matrix | Absent
    b: Floats | Absent


def mixhop_arguments(hops, X, W, depth, b, relu, backward=False):
    """Check the arguments of `mixhop_forward`, which the backward pass takes too; return them."""
    X = require.floats("X", X, (None, None))
    require.switch("relu", relu)
    if not isinstance(hops, tuple | list) or not isinstance(W, tuple | list):
        raise TypeError("hops and W must be tuples or lists")
    hops, W = tuple(hops), tuple(W)
    if len(W) != len(hops) + 1:
        raise ValueError(f"W must have {len(hops) + 1} matrices for {len(hops)} hops, got {len(W)}")
    depth = require.integer("depth", depth, 0, len(hops))
    rows = X[:, :0]
    for i, A in enumerate(hops):
        _arguments.adjacency(f"hops[{i}]", A, rows, backward)
        if A.data.dtype != X.dtype:
            raise TypeError(f"hops[{i}].data must be {X.dtype} like X, got {A.data.dtype}")
        rows = np.empty((A.graph.n_dst, 0), X.dtype)
    W = tuple(
        require.floats(f"W[{k}]", W_k, (X.shape[1], None), X.dtype) for k, W_k in enumerate(W)
    )
    b = _arguments.bias(b, sum(W_k.shape[1] for W_k in W), X.dtype)
    return hops, X, W, depth, b, relu


@quiet
@checked_by(mixhop_arguments)
def mixhop_forward(
    hops: Sequence[Adjacency],
    X: Matrix[F],
    W: Sequence[Matrix[F]],
    depth: int,
    *,
    b: Floats[F] | None = None,
    relu: bool = True,
) -> MixHopOutput:
    """Return ReLU([X W_0 || A X W_1 || .. || A^K X W_K] + b).

    JPDC'21 Equation 5 (E-E5). With e entries in the largest hop and w = w_0 + .. + w_K,
    O(K e (f + w) + n_src f w) time.

    Parameters
    ----------
    hops : sequence of K Adjacency
        From `sym_norm`; the first is applied to X first. The rows of each are the columns of the
        next; n_dst is the number of rows of the last. For a graph, K times the same.
    X : (n_src, f) float32 or float64 array
    W : sequence of K + 1 arrays (f, w_k) of the same dtype
        K + 1 branches, the first of them without a graph (E-E5).
    depth : int
        J, from 0 to K: it changes the cost, and the result by rounding only.
    b : (w_0 + .. + w_K,) array of the same dtype, optional
    relu : bool

    Returns
    -------
    MixHopOutput

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    B = [X]
    for A in hops[:depth]:
        B.append(spmm(A.graph, A.data, B[-1]))
    n_dst = rows_after(hops, X)
    branches = []
    for k in range(len(W)):
        j = min(k, depth)
        Z = matmul(B[j], W[k])
        for A in hops[j:k]:
            Z = spmm(A.graph, A.data, Z)
        branches.append(Z[:n_dst])
    Z = np.concatenate(branches, axis=1)
    return MixHopOutput(activate(Z, b, relu), tuple(B[1:]))


def mixhop_backward_arguments(hops, X, W, out, G_out, depth, b, relu, need_dx, overwrite):
    """Check the arguments of `mixhop_backward`; return them."""
    hops, X, W, depth, b, relu = mixhop_arguments(hops, X, W, depth, b, relu, backward=True)
    require.switch("need_dx", need_dx)
    shape = (rows_after(hops, X), sum(W_k.shape[1] for W_k in W))
    out = require.record("out", out, MixHopOutput)
    X_out, G_out = _arguments.output(out.X_out, G_out, shape, X, overwrite)
    powers = require.sequence("out.powers", out.powers, "arrays")
    if len(powers) != depth:
        raise ValueError(f"out.powers must have {depth} arrays, got {len(powers)}")
    powers = tuple(
        require.floats(f"out.powers[{j}]", B, (hops[j].graph.n_dst, X.shape[1]), X.dtype)
        for j, B in enumerate(powers)
    )
    return hops, X, W, MixHopOutput(X_out, powers), G_out, depth, b, relu, need_dx, overwrite


@quiet
@checked_by(mixhop_backward_arguments)
def mixhop_backward(
    hops: Sequence[Adjacency],
    X: Matrix[F],
    W: Sequence[Matrix[F]],
    out: MixHopOutput,
    G_out: Matrix[F],
    depth: int,
    *,
    b: Floats[F] | None = None,
    relu: bool = True,
    need_dx: bool,
    overwrite: bool = False,
) -> MixHopGradients:
    """Return the gradients of a MixHop layer from the gradient of its output.

    With G_k the columns of branch k before the ReLU, R_k = (A^T)^(k - j) G_k for j = min(k, J):
    the gradient of W_k is (A^j X)^T R_k, and that of X is the sum of (A^T)^j R_k W_k^T, summed
    by Horner's rule. The papers have no gradient of Equation 5. With e entries in the largest hop
    and w = w_0 + .. + w_K, O(K e (f + w) + n_src f w) time.

    Parameters
    ----------
    hops, X, W, depth, b, relu
        As given to `mixhop_forward`; each hop has `data_t`.
    out : MixHopOutput
        What `mixhop_forward` returned.
    G_out : (n_dst, w_0 + .. + w_K) array of the dtype of X
        Gradient of the loss with respect to ``out.X_out``.
    need_dx : bool
    overwrite : bool
        Whether `G_out` and ``out.X_out`` may be written over: what they held is lost, and
        results may lie in them.

    Returns
    -------
    MixHopGradients

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    G = masked(G_out, out.X_out, relu, overwrite)
    B = [X, *out.powers]
    T = [np.zeros_like(power) for power in B]
    dW = []
    edges = np.cumsum([0, *(W_k.shape[1] for W_k in W)])
    for k in range(len(W)):
        j = min(k, depth)
        rows = rows_after(hops[:k], X)
        R = np.zeros((rows, W[k].shape[1]), X.dtype)
        R[: len(G)] = G[:, edges[k] : edges[k + 1]]
        for A in reversed(hops[j:k]):
            R = spmm(A.graph_t, A.data_t, R)
        dW.append(matmul(B[j].T, R))
        if need_dx:
            T[j] += matmul(R, W[k].T)
    db = None if b is None else G.sum(axis=0)
    if not need_dx:
        return MixHopGradients(tuple(dW), None, db)
    U = T[depth]
    for j in reversed(range(depth)):
        U = T[j] + spmm(hops[j].graph_t, hops[j].data_t, U)
    return MixHopGradients(tuple(dW), U, db)


def rows_after(hops, X):
    """Return the number of rows of X after `hops`."""
    return hops[-1].graph.n_dst if hops else len(X)
