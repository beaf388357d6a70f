"""refimpl/propagation.py on kernels, and the products that the layers are made of."""

from time import perf_counter

import numpy as np
import scipy.linalg.cython_blas  # noqa: F401 -- the BLAS of the kernels

from fastimpl import _adjacency, _bfloat16, _blas, _blas_choice, _propagation
from fastimpl._buffers import empty, empty_like
from fastimpl._build import max_threads
from fastimpl._trials import quicker
from fastimpl._twin import twin
from refimpl._support.bfloat16 import rounds
from refimpl._support.row_block_products import alike, product_of_parts
from refimpl._support.thread_limits import blas_was_loaded, one_blas_thread
from refimpl.adjacency import Adjacency
from refimpl.layers.dense import activate
from refimpl.profiling import count, record, timed
from refimpl.propagation import product_arguments, transposed_arguments

PRIVATE_CACHE = 2**20  # bytes of a core's second-level cache; larger ones are as good
ENTRIES_A_ROW = 8  # from here on it pays to copy a part of the columns before its rows are read

blas_was_loaded()
_blas_choice.choose()


@twin
def spmm(graph, data, X):
    graph, data, X = product_arguments(graph, data, X)
    return spmm_into(graph, data, X, empty((graph.n_dst, X.shape[1]), X.dtype))


@twin
def spmm_t(graph, data, transpose_perm, G):
    graph, data, perm, G = transposed_arguments(graph, data, transpose_perm, G)
    data_t = empty_like(data)
    _adjacency.permute(data, perm, data_t)
    return spmm_into(graph, data_t, G, empty_like(G))


@timed("aggregation")
def spmm_into(graph, data, X, Y, *, bias=None, relu=False):
    """Write A X + bias, or its ReLU, to Y and return it.

    X and Y may be some columns of wider arrays. The bits are the same with and without parts.
    """
    count(sparse=graph.e * X.shape[1])
    if may_pack(graph, X):
        quicker(
            ("spmm", *load_of(graph, X)),
            lambda: _sums(graph, data, X, Y, bias, relu, True),
            lambda: _sums(graph, data, X, Y, bias, relu, False),
        )
    else:
        _sums(graph, data, X, Y, bias, relu, False)
    return Y


def may_pack(graph, X):
    """Whether a sparse product may copy parts of the columns: see docs/propagation.md."""
    parts = X.shape[1] * X.itemsize // _propagation.part_bytes
    return (
        graph.n_dst > 0
        and parts >= max_threads()
        and graph.n_src * _propagation.part_bytes <= PRIVATE_CACHE
        and graph.e >= ENTRIES_A_ROW * graph.n_dst
    )


def load_of(graph, X):
    """Return what the time of a sparse product depends on, to a factor of two."""
    degree = graph.e // graph.n_dst
    return max_threads(), X.dtype, X.shape[1], graph.n_src.bit_length(), degree.bit_length()


def _sums(graph, data, X, Y, bias, relu, in_parts):
    packed = None
    if in_parts:
        width = _propagation.part_bytes // X.itemsize
        packed = empty((max_threads(), graph.n_src * width), X.dtype)
    _propagation.spmm(graph.start, graph.end, graph.indices, data, X, Y, bias, relu, packed)


def matmul_into(A, B, C, *, transpose_b=False, add=False, bias=None, relu=False):
    """Write A op(B) + bias, or its ReLU, to C (or add it) and return C.

    Each matrix may be some columns of a wider one. A may be an Adjacency, with B itself.
    """
    if not isinstance(A, Adjacency):
        return _dense_into(A, B, C, transpose_b, add, bias, relu)
    if not add:
        return spmm_into(A.graph, A.data, B, C, bias=bias, relu=relu)
    C += spmm_into(A.graph, A.data, B, empty(C.shape, C.dtype))
    C[:] = activate(C, bias, relu)
    return C


@timed("weights")
def _dense_into(A, B, C, transpose_b, add, bias, relu):
    count(dense=A.shape[0] * A.shape[1] * C.shape[1])
    with one_blas_thread():
        A, B, low = _factors(A, B, _propagation.rows_of_a_block(len(A)), A.shape[1])
        if alike.get() and add and not transpose_b:
            T = empty(C.shape, C.dtype)
            product_of_parts(_products_of, A, B, T)
            C += T
            C[:] = activate(C, bias, relu)
        elif alike.get() and not transpose_b:
            product_of_parts(_products_of, A, B, C, bias=bias, relu=relu)
        else:
            _propagation.matmul(A, B, transpose_b, C, add, bias, relu, low=low)
    return C


