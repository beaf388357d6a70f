"""Compute the loss of a classifier, and its gradient, without an overflow."""

import numpy as np

from refimpl.losses import Loss


def softmax_cross_entropy(logits, labels, weights=None):
    """Return the weighted sum of -log softmax over the nodes, and its gradient.

    JPDC'21 Equations 3 and 10. For node v with logits x, labels y and weight w, and
    softmax(x)_c = exp(x_c) / sum of exp(x): the loss is w times the sum over the classes c of
    -y_c log softmax(x)_c. Its gradient is w ((sum of y) softmax(x) - y). The value is the sum over
    all nodes.

    The labels of a node need not be 0 and 1, nor add up to 1. Logits may be 1000: exp(1000) is
    infinite, the loss is not. Softmax does not change when the same number is subtracted from all
    logits of a node; take their largest.

    Parameters
    ----------
    logits : (s, C) float32 or float64 array, C >= 1
    labels : (s, C) array of the same dtype
    weights : (s,) array of the same dtype, optional
        Default: 1 / s for each, the mean over nodes. s may be 0.

    Returns
    -------
    Loss
        Of value, a float, and gradient, (s, C).
    """
    s = len(logits)
    if weights is None:
        weights = np.full(s, 1 / max(s, 1), logits.dtype)
    shifted = logits - logits.max(axis=1, keepdims=True)
    total = np.exp(shifted).sum(axis=1, keepdims=True)
    mass = labels.sum(axis=1, keepdims=True)
    each = (mass * np.log(total))[:, 0] - (shifted * labels).sum(axis=1)
    gradient = weights[:, None] * (mass * (np.exp(shifted) / total) - labels)
    return Loss(float((weights * each).sum()), gradient)


# ---- what follows is the course's ----

PAGE = "learn/training"
REFERENCE = "refimpl.losses:softmax_cross_entropy"
BESIDE = "The reference is the same in other words; it checks dtypes and shapes before."
HINTS = (
    "-log softmax(x)_c is log(sum of exp(x)) - x_c. So the loss of a node is "
    "(sum of y) log(sum of exp(x)) minus the sum of y_c x_c.",
    "`logits.max(axis=1, keepdims=True)` keeps its shape (s, 1), so that it can be subtracted.",
    "Use the same shifted logits everywhere: in the exponentials, and where they stand alone.",
)
MISTAKES = (
    (
        "shifted = logits - logits.max(axis=1, keepdims=True)",
        "shifted = logits",
        "does not subtract the largest logit, so that exponentials overflow",
        "Logits whose exponential overflows",
    ),
    (
        "1 / max(s, 1)",
        "1 / max(labels.size, 1)",
        "takes the mean over nodes and classes, where it is over nodes",
        "Yours is 0.5 times what is wanted",
    ),
    (
        "gradient = weights[:, None] * (mass * (np.exp(shifted) / total) - labels)",
        "gradient = weights[:, None] * (np.exp(shifted) / total - labels)",
        "takes it for granted in the gradient that the labels of a node add up to 1",
        "Labels that are not 0 or 1",
    ),
    (
        "gradient = weights[:, None] * (mass",
        "gradient = 1 / max(s, 1) * (mass",
        "forgets the weights in the gradient",
        "Each of yours is 0.5 times what is wanted",
    ),
    (
        "- (shifted * labels)",
        "- (logits * labels)",
        "subtracts the largest logit in the exponentials, but not where logits stand alone",
        "",
    ),
)
