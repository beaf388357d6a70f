"""refimpl/propagation.py on kernels, and the products that the layers are made of."""

from time import perf_counter

import numpy as np
import scipy.linalg.cython_blas  # noqa: F401 -- the BLAS of the kernels

from fastimpl import _adjacency, _bfloat16, _blas_choice, _propagation
from fastimpl._buffers import empty, empty_like
from fastimpl._build import max_threads
from fastimpl._chain import run
from fastimpl._trials import quicker
from fastimpl._twin import twin
from refimpl._support.bfloat16 import rounds
from refimpl._support.row_block_products import alike, product_of_parts
from refimpl._support.thread_limits import blas_was_loaded, one_blas_thread
from refimpl.adjacency import Adjacency
from refimpl.layers.dense import activate
from refimpl.profiling import count, record
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


def spmm_into(graph, data, X, Y, *, bias=None, relu=False):
    """Write A X + bias, or its ReLU, to Y and return it.

    X and Y may be some columns of wider arrays. The bits are the same with and without parts.
    """
    count(sparse=graph.e * X.shape[1])
    if may_pack(graph, X):
        run(
            "aggregation",
            quicker,
            ("spmm", *load_of(graph, X)),
            lambda: _sums(graph, data, X, Y, bias, relu, True),
            lambda: _sums(graph, data, X, Y, bias, relu, False),
        )
    else:
        run("aggregation", _sums, graph, data, X, Y, bias, relu, False)
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
    more = spmm_into(A.graph, A.data, B, empty(C.shape, C.dtype))
    run("aggregation", _add, C, more, bias, relu)
    return C


def _add(C, more, bias, relu):
    C += more
    C[:] = activate(C, bias, relu)


def _dense_into(A, B, C, transpose_b, add, bias, relu):
    count(dense=A.shape[0] * A.shape[1] * C.shape[1])
    low = _room(A, B, transpose_b=transpose_b)
    if low is None and (rounds(A) or alike.get()):
        run("weights", _by_parts, A, B, C, transpose_b, add, bias, relu)
    else:
        run("weights", _propagation.matmul, A, B, transpose_b, C, add, bias, relu, 0, low)
    return C


def _by_parts(A, B, C, transpose_b, add, bias, relu):
    """Multiply rounded factors in float32, or so that rows are alike."""
    A, B = _rounded(A), _rounded(B)
    if transpose_b or not alike.get():
        _propagation.matmul(A, B, transpose_b, C, add, bias, relu)
    elif add:
        T = empty(C.shape, C.dtype)
        product_of_parts(_products_of, A, B, T)
        _add(C, T, bias, relu)
    else:
        product_of_parts(_products_of, A, B, C, bias=bias, relu=relu)


def _room(A, B, *, transpose_a=False, transpose_b=False):
    """Return memory for rounded factors, if kernels are to round them; otherwise None.

    A thread rounds a block of A when it multiplies the block. Without fast products of bfloat16,
    kernels are given rounded factors in float32, and the product takes longer than without
    rounding. The BLAS rounds a row by its place, tiles do not.
    """
    if not rounds(A) or not A.size or not B.size:
        return None
    tiles = _bfloat16.in_tiles()
    if not tiles and (alike.get() or not _bfloat16.fast()):
        return None
    if transpose_a:
        left = _propagation.block_of_a_sum(*A.shape, tiles)[::-1]
    else:
        left = _propagation.rows_of_a_block(len(A), tiles), A.shape[1]
    return _memory(_right_size(B, transpose_b), left, transpose_a)


def _right_size(B, transpose_b=False):
    return _bfloat16.right_size(*(B.shape[::-1] if transpose_b else B.shape), transpose_b)


def _memory(right, left, transpose_a=False):
    """Return memory for rounded factors: for all of a right one, and what a thread multiplies."""
    room = max_threads(), _bfloat16.left_size(*left, transpose_a)
    return empty((right,), np.uint16), empty(room, np.uint16)


def _rounded(X):
    if not rounds(X):
        return X
    out = empty(X.shape, X.dtype)
    _bfloat16.rounded(X, out)
    return out


