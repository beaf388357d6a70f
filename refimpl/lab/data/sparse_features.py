"""Features as a sparse matrix: bags of words, of which 99% are zeros.

A Dataset has them as a `scipy.sparse.csr_array` whose rows are ascending, without duplicates and
without zeros. Of a matrix that a user gives only the arrays are read, never a routine of SciPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from refimpl._support import require
from refimpl._support.sparse_matrices import MOST_NODES, member, read_entries
from refimpl.block import entries_of_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from refimpl.hints import FloatDtype, Matrix, Positions
    from refimpl.lab.hints import SomeScaling

DENSEST = 0.05  # share of entries up to which features stay sparse where density decides


def checked_sparse(matrix: Any, dtype: FloatDtype | None = None) -> sp.csr_array:
    """Return a matrix of scipy.sparse as such features, copied, or raise.

    Entries of one place are added up, as SciPy does. float32 and float64 are kept, other numbers
    become `dtype` (default: float32).
    """
    dtype = np.float32 if dtype is None else require.float_dtype("dtype", dtype)
    try:
        shape = tuple(member(matrix, "shape"))
        if len(shape) != 2:
            raise ValueError(f"it must be 2-D, got shape {require.shown(shape)}")
        n, width = (require.integer("its shape", count, 0, MOST_NODES) for count in shape)
        row, col, indptr, data = read_entries(matrix, n, width)
    except (TypeError, ValueError) as error:
        raise type(error)(f"features as a sparse matrix: {error}") from None
    kind = member(matrix, "dtype")  # of lists of numbers only the matrix knows it
    if "c" in (data.dtype.kind, np.dtype(kind).kind):
        raise TypeError(f"features must be real numbers, got {data.dtype}")
    data = data.astype(kind, copy=False)
    kept = data.dtype in (np.float32, np.float64)
    data = data.astype(data.dtype if kept else dtype)
    row = np.repeat(np.arange(n), np.diff(indptr)) if row is None else row
    order = np.lexsort((col, row))
    row, col, data = row[order], col[order], data[order]
    first = np.ones(len(data), bool)
    first[1:] = (row[1:] != row[:-1]) | (col[1:] != col[:-1])
    if not first.all():
        data = np.add.reduceat(data, np.flatnonzero(first))
        row, col = row[first], col[first]
    row, col, data = row[data != 0], col[data != 0], data[data != 0]
    bad = np.flatnonzero(~np.isfinite(data))
    if bad.size:
        raise ValueError(
            f"features must hold finite numbers, but row {row[bad[0]]} has {data[bad[0]]} in "
            f"column {col[bad[0]]}"
        )
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=n), out=indptr[1:])
    return frozen(indptr, col, data, (n, width))


def frozen(
    indptr: Positions, indices: NDArray[Any], data: NDArray[Any], shape: tuple[int, int]
) -> sp.csr_array:
    """Return the csr_array of arrays that fit each other, read-only."""
    indptr = indptr.astype(require.position_dtype(len(data) + 1))
    matrix = sp.csr_array((data, indices, indptr), shape=shape)
    matrix.has_canonical_format = True
    for array in (matrix.indptr, matrix.indices, matrix.data):
        array.flags.writeable = False
    return matrix


def kept_sparse(
    matrix: sp.csr_array, scaling: SomeScaling | None = None
) -> sp.csr_array | Matrix[Any]:
    """Return features, a csr_array, as they are, or as an array: the rule of `docs/data.md`."""
    sparse = density(matrix) <= DENSEST and not needs_dense(scaling)
    return matrix if sparse else dense_rows(matrix)


def needs_dense(scaling: SomeScaling | None) -> bool:
    """Whether a scaling takes a mean from each column: then nothing stays 0."""
    return not (scaling is None or (isinstance(scaling, str) and scaling != "standard"))


def density(matrix: sp.csr_array) -> float:
    """Return the share of the entries that are not 0."""
    n, width = matrix.shape
    return matrix.nnz / max(n * width, 1)


def dense_rows(matrix: sp.csr_array, nodes: NDArray[Any] | None = None) -> Matrix[Any]:
    """Return some rows of a csr_array as an array; default: all."""
    nodes = np.arange(matrix.shape[0]) if nodes is None else nodes
    row, at = entries(matrix, nodes)
    X = np.zeros((len(nodes), matrix.shape[1]), matrix.dtype)
    X[row, matrix.indices[at]] = matrix.data[at]
    return X


def stacked(X: Any, Y: Any) -> Any:
    """Return the rows of both, of arrays or of matrices of scipy.sparse."""
    if require.issparse(X) or require.issparse(Y):
        return sp.vstack([sp.csr_array(X), sp.csr_array(Y)], format="csr")
    return np.concatenate([X, Y])


class DenseRows:
    """Sparse features for what reads some rows of an array at a time, and writes them."""

    shape: tuple[int, int]

    def __init__(self, matrix: sp.csr_array) -> None:
        self.matrix, self.shape, self.dtype = matrix, matrix.shape, matrix.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Matrix[Any]:
        return dense_rows(self.matrix, np.arange(*rows.indices(len(self))))


def entries(matrix: sp.csr_array, nodes: NDArray[Any]) -> tuple[Positions, Positions]:
    """Return, for every entry of some rows of a csr_array, which of these it is in, and where."""
    start, end = matrix.indptr[nodes].astype(np.int64), matrix.indptr[nodes + 1].astype(np.int64)
    return np.repeat(np.arange(len(nodes)), end - start), entries_of_rows(start, end)
