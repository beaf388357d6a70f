"""Reading edges out of whatever a caller has; a container at the border, never a kernel."""

import numpy as np
import scipy.sparse as sp

from refimpl import _check

MAX_NODES = 2**31 - 1


def edges(source, n):
    """Return (rows, columns, number of nodes) of any source that as_graph accepts."""
    if hasattr(source, "to_scipy"):  # a Graph
        source = source.to_scipy()
    elif hasattr(source, "nodes") and hasattr(source, "edges"):
        source = _networkx_matrix(source)
    is_csr = isinstance(source, tuple) and len(source) == 2 and all(map(_is_1d, source))
    if n is not None and (sp.issparse(source) or is_csr):
        raise ValueError("n must be None unless source is a list of edges: the source has its own")
    if sp.issparse(source):
        if source.ndim != 2:
            raise ValueError(f"source must be a square matrix, got shape {source.shape}")
        if source.shape[0] != source.shape[1]:
            raise ValueError(f"source must be a square matrix, got shape {source.shape}")
        check_node_count(source.shape[0])
        matrix = source.tocoo()
        return matrix.row, matrix.col, source.shape[0]
    if is_csr:
        count = max(len(source[0]) - 1, 0)
        check_node_count(count)
        indptr, col = checked_csr(source[0], source[1], count)
        return np.repeat(np.arange(count), np.diff(indptr)), col, count
    try:
        pairs = np.asarray(source)
    except MemoryError:
        raise
    except Exception as error:  # of ragged lists, or whatever an object raises
        raise ValueError(f"source must be a graph or a list of (u, v) edges: {error}") from None
    if pairs.size == 0 and (pairs.ndim == 1 or pairs.shape[1:] == (2,)):
        pairs = np.empty((0, 2), np.int64)
    if pairs.dtype.kind not in "iu":
        raise TypeError(
            "source must be a Graph, a scipy sparse matrix, a networkx graph, (k, 2) integers "
            f"or a pair (indptr, indices) of arrays, got {type(source).__name__}"
        )
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"source as a list of edges must have shape (k, 2), got {pairs.shape}")
    count = int(pairs.max()) + 1 if pairs.size else 0
    count = count if n is None else _check.integer("n", n, 0)
    check_node_count(count)
    pairs = _check.ids("source", pairs.ravel(), 0, count, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1], count


def checked_csr(indptr, indices, columns):
    """Return the two arrays of a CSR matrix as int64 if they are ones, or raise."""
    col = _check.ids("indices", indices, 0, columns, np.int64)
    indptr = _check.ids("indptr", indptr, 0, col.size + 1, np.int64)
    rises = indptr.size and indptr[0] == 0 and indptr[-1] == col.size
    if not rises or (np.diff(indptr) < 0).any():
        raise ValueError("indptr must rise from 0 to len(indices)")
    return indptr, col


def _networkx_matrix(source):
    if not len(source):  # networkx refuses to convert a graph without nodes
        return sp.csr_array((0, 0))
    import networkx as nx

    return nx.to_scipy_sparse_array(source, weight=None)


def _is_1d(value):
    return isinstance(value, np.ndarray) and value.ndim == 1


def check_node_count(n):
    if n > MAX_NODES:
        raise OverflowError(f"a graph can have at most {MAX_NODES} nodes, got {_check.shown(n)}")
