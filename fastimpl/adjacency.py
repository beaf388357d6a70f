"""refimpl/adjacency.py on kernels."""

import numpy as np

from fastimpl import _adjacency
from fastimpl._buffers import empty, empty_like
from fastimpl._twin import twin
from fastimpl.block import transpose_block
from fastimpl.graph.transpose import transpose_perm as _transpose_perm
from refimpl.adjacency import Adjacency, block_arguments, looped_arguments, norm_arguments
from refimpl.block import Block
from refimpl.graph.csr import Graph, undirected_arguments


@twin
def row_norm(graph, transpose_perm=None, *, dtype=np.float64):
    graph, perm, dtype = norm_arguments(graph, transpose_perm, dtype)
    data = empty((graph.e,), dtype)
    _adjacency.row_norm(graph.indptr, data)
    return Adjacency(graph, data, None if perm is None else _permuted(data, perm))


@twin
def add_self_loops(graph):
    (graph,) = undirected_arguments(graph)
    indptr = np.empty_like(graph.indptr)
    _adjacency.looped_indptr(graph.indptr, graph.indices, indptr)
    indices = np.empty(indptr[-1], np.int32)
    _adjacency.looped_indices(graph.indptr, graph.indices, indptr, indices)
    return Graph._trusted(indptr, indices, symmetric=True)


@twin
def sym_norm(graph, *, dtype=np.float64):
    graph, dtype = looped_arguments(graph, dtype)
    looped = add_self_loops(graph)
    data = empty((looped.e,), dtype)
    _adjacency.sym_norm(looped.indptr, looped.indices, np.empty(looped.n), data)
    return Adjacency(looped, data, data)


@twin
def loop_norm(graph, *, dtype=np.float64):
    graph, dtype = looped_arguments(graph, dtype)
    looped = add_self_loops(graph)
    data = empty((looped.e,), dtype)
    _adjacency.row_norm(looped.indptr, data)
    perm = _transpose_perm(looped)
    return Adjacency(looped, data, _permuted(data, perm), perm=perm)


@twin
def block_norm(kind, block, degrees=None, *, dtype=np.float64):
    kind, block, degrees, dtype = block_arguments(kind, block, degrees, dtype)
    rows = block.start, block.end, block.indices
    starts = np.empty(block.n_dst + 1, np.int64)
    _adjacency.block_starts(*rows, kind != "row", starts)
    indices, data = np.empty(starts[-1], np.int32), empty((int(starts[-1]),), dtype)
    _adjacency.block_values(*rows, block.weights, degrees, kind != "row", starts, indices, data)
    pattern = Block._trusted(starts[:-1], starts[1:], indices, block.n_src)
    data.flags.writeable = False
    return Adjacency._with_late_transpose(pattern, data, _transposed)


def _transposed(pattern, data):
    """Return the pattern, the values and the permutation of the transpose."""
    transposed, perm = transpose_block(pattern)
    return transposed, _permuted(data, perm), perm


def _permuted(data, perm):
    data_t = empty_like(data)
    _adjacency.permute(data, perm, data_t)
    return data_t
