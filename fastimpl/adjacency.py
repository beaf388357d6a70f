"""refimpl/adjacency.py on kernels."""

import numpy as np

from fastimpl import _adjacency
from fastimpl._buffers import empty, empty_like
from fastimpl._twin import twin
from fastimpl.graph import transpose_perm as _transpose_perm
from refimpl import _check
from refimpl.adjacency import Adjacency, norm_arguments
from refimpl.graph import Graph


@twin
def row_norm(graph, transpose_perm=None, *, dtype=np.float64):
    dtype, perm = norm_arguments(graph, transpose_perm, dtype)
    data = empty((graph.e,), dtype)
    _adjacency.row_norm(graph.indptr, data)
    return Adjacency(graph, data, None if perm is None else _permuted(data, perm))


@twin
def add_self_loops(graph):
    _check.symmetric(graph)
    indptr = np.empty_like(graph.indptr)
    _adjacency.looped_indptr(graph.indptr, graph.indices, indptr)
    indices = np.empty(indptr[-1], np.int32)
    _adjacency.looped_indices(graph.indptr, graph.indices, indptr, indices)
    return Graph._trusted(indptr, indices, symmetric=True)


@twin
def sym_norm(graph, *, dtype=np.float64):
    dtype, _ = norm_arguments(graph, None, dtype)
    looped = add_self_loops(graph)
    data = empty((looped.e,), dtype)
    _adjacency.sym_norm(looped.indptr, looped.indices, data)
    return Adjacency(looped, data, data)


@twin
def loop_norm(graph, *, dtype=np.float64):
    dtype, _ = norm_arguments(graph, None, dtype)
    looped = add_self_loops(graph)
    data = empty((looped.e,), dtype)
    _adjacency.row_norm(looped.indptr, data)
    perm = _transpose_perm(looped)
    return Adjacency(looped, data, _permuted(data, perm), perm=perm)


def _permuted(data, perm):
    data_t = empty_like(data)
    _adjacency.permute(data, perm, data_t)
    return data_t