def matmul_apart_into(A, B, S, C, D, *, bias=None, relu=False):
    """Write A B to C, and A S + bias or its ReLU to D; B and S are there already."""
    count(dense=A.shape[0] * A.shape[1] * (B.shape[1] + S.shape[1]))
    if rounds(A) and _bfloat16.in_tiles():
        left = _propagation.rows_of_a_block(len(A), True), A.shape[1]
        low = _memory(_right_size(B) + _right_size(S), left)
        run("weights", _propagation.matmul_pair, A, B, S, C, D, bias, relu, low)
        return
    W = empty((len(B), B.shape[1] + S.shape[1]), B.dtype)
    np.concatenate([B, S], axis=1, out=W)
    low = _room(A, W)
    rows = _propagation.rows_of_a_block(len(A))
    team = min(max_threads(), -(-len(A) // rows))
    room = empty((team, rows, W.shape[1]), A.dtype)
    if rounds(A) and low is None:
        run("weights", _rounded_apart, A, W, C, D, bias, relu, room)
    else:
        run("weights", _propagation.matmul_apart, A, W, C, D, bias, relu, room, low)


def _rounded_apart(A, W, *rest):
    _propagation.matmul_apart(_rounded(A), _rounded(W), *rest)


def _products_of(A, B, C, rows, bias=None, relu=False):
    _propagation.matmul(A, B, False, C, False, bias, relu, rows)


def matmul_t_into(A, B, C):
    """Write A^T B to C and return it: what every gradient of a weight is."""
    if isinstance(A, Adjacency):
        return spmm_into(A.graph_t, A.data_t, B, C)
    return _dense_t_into(A, B, C)


def _dense_t_into(A, B, C):
    count(dense=A.shape[0] * A.shape[1] * B.shape[1])
    low = _room(A, B, transpose_a=True)
    tiles = low is not None and _bfloat16.in_tiles()
    sums = empty((_propagation.partial_sums(len(A), len(C), tiles), *C.shape), C.dtype)
    if rounds(A) and low is None:
        run("weights", _rounded_t, A, B, C, sums)
    else:
        run("weights", _propagation.matmul_t, A, B, C, sums, low)
    return C


def _rounded_t(A, B, *rest):
    _propagation.matmul_t(_rounded(A), _rounded(B), *rest)


def spmm_matmul_into(graph, data, X, Y, B, C, *, M=None, transpose_b=False, bias=None, relu=False):
    """Write A X to Y, and M op(B) + bias, or its ReLU, to C; Y is M, or some of its columns."""
    M = Y if M is None else M
    options = {"transpose_b": transpose_b, "bias": bias, "relu": relu}

    def one_by_one():
        spmm_into(graph, data, X, Y)
        matmul_into(M, B, C, **options)

    def together():
        _fused(graph, data, X, Y, M, B, C, **options)

    rounded_before = rounds(M) and not _bfloat16.fast()
    if alike.get() or rounded_before or not Y.size or not C.size:
        one_by_one()
    elif not may_pack(graph, X):
        run(None, together)
    else:
        run(None, quicker, ("fused", *load_of(graph, X), C.shape[1]), one_by_one, together)
    return C


def _fused(graph, data, X, Y, M, B, C, transpose_b, bias, relu):
    count(sparse=graph.e * X.shape[1], dense=M.shape[0] * M.shape[1] * C.shape[1])
    begin, low = perf_counter(), None
    if rounds(M):
        left = _propagation.rows_of_a_block(len(M)), M.shape[1]
        low = _memory(_right_size(B, transpose_b), left)
    entries = graph.start, graph.end, graph.indices, data
    with one_blas_thread():
        parts = _propagation.spmm_matmul(*entries, X, Y, M, B, transpose_b, C, bias, relu, low)
    seconds, whole = perf_counter() - begin, sum(parts) or 1.0
    for part, share in zip(("aggregation", "weights"), parts, strict=True):
        record(part, seconds * share / whole)
