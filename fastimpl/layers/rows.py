"""refimpl/layers/rows.py on kernels."""

import numpy as np

from fastimpl._buffers import empty_like
from fastimpl._twin import twin
from fastimpl.layers import _rows
from fastimpl.layers._shared import threshold
from refimpl._support import require
from refimpl._support.numpy_warnings import quiet
from refimpl.layers.rows import (
    RowL2Output,
    dropout_arguments,
    row_l2_arguments,
    row_l2_backward_arguments,
)


@twin
@quiet
def row_l2_forward(X, *, eps=1e-6):
    X, eps = row_l2_arguments(X, eps)
    Y, norms = empty_like(X), np.empty(len(X), X.dtype)
    _rows.l2_forward(X, eps, Y, norms)
    return RowL2Output(Y, norms)


@twin
@quiet
def row_l2_backward(out, G, *, eps=1e-6):
    (Y, norms), G, eps = row_l2_backward_arguments(out, G, eps)
    dX = empty_like(Y)
    _rows.l2_backward(Y, norms, G, eps, dX)
    return dX


@twin
@quiet
def dropout(X, rate, key):
    X, rate, key = dropout_arguments(X, rate, key)
    Y = empty_like(X)
    least, scale = threshold(rate)
    if isinstance(key, int):
        _rows.dropout(X.reshape(-1), least, key, scale, Y.reshape(-1))
    else:
        _rows.dropout_rows(X, least, require.plain(key), scale, Y)
    return Y