def _factors(A, B, rows, cols):
    """Return the factors of a product as they are multiplied, and what kernels need to round them.

    Where the BLAS multiplies bfloat16, a thread rounds a block of A, of at most `rows` by `cols`
    numbers, when it multiplies the block. Any other BLAS is given rounded factors in float32, and
    the product takes longer than without rounding.
    """
    if not rounds(A) or not A.size or not B.size:
        return A, B, None
    if _blas.multiplies_bfloat16() and not alike.get():
        low = empty((len(B), _bfloat16.whole_lines(B.shape[1])), np.uint16)
        _bfloat16.lowered(B, low)
        room = empty((max_threads(), rows * _bfloat16.whole_lines(cols)), np.uint16)
        return A, B, (low, room)
    return _rounded(A), _rounded(B), None


def _rounded(X):
    out = empty(X.shape, X.dtype)
    _bfloat16.rounded(X, out)
    return out


@timed("weights")
def matmul_apart_into(A, B, C, D, *, bias=None, relu=False):
    """Write A B to C and D, side by side, what is in D + bias or its ReLU."""
    count(dense=A.shape[0] * A.shape[1] * B.shape[1])
    rows = _propagation.rows_of_a_block(len(A))
    team = min(max_threads(), -(-len(A) // rows))
    room = empty((team, rows, B.shape[1]), A.dtype)
    with one_blas_thread():
        A, B, low = _factors(A, B, rows, A.shape[1])
        _propagation.matmul_apart(A, B, C, D, bias, relu, room, low)


def _products_of(A, B, C, rows, bias=None, relu=False):
    _propagation.matmul(A, B, False, C, False, bias, relu, rows)


def matmul_t_into(A, B, C):
    """Write A^T B to C and return it: what every gradient of a weight is."""
    if isinstance(A, Adjacency):
        return spmm_into(A.graph_t, A.data_t, B, C)
    return _dense_t_into(A, B, C)


@timed("weights")
def _dense_t_into(A, B, C):
    count(dense=A.shape[0] * A.shape[1] * B.shape[1])
    sums = empty((_propagation.partial_sums(len(A), len(C)), *C.shape), C.dtype)
    with one_blas_thread():
        A, B, low = _factors(A, B, *_propagation.block_of_a_sum(len(A), len(C)))
        _propagation.matmul_t(A, B, C, sums, low)
    return C


def spmm_matmul_into(graph, data, X, Y, B, C, *, M=None, transpose_b=False, bias=None, relu=False):
    """Write A X to Y, and M op(B) + bias, or its ReLU, to C; Y is M, or some of its columns."""
    M = Y if M is None else M
    options = {"transpose_b": transpose_b, "bias": bias, "relu": relu}

    def one_by_one():
        spmm_into(graph, data, X, Y)
        return matmul_into(M, B, C, **options)

    def together():
        return _fused(graph, data, X, Y, M, B, C, **options)

    rounded_before = rounds(M) and not _blas.multiplies_bfloat16()
    if alike.get() or rounded_before or not Y.size or not C.size:
        return one_by_one()
    if not may_pack(graph, X):
        return together()
    return quicker(("fused", *load_of(graph, X), C.shape[1]), one_by_one, together)


def _fused(graph, data, X, Y, M, B, C, transpose_b, bias, relu):
    count(sparse=graph.e * X.shape[1], dense=M.shape[0] * M.shape[1] * C.shape[1])
    begin = perf_counter()
    with one_blas_thread():
        _, B, low = _factors(M, B, _propagation.rows_of_a_block(len(M)), M.shape[1])
        parts = _propagation.spmm_matmul(
            graph.start, graph.end, graph.indices, data, X, Y, M, B, transpose_b, C, bias, relu, low
        )
    seconds, whole = perf_counter() - begin, sum(parts) or 1.0
    for part, share in zip(("aggregation", "weights"), parts, strict=True):
        record(part, seconds * share / whole)
    return C
