"""refimpl/losses.py on kernels."""

import numpy as np

from fastimpl import _losses
from fastimpl._buffers import empty_like
from fastimpl._twin import twin
from refimpl._support.numpy_warnings import quiet
from refimpl.losses import Loss, loss_arguments, node_weights


@twin
@quiet
def softmax_cross_entropy(logits, labels, weights=None):
    return _cross_entropy(True, *loss_arguments(logits, labels, weights))


@twin
@quiet
def sigmoid_cross_entropy(logits, labels, weights=None):
    return _cross_entropy(False, *loss_arguments(logits, labels, weights))


def _cross_entropy(softmax, logits, labels, weights):
    weights, grad = node_weights(logits, weights), empty_like(logits)
    losses = np.empty(len(logits))
    _losses.cross_entropy(logits, labels, weights, grad, losses, softmax)
    return Loss(float(losses.sum()), grad)
