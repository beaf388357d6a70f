"""Operations on each row of a layer's output; none is in the papers, the authors' code has them.

They are off by default (E-E12).
"""

from typing import NamedTuple

import numpy as np

from refimpl import _check
from refimpl.streams import Stream


class RowL2Output(NamedTuple):
    """Rows of length 1, and the length that each had, at least eps.

    What `row_l2_forward` returns.

    Attributes
    ----------
    Y : (s, f) float array
    norms : (s,) float array
    """

    Y: np.ndarray
    norms: np.ndarray


class RowStandardizeOutput(NamedTuple):
    """The standardised rows, and what the backward pass needs of them.

    What `row_standardize_forward` returns.

    Attributes
    ----------
    Y : (s, f) float array
        The result.
    X_hat : (s, f) float array
        The rows with mean 0 and variance 1, before gain and offset.
    scale : (s,) float array
        1 over the deviation of each row.
    """

    Y: np.ndarray
    X_hat: np.ndarray
    scale: np.ndarray


class RowStandardizeGradients(NamedTuple):
    """Gradients of the loss.

    What `row_standardize_backward` returns.

    Attributes
    ----------
    X : (s, f) float array
    gain, offset : (f,) float arrays
    """

    X: np.ndarray
    gain: np.ndarray
    offset: np.ndarray


def row_l2_forward(X, *, eps=1e-6):
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
    X, eps = _check.floats("X", X, (None, None)), _check.real("eps", eps, 0, strict=True)
    norms = np.maximum(np.sqrt((X * X).sum(axis=1)), X.dtype.type(eps))
    return RowL2Output(X / norms[:, None], norms)


def row_l2_backward(out, G, *, eps=1e-6):
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
    Y, norms, G, eps = row_l2_arguments(out, G, eps)
    along = np.where(norms > Y.dtype.type(eps), (Y * G).sum(axis=1), 0)
    return (G - Y * along[:, None]) / norms[:, None]


def row_standardize_forward(X, gain, offset, *, eps=1e-9):
    """Return each row of X with mean 0 and variance 1, times `gain`, plus `offset`.

    Not in the papers: an option of the authors' code (E-E12). O(s f) time.

    Parameters
    ----------
    X : (s, f) float32 or float64 array, f at least 1
    gain, offset : (f,) arrays of the same dtype
    eps : float above 0
        Added to the variance.

    Returns
    -------
    RowStandardizeOutput
        Y and X_hat (s, f), scale (s,).

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    X, gain, offset, eps = row_standardize_arguments(X, gain, offset, eps)
    centred = X - X.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt((centred * centred).mean(axis=1) + X.dtype.type(eps))
    X_hat = centred * scale[:, None]
    return RowStandardizeOutput(X_hat * gain + offset, X_hat, scale)


def row_standardize_backward(out, gain, G):
    """Return the gradients of `row_standardize_forward` from that of ``out.Y``.

    Of an option of the authors' code (E-E12). O(s f) time.

    Parameters
    ----------
    out : RowStandardizeOutput
    gain : (f,) array of the dtype of ``out.Y``
        As given to `row_standardize_forward`.
    G : (s, f) array of the same dtype

    Returns
    -------
    RowStandardizeGradients

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    X_hat, scale, gain, G = row_standardize_backward_arguments(out, gain, G)
    D = G * gain
    mean, along = D.mean(axis=1, keepdims=True), (D * X_hat).mean(axis=1, keepdims=True)
    dX = (D - mean - X_hat * along) * scale[:, None]
    return RowStandardizeGradients(dX, (G * X_hat).sum(axis=0), G.sum(axis=0))


def dropout(X, rate, key):
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
    X, rate, key = dropout_arguments(X, rate, key)
    if isinstance(key, int):
        u = Stream(key).uniforms(X.size).reshape(X.shape)
    else:
        u = np.empty(X.shape)
        for i, row_key in enumerate(key.tolist()):
            u[i] = Stream(row_key).uniforms(X.shape[1])
    return np.where(u >= rate, X * X.dtype.type(1 / (1 - rate)), 0)


def row_l2_arguments(out, G, eps):
    """Check the arguments of `row_l2_backward`; return (Y, norms, G, eps)."""
    Y = _check.floats("out.Y", out.Y, (None, None))
    norms = _check.floats("out.norms", out.norms, (len(Y),), Y.dtype)
    G = _check.floats("G", G, Y.shape, Y.dtype)
    return Y, norms, G, _check.real("eps", eps, 0, strict=True)


def row_standardize_arguments(X, gain, offset, eps):
    """Check the arguments of `row_standardize_forward`; return them."""
    X = _check.floats("X", X, (None, None))
    if not X.shape[1]:
        raise ValueError("X must have at least one column, got shape " + str(X.shape))
    gain = _check.floats("gain", gain, (X.shape[1],), X.dtype)
    offset = _check.floats("offset", offset, (X.shape[1],), X.dtype)
    return X, gain, offset, _check.real("eps", eps, 0, strict=True)


def row_standardize_backward_arguments(out, gain, G):
    """Check the arguments of `row_standardize_backward`; return (X_hat, scale, gain, G)."""
    X_hat = _check.floats("out.X_hat", out.X_hat, (None, None))
    if not X_hat.shape[1]:
        raise ValueError(f"out.X_hat must have at least one column, got shape {X_hat.shape}")
    scale = _check.floats("out.scale", out.scale, (len(X_hat),), X_hat.dtype)
    gain = _check.floats("gain", gain, (X_hat.shape[1],), X_hat.dtype)
    return X_hat, scale, gain, _check.floats("G", G, X_hat.shape, X_hat.dtype)


def dropout_arguments(X, rate, key):
    """Check the arguments of `dropout`; return them."""
    X = _check.floats("X", X, (None, None))
    rate = _check.real("rate", rate, 0)
    if rate >= 1:
        raise ValueError(f"rate must be below 1, got {rate}")
    key = _check.word_or_words("key", key)
    if not isinstance(key, int) and key.shape != X.shape[:1]:
        raise ValueError(f"key must be an int or have shape ({len(X)},), got {key.shape}")
    return X, rate, key
