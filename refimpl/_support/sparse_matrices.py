"""Reading the entries of matrices of scipy.sparse.

SciPy's own conversions trust the members of a matrix: a wrong one ends the process, or gives
another matrix. Here each member is read once, copied and checked, and no routine of SciPy runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refimpl._support import require
from refimpl.hints import Absent, Ids, Positions

MOST_NODES = 2**31 - 1

Held: TypeAlias = tuple[Ids | Absent, Ids, Positions | Absent, NDArray[Any]]


def read_matrix(source: Any) -> tuple[int, Ids | Absent, Ids, Positions | Absent, NDArray[Any]]:
    """Return (n, row, col, indptr, data) of a square matrix: row or indptr is None.

    Explicit zeros are entries. Only the format DIA, which stores whole diagonals, has none.
    """
    shape = tuple(member(source, "shape"))
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"source must be a square matrix, got shape {require.shown(shape)}")
    n = require.integer("source.shape", shape[0], 0)
    check_node_count(n)
    return n, *read_entries(source, n, n)


def read_entries(source: Any, n: int, m: int) -> Held:
    """Return (row, col, indptr, data) of a matrix of n rows and m columns, as `read_matrix`."""
    form = require.choice("source.format", member(source, "format"), tuple(FORMATS))
    row, col, indptr, data = FORMATS[form](source, n, m)
    if data.dtype.kind not in "biufc":
        raise TypeError(f"source.data must hold numbers, got dtype {data.dtype}")
    return row, col, indptr, data


def member(source: object, name: str) -> Any:
    """Return an attribute of a matrix, or raise."""
    try:
        return getattr(source, name)
    except Exception:  # of a damaged matrix, or of another class that says it is sparse
        raise ValueError(f"source must be a matrix of scipy.sparse with {name}") from None


def check_node_count(n: int) -> None:
    """Raise unless a graph may have `n` nodes."""
    if n > MOST_NODES:
        raise OverflowError(f"a graph has at most {MOST_NODES} nodes, got n = {require.shown(n)}")


def checked_csr(
    indptr: Any,
    indices: Any,
    columns: int,
    dtype: type[np.integer[Any]] = np.int64,
    name: str = "",
    rows: int | None = None,
) -> tuple[Positions, Any]:
    """Return the two arrays of a CSR matrix, copied, the indices as `dtype`, or raise.

    `name` is what errors put before the names of the arrays. With `rows` given, the matrix must
    have that number of rows.
    """
    col = require.ids(f"{name}indices", indices, 0, columns, dtype)
    indptr = require.ids(f"{name}indptr", indptr, 0, col.size + 1, np.int64)
    rises = indptr.size and indptr[0] == 0 and indptr[-1] == col.size
    if not rises or (np.diff(indptr) < 0).any():
        raise ValueError(f"{name}indptr must rise from 0 to len({name}indices)")
    if rows is not None and indptr.size != rows + 1:
        raise ValueError(
            f"{name}indptr must have {rows + 1} numbers for {rows} rows, got {indptr.size}"
        )
    return indptr, col


def _data(source: Any, *lengths: int) -> NDArray[Any]:
    """Return the values, an array that begins with these lengths, or raise."""
    data = require.array("source.data", member(source, "data"))
    if data.shape[: len(lengths)] != lengths:
        raise ValueError(f"source.data must have shape {lengths}, got {data.shape}")
    return data


def _compressed(source: Any, rows: int, columns: int) -> tuple[Positions, Ids]:
    """Return indptr and indices of a matrix of `rows` and `columns`, or of blocks."""
    indptr, indices = member(source, "indptr"), member(source, "indices")
    return checked_csr(indptr, indices, columns, np.int32, "source.", rows)


def _csr(source: Any, n: int, m: int) -> Held:
    indptr, col = _compressed(source, n, m)
    return None, col, indptr, _flat(_data(source, col.size))


def _csc(source: Any, n: int, m: int) -> Held:
    indptr, row = _compressed(source, m, n)
    return row, _repeated(indptr), None, _flat(_data(source, row.size))


def _bsr(source: Any, n: int, m: int) -> Held:
    data = _data(source)
    if data.ndim != 3 or 0 in data.shape[1:] or n % data.shape[1] or m % data.shape[2]:
        raise ValueError(
            f"source.data must have shape (blocks, R, C), R a divisor of {n} and C one of {m}, "
            f"got {data.shape}"
        )
    blocks, R, C = data.shape
    indptr, indices = _compressed(source, n // R, m // C)
    if indices.size != blocks:
        raise ValueError(f"source.data must have {indices.size} blocks, got {blocks}")
    row = _repeated(indptr)[:, None, None] * R + np.arange(R, dtype=np.int32)[:, None]
    col = indices[:, None, None] * C + np.arange(C, dtype=np.int32)
    row, col = (np.broadcast_to(ends, data.shape).reshape(-1) for ends in (row, col))
    return row, col, None, data.reshape(-1)


def _repeated(indptr: Positions) -> Ids:
    """Return the row of every entry."""
    return np.repeat(np.arange(indptr.size - 1, dtype=np.int32), np.diff(indptr))


def _flat(data: NDArray[Any]) -> NDArray[Any]:
    if data.ndim != 1:
        raise ValueError(f"source.data must be 1-D, got shape {data.shape}")
    return data


def _coo(source: Any, n: int, m: int) -> Held:
    row = require.ids("source.row", member(source, "row"), 0, n, np.int32)
    col = require.ids("source.col", member(source, "col"), 0, m, np.int32)
    if row.size != col.size:
        raise ValueError(f"source.col must have {row.size} numbers like row, got {col.size}")
    return row, col, None, _flat(_data(source, row.size))


def _dia(source: Any, n: int, m: int) -> Held:
    low, high = 1 - max(n, 1), max(m, 1)
    offsets = require.ids("source.offsets", member(source, "offsets"), low, high, np.int64)
    if np.unique(offsets).size != offsets.size:
        raise ValueError("source.offsets must be distinct")
    data = _data(source, offsets.size)
    if data.ndim != 2:
        raise ValueError(f"source.data must be 2-D, got shape {data.shape}")
    data = data[:, :m]
    col = np.arange(data.shape[1])
    row = col - offsets[:, None]
    held = (row >= 0) & (row < n) & (data != 0)
    col = np.broadcast_to(col, data.shape)
    return row[held].astype(np.int32), col[held].astype(np.int32), None, data[held]


def _lil(source: Any, n: int, m: int) -> Held:
    rows, values = (_lists(source, name, n) for name in ("rows", "data"))
    lengths = [len(row) for row in rows]
    if lengths != [len(row) for row in values]:
        raise ValueError("source.data must have lists as long as those of source.rows")
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    col = _numbers("rows", chain.from_iterable(rows))
    col = require.ids("source.rows", col, 0, m, np.int32)
    return _repeated(indptr), col, None, _numbers("data", chain.from_iterable(values))


def _lists(source: Any, name: str, n: int) -> list[tuple[Any, ...]]:
    """Return the lists of a matrix in the format LIL as tuples, one a row."""
    lists = member(source, name)
    if not isinstance(lists, np.ndarray) or require.array(name, lists).shape != (n,):
        raise ValueError(f"source.{name} must be {n} lists, got {type(lists).__name__}")
    lists = tuple(np.asarray(lists))
    if not all(isinstance(row, list) for row in lists):
        raise TypeError(f"source.{name} must be lists")
    return [tuple(row) for row in lists]


def _numbers(name: str, values: Iterable[Any]) -> NDArray[Any]:
    """Return some numbers as a 1-D array, or raise."""
    values = list(values)
    found = require.array(f"source.{name}", values) if values else np.empty(0)
    if found.shape != (len(values),):
        raise ValueError(f"source.{name} must hold numbers alone")
    return found


def _dok(source: Any, n: int, m: int) -> Held:
    try:
        pairs = [(tuple(key), value) for key, value in source.items()]
    except Exception as error:  # of keys that are no tuples
        raise ValueError(f"source must have pairs (row, column) as keys: {error}") from None
    if any(len(key) != 2 for key, _ in pairs):
        raise ValueError("source must have pairs (row, column) as keys")
    ends = _numbers("keys", (end for key, _ in pairs for end in key))
    row, col = (
        require.ids("source.keys", one, 0, most, np.int32)
        for one, most in ((ends[::2], n), (ends[1::2], m))
    )
    return row, col, None, _numbers("data", (value for _, value in pairs))


FORMATS: dict[str, Callable[[Any, int, int], Held]] = {
    "csr": _csr,
    "csc": _csc,
    "bsr": _bsr,
    "coo": _coo,
    "dia": _dia,
    "lil": _lil,
    "dok": _dok,
}
