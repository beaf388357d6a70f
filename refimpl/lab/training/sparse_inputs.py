"""The input of the first layer as a sparse matrix: rows of it, and dropout on its entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refimpl.adjacency import Adjacency
from refimpl.block import Block
from refimpl.lab.data.sparse_features import entries
from refimpl.loader.gathering import ROWS
from refimpl.streams import _uniform

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, TypeAlias

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from refimpl.graph import Graph
    from refimpl.hints import FloatDtype, Floats, Int, Positions, Words
    from refimpl.lab.hints import Scaling

    Transposed: TypeAlias = tuple[Graph | Block, Floats[Any], Positions]


def sparse_rows(
    gnn: ModuleType,
    features: sp.csr_array,
    nodes: NDArray[Any],
    scaling: Scaling,
    dtype: FloatDtype,
) -> Adjacency:
    """Return what a model reads of some nodes, of sparse features: an Adjacency.

    The values are those of ``gather_rows(features.toarray(), nodes, scaling, dtype)``, where
    `scaling` is "rows" or None. O(k + e) time for k nodes with e entries.
    """
    row, at = entries(features, nodes)
    ends = np.cumsum(np.bincount(row, minlength=len(nodes)))
    data = features.data[at]
    if scaling == ROWS:
        data = data.astype(np.float64)
        sums = np.bincount(row, np.abs(data), len(nodes))
        data = data / sums[row]
    starts = np.concatenate([np.zeros(min(len(ends), 1), np.int64), ends[:-1]])
    indices = features.indices[at].astype(np.int32, copy=False)
    pattern = Block._trusted(starts, ends, indices, features.shape[1])
    return Adjacency._with_late_transpose(pattern, data.astype(dtype, copy=False), transposing(gnn))


def numbers_a_row(features: sp.csr_array) -> int:
    """Return how many numbers a row of sparse features takes while `sparse_rows` makes it.

    On average: `sparse_rows` holds up to 48 bytes an entry at a time, 12 numbers of float32.
    """
    return 1 + 12 * features.nnz // max(features.shape[0], 1)


def transposing(gnn: ModuleType) -> Callable[[Block, Floats[Any]], Transposed]:
    """Return a function of a Block and values: the Block, the values and the order of both, as
    `Adjacency` has them of the transpose."""

    def transposed(pattern: Block, data: Floats[Any]) -> Transposed:
        pattern_t, perm = gnn.block.transpose_block(pattern)
        return pattern_t, data[perm], perm

    return transposed


def dropped_entries(gnn: ModuleType, X: Adjacency, rate: float, key: Int | Words) -> Adjacency:
    """Return what `dropout` makes of a sparse matrix: each entry has the draw of its place.

    The pattern stays, and with it the order of the transpose, which `X` keeps.
    """
    row = np.repeat(np.arange(X.shape[0], dtype=np.uint64), X.graph.degrees())
    column = X.graph.indices.astype(np.uint64)
    if isinstance(key, np.ndarray):
        u = _uniform(key[row.astype(np.int64)], column)
    else:
        u = gnn.streams.uniform(key, row * np.uint64(X.shape[1]) + column)
    data = np.where(u >= rate, X.data * X.dtype.type(1 / (1 - rate)), X.dtype.type(0))

    def transposed(pattern: Block, data: Floats[Any]) -> Transposed:
        if pattern is X.graph:
            return X.graph_t, data[X.perm], X.perm
        return transposing(gnn)(pattern, data)  # of some rows of it

    return Adjacency._with_late_transpose(X.graph, data, transposed)
