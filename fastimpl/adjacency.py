"""refimpl/adjacency.py on kernels."""

import numpy as np

from fastimpl import _adjacency
from fastimpl._twin import twin
from refimpl.adjacency import Adjacency, norm_arguments


@twin
def row_norm(graph, transpose_perm=None, *, dtype=np.float64):
    dtype, perm = norm_arguments(graph, transpose_perm, dtype)
    data = np.empty(graph.e, dtype)
    _adjacency.row_norm(graph.indptr, data)
    if perm is None:
        return Adjacency(graph, data, None)
    data_t = np.empty_like(data)
    _adjacency.permute(data, perm, data_t)
    return Adjacency(graph, data, data_t)
