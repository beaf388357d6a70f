"""refimpl/loader/features.py on kernels."""

import numpy as np

from fastimpl._buffers import empty
from fastimpl._twin import twin
from fastimpl.loader import _features
from refimpl._quiet import quiet
from refimpl.loader.features import (
    ROWS,
    Fetched,
    gather_arguments,
    one_sided_trace,
    over_row_sums,
    plan_arguments,
    two_sided_trace,
)


@twin
@quiet
def gather_rows(X, rows, scaling=None, dtype=None):
    X, rows, scaling, dtype = gather_arguments(X, rows, scaling, dtype)
    found = empty((len(rows), X.shape[1]), np.result_type(X, np.float32))
    if isinstance(X, np.memmap) and np.any(rows[1:] < rows[:-1]):
        order = np.argsort(rows, kind="stable")
        _gather(X, rows[order], order, found)
    else:
        _gather(X, rows, None, found)
    if scaling is None:
        return found.astype(dtype, copy=False)
    if scaling == ROWS:
        return over_row_sums(found).astype(dtype, copy=False)
    out = found if found.dtype == dtype else empty(found.shape, dtype)
    _features.scale_rows(found, *scaling, out)
    return out


@twin
def fetch_one_sided(plan):
    store, rows, positions, copies = plan_arguments(plan)
    out = empty((plan.n, store.d), np.float32)
    for part, wanted, where in zip(store.parts, rows, positions, strict=True):
        _gather(part, wanted, where, out)
    _gather(out, copies[1], copies[0], out)
    return Fetched(out, one_sided_trace(plan.me, rows, store.row_bytes))


@twin
def fetch_two_sided(plan):
    store, rows, positions, copies = plan_arguments(plan)
    out = empty((plan.n, store.d), np.float32)
    for p, part in enumerate(store.parts):
        if p == plan.me:
            _gather(part, rows[p], positions[p], out)
            continue
        packed = empty((len(rows[p]), store.d), store.dtype)  # by the owner
        _features.copy_rows(_bytes(part), rows[p], None, _bytes(packed))
        _gather(packed, None, positions[p], out)
    _gather(out, copies[1], copies[0], out)
    return Fetched(out, two_sided_trace(plan.me, rows, store.row_bytes))


def _gather(X, rows, positions, out):
    """Write the rows of X (None: all in turn) to those positions (None: in turn) of `out`."""
    if X.dtype == np.float16:
        _features.widen_rows(X.view(np.uint16), rows, positions, out)
    else:
        _features.copy_rows(_bytes(X), rows, positions, _bytes(out))


def _bytes(X):
    return X.view(np.uint8)
