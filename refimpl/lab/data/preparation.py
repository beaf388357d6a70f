"""What every data set needs done: reading its files, its training graph, its features scaled."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support import require
from refimpl.graph import WeightedGraph, as_graph
from refimpl.loader.gathering import BLOCK, ROWS, check_scaling, over_row_sums
from refimpl.loader.packed import PackedFeatures
from refimpl.typed import TypedGraph

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from numpy.typing import NDArray

    from refimpl.graph import Graph
    from refimpl.hints import FilePath, FloatDtype, Floats, Integers, Matrix
    from refimpl.lab.hints import Scaling, SomeScaling

    Stored: TypeAlias = NDArray[Any] | PackedFeatures
    Moments: TypeAlias = tuple[Floats[np.float64], Floats[np.float64]]

HALF_EXPONENT = np.uint16(0x7C00)  # all bits of it are set in infinity and NaN
EXACT = 2**24  # float32 has all integers up to it
SCALINGS = ("standard", "rows", "none")


def check_finite(name: FilePath, features: Stored, before: int = 0) -> None:
    """Raise a ValueError that names the array or file and the place unless all are finite.

    There are so many rows `before`.
    """
    for start in range(0, len(features), BLOCK):
        block = features[start : start + BLOCK]
        if not all_finite(block):
            row, column = np.argwhere(~np.isfinite(block))[0]
            raise ValueError(
                f"{name} must hold finite numbers, but row {before + start + row} has "
                f"{block[row, column]} in column {column}"
            )


def kept_dtype(features: Any, dtype: Any) -> np.dtype[Any]:
    """Return what numbers are kept as: `dtype`, or float64 if that rounds integers."""
    whole = features.dtype.kind in "iu" and features.size
    wide = whole and max(-int(features.min()), int(features.max())) > EXACT
    return np.dtype(np.float64 if wide else dtype)


def all_finite(values: NDArray[Any]) -> bool:
    """Whether all are; of half precision by their bits, many times faster."""
    if values.dtype == np.float16:
        return not np.any(values.view(np.uint16) & HALF_EXPONENT == HALF_EXPONENT)
    return bool(np.isfinite(values).all())


def induced(graph: Graph, nodes: NDArray[Any]) -> Graph:
    """Return the graph on `nodes` alone, node i being ``nodes[i]``, with its types or weights."""
    between = as_graph(graph.to_scipy()[nodes][:, nodes])
    return graph.on(nodes, between) if isinstance(graph, TypedGraph | WeightedGraph) else between


def standardise(features: Any, rows: Integers, dtype: FloatDtype | None = None) -> Matrix[Any]:
    """Return (features - mean) / std, with mean and std taken over the rows `rows` only.

    As `scale` by `scaling_of`.

    Parameters
    ----------
    features : (n, f) array of real numbers
    rows : integer array, not empty
    dtype : float32 or float64, optional
        Of the result; default: that of `features`.

    Returns
    -------
    (n, f) array

    Raises
    ------
    TypeError, ValueError
        As those two do.
    """
    features = real_matrix(features)
    dtype = require.float_dtype("dtype", features.dtype if dtype is None else dtype)
    return scale(features, scaling_of(features, rows), dtype)


def scaling_of(features: Any, rows: Integers) -> Moments:
    """Return the mean and the standard deviation of every column over the rows `rows` only.

    Both are accumulated in float64, in blocks of rows: there is never a float64 copy of all
    features, and they may be a numpy.memmap. A column that is constant over `rows` gets std 1.

    Parameters
    ----------
    features : (n, f) array of real numbers
    rows : integer array, not empty

    Returns
    -------
    mean, std : (f,) float64 arrays

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, `rows` is empty or out of range, or a mean or std
        is not finite.
    """
    features = real_matrix(features)
    rows = require.ids("rows", rows, 0, len(features), np.int64)
    if not rows.size:
        raise ValueError("rows must name at least one row")
    with np.errstate(over="ignore", invalid="ignore"):  # told apart by what comes out
        mean, std = _moments(features, rows)
    bad = np.flatnonzero(~np.isfinite(mean + std))
    if bad.size:
        check_finite("features", features)
        raise ValueError(f"features must have finite mean and std, but not in column {bad[0]}")
    return mean, std


def scale(features: Any, scaling: Scaling, dtype: FloatDtype) -> Matrix[Any]:
    """Return (features - mean) / std, or over the rows' sums, in float64 in blocks of rows.

    Parameters
    ----------
    features : (n, f) array of real numbers
    scaling : (mean, std), "rows" or None
        As of `check_scaling`; None leaves the numbers as they are.
    dtype : float32 or float64
        Of the result.

    Returns
    -------
    (n, f) array
        With infinities where a number is too large for `dtype`.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or the widths differ.
    """
    features = real_matrix(features)
    f = features.shape[1]
    scaling = (np.zeros(f), np.ones(f)) if scaling is None else check_scaling(scaling, f)
    result = np.empty(features.shape, require.float_dtype("dtype", dtype))
    if scaling == ROWS:
        for i in range(0, len(features), BLOCK):
            result[i : i + BLOCK] = over_row_sums(features[i : i + BLOCK])
        return result
    mean, std = scaling
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(0, len(features), BLOCK):
            result[i : i + BLOCK] = (features[i : i + BLOCK] - mean) / std
    return result


def chosen_scaling(scaling: SomeScaling, features: Any, train: Integers) -> Scaling:
    """Return the (mean, std) that "standard" stands for; None for "none"; else `scaling` itself."""
    if isinstance(scaling, str):
        require.choice("scaling", scaling, SCALINGS)
    if isinstance(scaling, str) and scaling == "standard":
        if require.issparse(features):
            raise ValueError(
                'scaling must be "rows" or "none" where features are sparse: "standard" takes a '
                "mean from each column, which leaves no zeros. Give features.toarray() to use it"
            )
        return scaling_of(features, train)
    return None if isinstance(scaling, str) and scaling == "none" else scaling


def real_matrix(features: Any) -> Any:
    if not isinstance(features, PackedFeatures):
        features = np.asanyarray(features)
    if features.ndim != 2 or features.dtype.kind not in "fiub":
        raise TypeError(
            f"features must be 2-D with real numbers, got {features.ndim}-D {features.dtype}"
        )
    return features


def _moments(features: Any, rows: NDArray[Any]) -> Moments:
    """Return the mean and the standard deviation of every column over `rows`, in float64."""
    first = features[rows[0]].astype(np.float64)
    # Differences to one row are exactly 0 where a column is constant, and so is its deviation.
    shift = sum((X - first).sum(axis=0) for X in _blocks_of(features, rows)) / len(rows)
    squares = sum(np.square(X - first - shift).sum(axis=0) for X in _blocks_of(features, rows))
    std = np.sqrt(squares / len(rows))
    return first + shift, np.where(std == 0, 1.0, std)


def _blocks_of(features: Any, rows: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield some rows at a time; of a mapped file no more than these stay in memory."""
    array = features.array if isinstance(features, PackedFeatures) else features
    mapping: Any = array.base
    mapped = isinstance(mapping, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED")
    for i in range(0, len(rows), BLOCK):
        yield features[rows[i : i + BLOCK]]
        if mapped and not array.flags.writeable:
            mapping.madvise(mmap.MADV_DONTNEED)
