"""Cross-entropy losses and their gradients (JPDC'21 Equations 3 and 10)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.numpy_warnings import quiet
from refimpl.hints import F, Floats, Matrix

__all__ = ["Loss", "sigmoid_cross_entropy", "softmax_cross_entropy"]


class Loss(NamedTuple):
    """The loss, and its gradient with respect to the logits.

    What `softmax_cross_entropy` and `sigmoid_cross_entropy` return.

    Attributes
    ----------
    value : float
    gradient : (s, C) array of the dtype of the logits
    """

    value: float
    gradient: Matrix


def loss_arguments(logits, labels, weights):
    """Check the arguments of a loss; return them."""
    logits = require.floats("logits", logits, (None, None))
    if logits.shape[1] == 0:
        raise ValueError("logits must have at least one class")
    labels = require.floats("labels", labels, logits.shape, logits.dtype)
    if weights is not None:
        weights = require.floats("weights", weights, (len(logits),), logits.dtype)
    return logits, labels, weights


def node_weights(logits, weights):
    """Return the weight of each node: 1 / s where none are given (E-E9)."""
    s = len(logits)
    return np.full(s, 1 / max(s, 1), logits.dtype) if weights is None else weights


@quiet
@checked_by(loss_arguments)
def softmax_cross_entropy(
    logits: Matrix[F], labels: Matrix[F], weights: Floats[F] | None = None
) -> Loss:
    """Return ``sum_v w_v sum_c -y_vc log softmax(x_v)_c`` and its gradient.

    JPDC'21 Equations 3 and 10. O(s C) time.

    Parameters
    ----------
    logits : (s, C) float32 or float64 array, C >= 1
    labels : (s, C) array of the same dtype
        One-hot rows for single-label data; any non-negative rows are legal.
    weights : (s,) array of the same dtype, optional
        Default 1 / s each: the mean over nodes (E-E9), not over nodes and classes.

    Returns
    -------
    Loss
        0 for no nodes.

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    x, y, w = logits, labels, node_weights(logits, weights)
    shifted = x - x.max(axis=1, keepdims=True)  # exp cannot overflow
    exp = np.exp(shifted)
    total = exp.sum(axis=1, keepdims=True)
    y_sum = y.sum(axis=1, keepdims=True)
    per_node = (y_sum * np.log(total))[:, 0] - (shifted * y).sum(axis=1)
    return Loss(float((w * per_node).sum()), w[:, None] * (y_sum * (exp / total) - y))


@quiet
@checked_by(loss_arguments)
def sigmoid_cross_entropy(
    logits: Matrix[F], labels: Matrix[F], weights: Floats[F] | None = None
) -> Loss:
    """Return ``sum_v w_v sum_c -(y log s(x) + (1 - y) log(1 - s(x)))`` and its gradient.

    Written so that no exponential overflows: ``max(x, 0) - x y + log(1 + exp(-|x|))``.
    JPDC'21 Equations 3 and 10 with a sigmoid, for several classes a node. O(s C) time.

    Parameters
    ----------
    logits : (s, C) float32 or float64 array, C >= 1
    labels : (s, C) array of the same dtype
        Entries in [0, 1]; any number of classes may hold for a node.
    weights : (s,) array of the same dtype, optional
        Default 1 / s each.

    Returns
    -------
    Loss
        0 for no nodes.

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit.
    """
    x, y, w = logits, labels, node_weights(logits, weights)
    exp = np.exp(-np.abs(x))  # in (0, 1]
    per_node = (np.maximum(x, 0) - x * y + np.log1p(exp)).sum(axis=1)
    sigmoid = np.where(x >= 0, 1, exp) / (1 + exp)
    return Loss(float((w * per_node).sum()), w[:, None] * (sigmoid - y))
