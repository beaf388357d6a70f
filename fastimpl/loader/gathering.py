"""refimpl/loader/gathering.py on kernels."""

import numpy as np

from fastimpl._buffers import empty
from fastimpl._twin import twin
from fastimpl.loader import _features
from refimpl._support.numpy_warnings import quiet
from refimpl.loader.gathering import ROWS, gather_arguments, over_row_sums

HALF = np.dtype(np.float16)


@twin
@quiet
def gather_rows(X, rows, scaling=None, dtype=None):
    X, rows, scaling, dtype = gather_arguments(X, rows, scaling, dtype)
    found = empty((len(rows), X.shape[1]), np.result_type(X, np.float32))
    if isinstance(X, np.memmap) and np.any(rows[1:] < rows[:-1]):
        order = np.argsort(rows, kind="stable")
        gather(X, rows[order], order, found)
    else:
        gather(X, rows, None, found)
    if scaling is None:
        return found.astype(dtype, copy=False)
    if scaling == ROWS:
        return over_row_sums(found).astype(dtype, copy=False)
    out = found if found.dtype == dtype else empty(found.shape, dtype)
    _features.scale_rows(found, *scaling, out)
    return out


def gather(X, rows, positions, out):
    """Write the rows of X (None: all in turn) to those positions (None: in turn) of `out`."""
    if X.dtype == HALF:
        _features.widen_rows(X.view(np.uint16), rows, positions, out)
    else:
        _features.copy_rows(as_bytes(X), rows, positions, as_bytes(out))


def as_bytes(X):
    """Return the same memory as bytes: a copy does not depend on the dtype."""
    return X.view(np.uint8)
