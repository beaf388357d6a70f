"""The transpose of a matrix on an undirected pattern, as a permutation of its values."""

from __future__ import annotations

import numpy as np

from refimpl._support.argument_checks import checked_by
from refimpl._support.require import position_dtype
from refimpl.graph.csr import Graph, undirected_arguments
from refimpl.hints import Ids


@checked_by(undirected_arguments)
def transpose_perm(graph: Graph) -> Ids:
    """Return the permutation that transposes a matrix on an undirected pattern.

    JPDC'21 Algorithm 6; ``# n`` marks its line n. A and A^T share one pattern, so only values
    move: the values of A^T are ``data[perm]``. The paper permutes one array of values; the
    permutation itself serves any number of them (E-A3). O(n + e) time.

    Parameters
    ----------
    graph : Graph
        Undirected, with n nodes and e edges.

    Returns
    -------
    (e,) int32 array, or int64 where e is 2**31 or more
        Its own inverse: ``perm[perm[j]] == j``.

    Raises
    ------
    TypeError, ValueError
        If the graph is directed.

    Examples
    --------
    >>> path = as_graph([(0, 1), (1, 2)], symmetrize=True)
    >>> transpose_perm(path)
    array([1, 0, 3, 2], dtype=int32)
    """
    indptr, indices = graph.indptr, graph.indices  # 1
    perm = np.full(graph.e, -1, position_dtype(graph.e))  # 2
    ptr = indptr[:-1].copy()  # 3
    for v in range(graph.n):  # 4
        for j in range(indptr[v], indptr[v + 1]):  # 5 E-A2: half open
            u = indices[j]  # 6
            perm[ptr[u]] = j  # 7 E-A3: the permutation, not values
            ptr[u] += 1  # 8
    return perm  # 11
