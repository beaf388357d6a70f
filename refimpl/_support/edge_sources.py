"""Reading edges out of whatever a caller has; a container at the border, never a kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from refimpl._support import foreign_graphs, require
from refimpl._support.sparse_matrices import check_node_count, checked_csr, read_matrix
from refimpl._support.user_warnings import warn
from refimpl.hints import Absent, Ids, Int, Positions

ROWS = 2**16  # looked at at a time
KINDS = (
    "a Graph, a matrix of scipy.sparse, a graph of networkx, igraph, DGL or PyG, a pandas table "
    "of edges, integers (k, 2) or (2, k), or a pair (indptr, indices) of arrays"
)
READINGS = (
    "source of shape (2, 2) can be two edges (u, v), an edge_index (sources, targets), or a dense "
    "matrix: call graph.from_edges(u, v) with the two ends, or give dense=True"
)


class Entries(NamedTuple):
    """The entries (row, col) of a graph of n nodes, in any order, perhaps more than once.

    With `indptr` they are CSR, and `row` is None. `names` are the nodes' in their source;
    `weights` says what is dropped: pairs of where they stand there, and the weights.
    """

    n: int
    row: NDArray[Any] | Absent
    col: NDArray[Any]
    indptr: NDArray[Any] | Absent = None
    names: NDArray[Any] | None = None
    weights: tuple[tuple[str, Any], ...] = ()


def entries(source: Any, n: Int | None, dense: bool, graph: Any = None) -> Entries:
    """Return the Entries of any source that as_graph accepts.

    `graph` is the source, checked, if that is a Graph.
    """
    known, pair, own = foreign_graphs.reader(source), _csr_pair(source), counts_nodes(source)
    if dense:
        if own and known is not foreign_graphs.read_pandas:
            raise ValueError("dense must be False for a source that is no dense matrix")
        return _of_dense(source, n)
    if n is not None and own and known is not foreign_graphs.read_pandas:
        raise ValueError("n must be None unless source is a list of edges: the source has its own")
    if graph is not None:
        return Entries(graph.n, None, graph.indices, graph.indptr)
    if hasattr(source, "to_scipy"):  # as a Block has it
        raise TypeError(f"source must be a Graph, got {type(source).__name__}")
    if known is not None:
        return _of_foreign(known, source, n)
    if sp.issparse(source):
        return _of_matrix(source)
    if pair:
        indptr, indices = map(np.asarray, pair)
        count = max(len(indptr) - 1, 0)
        check_node_count(count)
        indptr, col = checked_csr(indptr, indices, count, np.int32)
        return Entries(count, None, col, indptr)
    u, v = _pairs(source)
    return of_pairs(u, v, n)


def counts_nodes(source: Any) -> bool:
    """Say whether a source has a number of nodes of its own, as no list of edges has."""
    known = foreign_graphs.reader(source) is not None or bool(_csr_pair(source))
    return known or sp.issparse(source) or hasattr(source, "to_scipy")


def integers(name: str, ends: Any) -> NDArray[Any]:
    """Return `ends` as a 1-D array of integers, or raise."""
    ends = foreign_graphs.as_array(require.array(name, ends))
    if ends.ndim != 1:
        raise ValueError(f"{name} must be 1-D, got shape {ends.shape}")
    if ends.size and ends.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, got dtype {ends.dtype}")
    return ends


def of_pairs(u: Any, v: Any, n: Int | None, name: str = "source") -> Entries:
    """Return the Entries (u[i], v[i]), checked; `name` is what errors call them."""
    biggest = max((int(ends.max()) for ends in (u, v) if len(ends)), default=-1)
    count = biggest + 1 if n is None else require.integer("n", n, 0)
    check_node_count(count)
    for end, ids in (("source", u), ("target", v)):
        ids = np.asarray(ids)
        out = np.flatnonzero((ids < 0) | (ids >= count)) if ids.dtype.kind in "iu" else ids[:0]
        if out.size:
            raise ValueError(
                f"{name} must be in [0, {count}), but edge {out[0]} has the {end} {ids[out[0]]}"
            )
    u, v = (require.ids(name, ends, 0, count, np.int32) for ends in (u, v))
    if len(u) != len(v):
        raise ValueError(f"{name} must have two ends for each edge, got {len(u)} and {len(v)}")
    return Entries(count, u, v)


def _pairs(source: Any) -> NDArray[Any]:
    """Return both ends of a list of edges (k, 2), or of an edge_index (2, k)."""
    if isinstance(source, list) and type(source) is not list:
        source = list(source)  # a subclass may change from read to read
    listed = isinstance(source, list) and source and isinstance(source[0], tuple)
    try:
        pairs = foreign_graphs.from_torch(source)
        pairs = require.array("source", source if pairs is None else pairs)
    except MemoryError:
        raise
    except Exception as error:  # of ragged lists, or whatever an object raises
        raise ValueError(f"source must be a graph or a list of (u, v) edges: {error}") from None
    if pairs.size == 0 and (pairs.ndim == 1 or pairs.shape in ((0, 2), (2, 0))):
        return np.empty((2, 0), np.int64)
    if pairs.ndim == 2 and pairs.shape[0] == pairs.shape[1] != 2:
        raise ValueError(
            f"source of shape {pairs.shape} is no list of edges; a dense matrix needs dense=True"
        )
    if pairs.dtype.kind == "f" and pairs.ndim == 2 and 2 in pairs.shape:
        raise TypeError(
            f"source must hold integers, the ids of nodes, got {pairs.dtype}: give "
            "source.astype(int)"
        )
    if pairs.dtype.kind not in "iu":
        raise TypeError(f"source must be {KINDS}, got {type(source).__name__}")
    if pairs.shape == (2, 2) and not listed:
        raise ValueError(READINGS)
    if pairs.ndim == 2 and pairs.shape[1] == 2:
        return pairs.T
    if pairs.ndim != 2 or pairs.shape[0] != 2 or listed or isinstance(source, tuple):
        raise ValueError(
            f"source as a list of edges must have shape (k, 2), or (2, k) as an edge_index, "
            f"got {pairs.shape}"
        )
    return pairs


def _of_matrix(source: Any) -> Entries:
    """Return the Entries of a matrix of scipy.sparse."""
    n, row, col, indptr, data = read_matrix(source)
    return Entries(n, row, col, indptr, weights=(("data", data),))


def _of_dense(source: Any, n: Int | None) -> Entries:
    """Return the Entries of a dense matrix: what is not 0."""
    if n is not None:
        raise ValueError("n must be None for a dense matrix, which has its own")
    names = getattr(source, "index", None) if foreign_graphs.reader(source) else None
    matrix = foreign_graphs.from_torch(source)
    matrix = require.array("source", source if matrix is None else matrix)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"source must be a square matrix, got shape {matrix.shape}")
    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"source must hold numbers, got dtype {matrix.dtype}")
    if matrix.dtype.kind == "f" and np.isnan(matrix).any():
        raise ValueError("source must not hold NaN")
    check_node_count(matrix.shape[0])
    row, col = np.nonzero(matrix)
    if names is not None and not names.equals(source.columns):
        raise ValueError("source must have the same names for its rows and its columns")
    names = None if names is None else foreign_graphs.as_names(names)
    weights = (("source", np.asarray(matrix[row, col])),)
    return Entries(matrix.shape[0], row, col, names=names, weights=weights)


def _of_foreign(read: foreign_graphs.Reader, source: Any, n: Int | None) -> Entries:
    """Return the Entries of an object of another library."""
    found = read(source, n)
    if found.n is not None:
        check_node_count(found.n)
    ends = of_pairs(found.u, found.v, found.n)
    if not found.directed:
        row, col = np.concatenate([ends.row, ends.col]), np.concatenate([ends.col, ends.row])
        ends = ends._replace(row=row, col=col)
    return ends._replace(names=found.names, weights=tuple(found.weights))


def say_what_is_dropped(found: Entries) -> None:
    """Warn of weights that are not all 1."""
    for where, weights in found.weights:
        if isinstance(weights, np.ndarray):
            others = (weights != 1).any()
        else:
            others = any(weight != 1 for weight in weights)
        if others:
            message = f"a Graph has no weights: those in {where!r} of source are dropped"
            warn(message)


def canonical(found: Entries, symmetrize: bool, self_loops: bool) -> tuple[Positions, Ids]:
    """Return Entries as (indptr int64, indices int32): rows ascending, each entry once."""
    n, row, col, indptr = found[:4]
    if indptr is not None and not symmetrize and self_loops and ascending(indptr, col):
        return indptr, col
    if indptr is not None:
        row = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
    if symmetrize:
        row, col = np.concatenate([row, col]), np.concatenate([col, row])
    if not self_loops:
        row, col = row[row != col], col[row != col]
    matrix = sp.csr_array((np.ones(row.size, np.bool_), (row, col)), shape=(n, n))
    matrix.sum_duplicates()  # sorts each row as well
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)


def ascending(indptr: NDArray[Any], indices: NDArray[Any]) -> bool:
    """Whether every row ascends strictly."""
    rises = indices[1:] > indices[:-1]
    begins = indptr[(indptr > 0) & (indptr < indices.size)]
    rises[begins - 1] = True  # from one row to the next
    return bool(rises.all())


def has_loops(indptr: NDArray[Any], indices: NDArray[Any]) -> bool:
    """Whether an entry stands in the row of its own number; some rows are looked at at a time."""
    n = len(indptr) - 1
    for first in range(0, n, ROWS):
        ends = indptr[first : first + ROWS + 1]
        rows = np.repeat(np.arange(first, first + len(ends) - 1, dtype=np.int32), np.diff(ends))
        if np.any(indices[ends[0] : ends[-1]] == rows):
            return True
    return False


def symmetric(indptr: NDArray[Any], indices: NDArray[Any]) -> bool:
    """Whether every (u, v) stands beside a (v, u): the transpose, by counting, is the same."""
    n, e = len(indptr) - 1, len(indices)
    narrow = indptr.astype(np.int32) if e < 2**31 else indptr
    turned = sp.csr_array((np.ones(e, np.bool_), indices, narrow), shape=(n, n)).tocsc()
    return np.array_equal(turned.indptr, narrow) and np.array_equal(turned.indices, indices)


def _csr_pair(source: Any) -> tuple[Any, ...]:
    """Return the two arrays of CSR, or nothing if the source is no such pair."""
    pair = tuple(source) if isinstance(source, tuple) else ()
    return pair if len(pair) == 2 and all(map(_is_1d, pair)) else ()


def _is_1d(value: object) -> bool:
    return isinstance(value, np.ndarray) and np.asarray(value).ndim == 1
