"""refimpl/graph/transpose.py on a kernel."""

import numpy as np

from fastimpl import _graph
from fastimpl._twin import twin
from refimpl._support import require
from refimpl.graph.csr import undirected_arguments


@twin
def transpose_perm(graph):
    (graph,) = undirected_arguments(graph)
    perm = np.empty(graph.e, require.position_dtype(graph.e))
    _graph.transpose_perm(graph.indptr, graph.indices, np.empty(graph.n, perm.dtype), perm)
    return perm
