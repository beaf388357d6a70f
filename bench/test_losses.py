"""Cross-entropies and their gradients."""

import numpy as np
from scipy.special import expit, log_softmax

from bench import inputs
from bench.answers import near
from bench.case import Bench, Task, timed
from bench.work import stream


def loss_task(size, labels, expected):
    """Return the task of a loss; ``expected(x, labels)`` gives value and gradient of one node."""
    scale = inputs.SIZES[size]
    logits = 3 * inputs.normal((scale.s, scale.classes), 1)

    def check(got, args, other):
        value, gradient = expected(logits.astype(np.float64), labels)
        near("result.value", float(got.value), value / scale.s, rtol=1e-5)
        want = (gradient / scale.s).astype(np.float32)
        near("result.gradient", got.gradient, want, atol=1e-5 / scale.s)

    text = f"s={scale.s:,} C={scale.classes} float32"
    args = {"logits": logits, "labels": labels}
    return Task(text, args, check, stream(3 * logits.nbytes))  # each is read or written once


def softmax_tasks(size):
    """Yield the loss of one class a node."""
    scale = inputs.SIZES[size]

    def expected(x, labels):
        logs = log_softmax(x, axis=1)
        return -(labels * logs).sum(), np.exp(logs) - labels

    yield loss_task(size, inputs.one_hot(scale.s, scale.classes, 2), expected)


def sigmoid_tasks(size):
    """Yield the loss of several classes a node."""
    scale = inputs.SIZES[size]

    def expected(x, labels):
        return (np.logaddexp(0, x) - x * labels).sum(), expit(x) - labels

    labels = (inputs.normal((scale.s, scale.classes), 2) > 0).astype(np.float32)
    yield loss_task(size, labels, expected)


test_losses = timed(
    Bench("softmax_cross_entropy", softmax_tasks),
    Bench("sigmoid_cross_entropy", sigmoid_tasks),
)
