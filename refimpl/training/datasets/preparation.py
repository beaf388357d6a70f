"""Steps that all data sets share: the training graph and standardised features."""

import numpy as np

from refimpl import _check
from refimpl.graph import as_graph

BLOCK = 4096  # rows worked on at a time, so that float64 copies stay small


def induced(graph, nodes):
    """Return the graph on `nodes` alone, node i being ``nodes[i]``: SciPy slicing at the border."""
    return as_graph(graph.to_scipy()[nodes][:, nodes])


def standardise(features, rows, dtype=None):
    """Return (features - mean) / std, with mean and std taken over the rows `rows` only.

    Both are accumulated in float64. A column that is constant over `rows` gets std 1. Works in
    blocks of rows: no float64 copy of all features is made, and they may be a numpy.memmap.

    Parameters
    ----------
    features : (n, f) array of real numbers, finite
    rows : integer array, at least one row
    dtype : float32 or float64, optional
        Of the result (default: that of `features`, which must then be float32 or float64).

    Returns
    -------
    (n, f) array, C-contiguous

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or `rows` is empty or out of range.
    """
    features = np.asanyarray(features)
    if features.ndim != 2 or features.dtype.kind not in "fiub":
        raise TypeError(
            f"features must be a 2-D array of real numbers, got {features.dtype} "
            f"with {features.ndim} dimensions"
        )
    dtype = _check.float_dtype("dtype", features.dtype if dtype is None else dtype)
    rows = _check.ids("rows", rows, 0, len(features), np.int64)
    if not rows.size:
        raise ValueError("rows must name at least one row")
    mean, std = _moments(features, rows)
    result = np.empty(features.shape, dtype)
    for i in range(0, len(features), BLOCK):
        result[i : i + BLOCK] = (features[i : i + BLOCK] - mean) / std
    return result


def _moments(features, rows):
    """Return mean and standard deviation of every column over `rows`, as float64."""
    first = features[rows[0]].astype(np.float64)
    blocks = [rows[i : i + BLOCK] for i in range(0, len(rows), BLOCK)]
    # Deviations from one of the rows: exactly 0 where a column is constant, so its std is too.
    offset = sum((features[block] - first).sum(axis=0) for block in blocks) / len(rows)
    variance = sum(
        np.square(features[block] - first - offset).sum(axis=0) for block in blocks
    ) / len(rows)
    std = np.sqrt(variance)
    return first + offset, np.where(std == 0, 1.0, std)
