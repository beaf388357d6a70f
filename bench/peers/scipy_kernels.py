"""SciPy's sparse matrices, for `pytest bench --impl refimpl,fastimpl,bench.peers.scipy_kernels`.

A matrix is made once for its values, as its user would do, not in each call.
"""

from types import SimpleNamespace

import numpy as np
import scipy
import scipy.sparse as sp

from bench.peers.kept import Kept


def versions():
    """Return the version of SciPy."""
    return {"SciPy": scipy.__version__}


def _matrix(graph, data):
    return sp.csr_array((data, graph.indices, graph.indptr), shape=(graph.n, graph.n))


_of_values = Kept(_matrix)
_of_places = Kept(lambda graph: _matrix(graph, np.arange(graph.e, dtype=np.int32)))
_of_ones = Kept(lambda graph: _matrix(graph, np.ones(graph.e, np.int8)))


def spmm(graph, data, X):
    """Return A X."""
    return _of_values(graph, data) @ X


def spmm_t(graph, data, transpose_perm, G):
    """Return A^T G."""
    return _of_values(graph, data).T @ G


def transpose_perm(graph):
    """Return the places of a graph's entries in the order of its transpose."""
    return _of_places(graph).tocsc().data


def induced_subgraph(graph, nodes):
    """Return what `refimpl.induced_subgraph` returns, of one graph cut out of another."""
    part = _of_places(graph)[nodes][:, nodes]
    part.sort_indices()
    pattern = _pattern(part)
    perm = _matrix(pattern, np.arange(pattern.e, dtype=np.int32)).tocsc().data
    places = part.data.astype(np.int64)
    return SimpleNamespace(nodes=nodes, graph=pattern, edge_ids=places, transpose_perm=perm)


def from_edges(u, v, n):
    """Return a pattern with ascending rows."""
    made = sp.coo_array((np.ones(len(u), np.int8), (u, v)), shape=(n, n)).tocsr()
    made.sort_indices()
    return _pattern(made)


def add_self_loops(graph):
    """Return a pattern with an entry at each node."""
    return _pattern(_of_ones(graph) + sp.eye_array(graph.n, dtype=np.int8, format="csr"))


def _pattern(matrix):
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    return SimpleNamespace(n=matrix.shape[0], e=matrix.nnz, indptr=indptr, indices=indices)
