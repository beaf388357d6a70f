"""Operations on each row of a layer's output; none is in the papers, the authors' code has them.

They are off by default (E-E12).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.numpy_warnings import quiet
from refimpl.hints import F, Float, Floats, Int, Matrix, Words
from refimpl.streams import Stream


class RowL2Output(NamedTuple):
    """Rows of length 1, and the length that each had, at least eps.

    What `row_l2_forward` returns.

    Attributes
    ----------
    Y : (s, f) float array
    norms : (s,) float array
    """

    Y: Matrix
    norms: Floats


def row_l2_arguments(X, eps):
    """Check the arguments of `row_l2_forward`; return them."""
    return require.floats("X", X, (None, None)), require.real("eps", eps, 0, strict=True)


@quiet
@checked_by(row_l2_arguments)
def row_l2_forward(X: Matrix[F], *, eps: Float = 1e-6) -> RowL2Output:
    """Return every row of X over its Euclidean length, or over eps where that is larger.

    Not in the papers: an option of the authors' code (E-E12). O(s f) time.

    Parameters
    ----------
    X : (s, f) float32 or float64 array
    eps : float above 0

    Returns
    -------
    RowL2Output
        Y (s, f) and norms (s,).

    Raises
    ------
    TypeError, ValueError
        If the dtype or shape does not fit.
    """
    norms = np.maximum(np.sqrt((X * X).sum(axis=1)), X.dtype.type(eps))
    return RowL2Output(X / norms[:, None], norms)


def row_l2_backward_arguments(out, G, eps):
    """Check the arguments of `row_l2_backward`; return them."""
    out = require.record("out", out, RowL2Output)
    Y = require.floats("out.Y", out.Y, (None, None))
    norms = require.floats("out.norms", out.norms, (len(Y),), Y.dtype)
    G = require.floats("G", G, Y.shape, Y.dtype)
    return RowL2Output(Y, norms), G, require.real("eps", eps, 0, strict=True)


@quiet
@checked_by(row_l2_backward_arguments)
def row_l2_backward(out: RowL2Output, G: Matrix[F], *, eps: Float = 1e-6) -> Matrix[F]:
    """Return the gradient of X from that of ``out.Y``.

    Of an option of the authors' code (E-E12). O(s f) time.

    Parameters
    ----------
    out : RowL2Output
    G : (s, f) array of the dtype of ``out.Y``
    eps : float above 0
        As given to `row_l2_forward`: at this floor a row's length is a constant.

    Returns
    -------
    (s, f) array of the same dtype

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    Y, norms = out
    along = np.where(norms > Y.dtype.type(eps), (Y * G).sum(axis=1), 0)
    return (G - Y * along[:, None]) / norms[:, None]


def dropout_arguments(X, rate, key) -> tuple[np.ndarray, float, int | Words]:
    """Check the arguments of `dropout`; return them."""
    X = require.floats("X", X, (None, None))
    rate = require.rate("rate", rate)
    key = require.word_or_words("key", key)
    if not isinstance(key, int) and key.shape != X.shape[:1]:
        raise ValueError(f"key must be an int or have shape ({len(X)},), got {key.shape}")
    return X, rate, key


@quiet
@checked_by(dropout_arguments)
def dropout(X: Matrix[F], rate: Float, key: Int | Words) -> Matrix[F]:
    """Return X with each element set to 0 with probability `rate`, the others over 1 - rate.

    Element (i, c) stays if its draw is at least `rate`: draw i f + c of the stream `key`, or, if
    each row has a key, draw c of its stream. With keys that belong to nodes, a row's mask does
    not depend on which others there are. The gradient of X is the same function of the gradient
    of the result. Srivastava et al. 2014, with the scaling moved to training. O(s f) time.

    Parameters
    ----------
    X : (s, f) float32 or float64 array
    rate : float in [0, 1)
    key : int in [0, 2**64), or (s,) uint64 array

    Returns
    -------
    (s, f) array of the same dtype

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.
    """
    if isinstance(key, np.ndarray):
        u = np.empty(X.shape)
        for i, row_key in enumerate(key.tolist()):
            u[i] = Stream(row_key).uniforms(X.shape[1])
    else:
        u = Stream(key).uniforms(X.size).reshape(X.shape)
    return np.where(u >= rate, X * X.dtype.type(1 / (1 - rate)), 0)
