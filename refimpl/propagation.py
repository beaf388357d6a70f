"""Products of a sparse and a dense matrix: features travel along the edges."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.bfloat16 import rounded, rounds
from refimpl._support.numpy_warnings import quiet
from refimpl._support.row_block_products import alike, product_of_parts
from refimpl._support.thread_limits import one_blas_thread
from refimpl.adjacency import Adjacency
from refimpl.block import Block
from refimpl.graph.csr import Graph, undirected
from refimpl.hints import F, Floats, Integers, Matrix
from refimpl.profiling import count, timed

__all__ = ["spmm", "spmm_t"]


def product_arguments(graph, data, X):
    """Check the arguments of `spmm`; return them."""
    require.instance("graph", graph, (Graph, Block), "a Graph (see as_graph) or a Block")
    data = require.floats("data", data, (graph.e,))
    return graph, data, require.floats("X", X, (graph.n_src, None), data.dtype)


@timed("aggregation")
@quiet
@checked_by(product_arguments)
def spmm(graph: Graph | Block, data: Floats[F], X: Matrix[F]) -> Matrix[F]:
    """Return A X, where A has the values `data` on the pattern of `graph`.

    Each row of the result is summed in the order of its entries, each product rounded before it
    is added: the result has one right answer to the last bit. The feature aggregation of JPDC'21
    Equation 1, by its definition. O(e f) time.

    Parameters
    ----------
    graph : Graph or Block
        n_dst rows, n_src columns and e entries; a Graph has n of both, and may be directed.
    data : (e,) float32 or float64 array
    X : (n_src, f) array of the same dtype

    Returns
    -------
    (n_dst, f) array of the same dtype

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.

    Examples
    --------
    >>> path = as_graph([(0, 1), (1, 2)], symmetrize=True)
    >>> spmm(path, np.ones(path.e), np.array([[1.0], [10.0], [100.0]]))
    array([[ 10.],
           [101.],
           [ 10.]])
    """
    count(sparse=graph.e * X.shape[1])
    Y = np.zeros((graph.n_dst, X.shape[1]), X.dtype)
    for v in range(graph.n_dst):
        for j in range(graph.start[v], graph.end[v]):
            Y[v] += data[j] * X[graph.indices[j]]
    return Y


def transposed_arguments(graph, data, transpose_perm, G):
    """Check the arguments of `spmm_t`; return them."""
    undirected(graph)
    data = require.floats("data", data, (graph.e,))
    perm = require.positions("transpose_perm", transpose_perm, graph.e)
    return graph, data, perm, require.floats("G", G, (graph.n, None), data.dtype)


@checked_by(transposed_arguments)
def spmm_t(graph: Graph, data: Floats[F], transpose_perm: Integers, G: Matrix[F]) -> Matrix[F]:
    """Return A^T G: the pattern of A is undirected, so only its values move (JPDC'21 section 5.2).

    O(e f) time.

    Parameters
    ----------
    graph : Graph
        Undirected, with n nodes and e edges.
    data : (e,) float32 or float64 array
        The values of A.
    transpose_perm : (e,) int32 array
        From `transpose_perm`.
    G : (n, f) array of the same dtype

    Returns
    -------
    (n, f) array of the same dtype

    Raises
    ------
    TypeError, ValueError
        If the graph is directed, or a dtype or shape does not fit.
    """
    return spmm(graph, data[np.asarray(transpose_perm)], G)


@singledispatch
@timed("weights")
@quiet
def matmul(A, B):
    """Return A B, on NumPy's BLAS, which rounds by how many threads it has; A may be sparse.

    Within `bfloat16_products` the factors are rounded first, unless A is sparse.
    """
    if rounds(A):
        A, B = rounded(A), rounded(B)
    count(dense=A.size * B.shape[1])
    with one_blas_thread():
        if not alike.get():
            return A @ B
        C = np.empty((len(A), B.shape[1]), A.dtype)
        product_of_parts(_products_of, np.ascontiguousarray(A), B, C)
        return C


@matmul.register(Adjacency)
def _sparse_product(A, B):
    return spmm(A.graph, A.data, B)


def _products_of(A, B, C, rows):
    for i in range(0, len(A), rows):
        np.matmul(A[i : i + rows], B, out=C[i : i + rows])
