"""Rows of features, as models read them: gathered, widened, scaled."""

from __future__ import annotations

from typing import Literal

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.numpy_warnings import quiet
from refimpl.hints import Features, FloatDtype, Integers, Matrix, Reals
from refimpl.loader.files import AT_REST, matrix, still_whole

BLOCK = 4096  # rows worked on at a time
ROWS = "rows"  # how features may be scaled, where no array says it


def gather_arguments(X, rows, scaling, dtype):
    """Check the arguments of `gather_rows`; return them."""
    X = still_whole(matrix("X", X, dtypes=(*AT_REST, np.dtype(np.float64))))
    if scaling is not None:
        scaling = check_scaling(scaling, X.shape[1])
    dtype = np.result_type(X, np.float32) if dtype is None else require.float_dtype("dtype", dtype)
    return X, require.ids("rows", rows, 0, len(X), np.int64), scaling, dtype


@quiet
@checked_by(gather_arguments)
def gather_rows(
    X: Features,
    rows: Integers,
    scaling: tuple[Reals, Reals] | Literal["rows"] | None = None,
    dtype: FloatDtype | None = None,
) -> Matrix:
    """Return ``X[rows]``, perhaps scaled; float16 becomes float32 exactly.

    Rows of a memory-mapped file are read in ascending order, each page at one time. Scaled rows
    are computed in float64, and rounded once. O(n d) time. The packing in the data loader of
    FreshGNN section 6, and line 5 of JPDC'21 Algorithm 1.

    Parameters
    ----------
    X : (any, d) float32, float64 or float16 array
        C-contiguous; may be a numpy.memmap.
    rows : (n,) integer array
        In any order, repeated or not.
    scaling : (mean, std) or "rows", optional
        Two (d,) float64 arrays, the second above 0: rows become (X[rows] - mean) / std. Or each is
        divided by the sum of its magnitudes, if that is above 0.
    dtype : float32 or float64, optional
        Of the result. Default: that of X, but float32 for float16.

    Returns
    -------
    (n, d) float32 or float64 array

    Raises
    ------
    TypeError, ValueError
        If X is no such array, a row is not in it, or the scaling does not fit.
    OSError
        If X is mapped from a file that has become shorter.
    """
    rows, out = np.asarray(rows), np.empty((len(rows), X.shape[1]), dtype)
    order = np.argsort(rows, kind="stable") if isinstance(X, np.memmap) else np.arange(len(rows))
    for i in range(0, len(rows), BLOCK):  # so that copies in float64 stay small
        block = order[i : i + BLOCK]
        found = X[rows[block]]
        if scaling == ROWS:
            found = over_row_sums(found)
        elif scaling is not None:
            mean, std = map(np.asarray, scaling)
            found = (found - mean) / std
        out[block] = found
    return out


def check_scaling(scaling, width=None):
    """Return "rows", or a pair of read-only (width,) float64 arrays; None accepts any width.

    Raises
    ------
    TypeError, ValueError
        If it is neither "rows" nor a pair (mean, std) of finite numbers, the std above 0, or is of
        another width.
    """
    if isinstance(scaling, str) and scaling == ROWS:
        return ROWS
    pair = tuple(scaling) if isinstance(scaling, tuple | list) else ()
    if len(pair) != 2:
        raise TypeError('scaling must be a pair (mean, std) of arrays, "rows" or None')
    mean = require.floats("scaling's mean", pair[0], (None,), np.float64).copy()
    if width is not None and mean.size != width:
        raise ValueError(
            f"features must have {mean.size} columns, as those that the scaling is of, got {width}"
        )
    std = require.floats("scaling's std", pair[1], mean.shape, np.float64).copy()
    if not np.isfinite(mean).all() or not np.isfinite(std).all() or np.any(std <= 0):
        raise ValueError("scaling must be finite, and its std above 0")
    mean.flags.writeable = std.flags.writeable = False
    return mean, std


def over_row_sums(X):
    """Return rows over the sums of their magnitudes, where these are above 0, in float64."""
    X = np.asarray(X).astype(
        np.float64
    )  # before the sum, which would be cut where NumPy's buffers end
    sums = np.abs(X).sum(axis=1, keepdims=True)
    return X / np.where(sums > 0, sums, 1)
