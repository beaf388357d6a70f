"""refimpl/layers/rgcn.py on kernels: a dense product a relation, over the rows that have sources.

In a typed graph most nodes have sources in few relations. Pairs of a relation and a destination
that has sources in it are the rows of all that lies between X and the output; the sum over the
relations, and back over all entries, is one sparse product.
"""

import numpy as np

from fastimpl import _adjacency
from fastimpl._buffers import empty, empty_like
from fastimpl._twin import twin
from fastimpl.block import transpose_block
from fastimpl.layers._shared import bias_gradient, masked
from fastimpl.propagation import matmul_into, matmul_t_into, spmm_into, spmm_matmul_into
from refimpl._support.bfloat16 import bfloat16_products
from refimpl._support.numpy_warnings import quiet
from refimpl.block import Block
from refimpl.layers.rgcn import (
    RgcnGradients,
    RgcnOutput,
    destinations,
    rgcn_arguments,
    rgcn_backward_arguments,
)


@twin
@quiet
def rgcn_forward(A, X, W, W_self, *, coefficients=None, b=None, relu=True):
    A, X, W, W_self, C, b, relu = rgcn_arguments(A, X, W, W_self, coefficients, b, relu)
    n_dst, h = A[0].graph.n_dst, W_self.shape[1]
    rows = [destinations(A_r) for A_r in A]
    own, *parts = _parts(n_dst, rows)
    M = empty((parts[-1].stop - n_dst, X.shape[1]), X.dtype)
    P = empty((parts[-1].stop, h), X.dtype)  # of the nodes themselves, then of each pair
    matmul_into(X[:n_dst], W_self, P[own])
    means = []
    for A_r, W_r, at, part in zip(A, _mixed(W, C), rows, parts, strict=True):
        pattern = _rows_of(A_r.graph, at)
        means.append(M[part.start - n_dst : part.stop - n_dst])
        spmm_matmul_into(pattern, A_r.data, X, means[-1], W_r, P[part])
    sums, _ = transpose_block(_one_each(np.concatenate([np.arange(n_dst), *rows]), n_dst))
    ones = np.ones(sums.e, X.dtype)
    Z = spmm_into(sums, ones, P, empty((n_dst, h), X.dtype), bias=b, relu=relu)
    return RgcnOutput(Z, tuple(means))


@twin
@quiet
def rgcn_backward(
    A, X, W, W_self, out, G_out, *, coefficients=None, b=None, relu=True, need_dx, overwrite=False
):
    A, X, W, W_self, (X_out, means), G_out, C, b, *_ = rgcn_backward_arguments(
        A, X, W, W_self, out, G_out, coefficients, b, relu, need_dx, overwrite
    )
    G = masked(G_out, X_out, relu, overwrite)
    n_dst, rows = len(G), [destinations(A_r) for A_r in A]
    own, *parts = _parts(n_dst, rows)
    dX = P = None
    if need_dx:
        P = empty((parts[-1].stop, X.shape[1]), X.dtype)
        matmul_into(G, W_self, P[own], transpose_b=True)
    dW = empty((len(A), *W_self.shape), X.dtype)
    for r, W_r in enumerate(_mixed(W, C)):
        G_r = G if len(rows[r]) == n_dst else np.ascontiguousarray(G[rows[r]])
        matmul_t_into(means[r], G_r, dW[r])
        if P is not None:
            matmul_into(G_r, W_r, P[parts[r]], transpose_b=True)
    dW_self = matmul_t_into(X[:n_dst], G, empty_like(W_self))
    if P is not None:
        pattern, data_t = _returning(A, rows, X)
        dX = spmm_into(pattern, data_t, P, empty_like(X))
    dC = None
    if C is not None:
        flat, bases = dW.reshape(len(A), -1), np.stack(W).reshape(len(W), -1)
        with bfloat16_products(False):
            dC = matmul_into(flat, bases, empty_like(C), transpose_b=True)
            dW = matmul_t_into(C, flat, empty_like(bases)).reshape(len(W), *W_self.shape)
    return RgcnGradients(tuple(dW), dW_self, dC, dX, bias_gradient(b, G))


def _parts(n_dst, rows):
    """Return which rows of P are of the nodes themselves, and of the pairs of each relation."""
    ends = np.cumsum([0, n_dst, *map(len, rows)]).tolist()
    return [slice(start, end) for start, end in zip(ends[:-1], ends[1:], strict=True)]


def _mixed(W, C):
    """Return the matrix of each relation."""
    if C is None:
        return W
    bases = np.stack(W).reshape(len(W), -1)
    with bfloat16_products(False):  # no product of rows
        flat = matmul_into(C, bases, empty((len(C), bases.shape[1]), C.dtype))
    return list(flat.reshape(len(C), *W[0].shape))


def _rows_of(graph, rows):
    """Return the pattern of some rows of a Graph or Block."""
    if len(rows) == graph.n_dst:
        return graph
    return Block._trusted(graph.start[rows], graph.end[rows], graph.indices, graph.n_src)


def _one_each(columns, n):
    """Return the Block with one entry in each row."""
    start = np.arange(len(columns))
    return Block._trusted(start, start + 1, columns.astype(np.int32), n)


def _returning(A, rows, X):
    """Return the pattern and the values of what takes P to the gradient of X.

    Row u has an entry for u itself where it is a destination, and one for each pair that it is a
    source of.
    """
    n_dst = A[0].graph.n_dst
    own = np.arange(n_dst)
    start, end, first = [own], [own + 1], n_dst
    for A_r, at in zip(A, rows, strict=True):
        start.append(A_r.graph.start[at] + first)
        end.append(A_r.graph.end[at] + first)
        first += A_r.graph.e
    indices = np.concatenate([own.astype(np.int32), *(A_r.graph.indices for A_r in A)])
    data = np.concatenate([np.ones(n_dst, X.dtype), *(A_r.data for A_r in A)])
    pairs = Block._trusted(np.concatenate(start), np.concatenate(end), indices, len(X))
    pattern, perm = transpose_block(pairs)
    data_t = empty((len(perm),), X.dtype)
    _adjacency.permute(data, perm, data_t)
    return pattern, data_t
