"""Compute the loss of a classifier, and its gradient, without an overflow."""

import numpy as np

from refimpl.losses import Loss


def softmax_cross_entropy(logits, labels, weights=None):
    """Return the weighted sum of -log softmax over the nodes, and its gradient."""
    s = len(logits)
    if weights is None:
        weights = np.full(s, 1 / max(s, 1), logits.dtype)
    shifted = logits - logits.max(axis=1, keepdims=True)
    total = np.exp(shifted).sum(axis=1, keepdims=True)
    mass = labels.sum(axis=1, keepdims=True)
    each = (mass * np.log(total))[:, 0] - (shifted * labels).sum(axis=1)
    gradient = weights[:, None] * (mass * (np.exp(shifted) / total) - labels)
    return Loss(float((weights * each).sum()), gradient)
