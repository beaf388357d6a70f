"""F1-micro, the papers' measure of accuracy."""

from __future__ import annotations

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.hints import Table

__all__ = ["f1_micro"]


def decide(logits, multilabel):
    """Return a boolean (s, C) array: the classes that the logits decide for.

    Multi-label: every class with a probability above 1/2, that is, a logit above 0.
    Single-label: the class with the largest logit, the smallest such class on a tie.
    """
    if multilabel:
        return logits > 0
    decided = np.zeros(logits.shape, np.bool_)
    decided[np.arange(len(logits)), logits.argmax(axis=1)] = True
    return decided


def micro_arguments(predicted, labels):
    """Check the arguments of `f1_micro`; return them, as arrays of bools."""
    predicted, labels = _holds("predicted", predicted), _holds("labels", labels)
    if predicted.shape != labels.shape:
        raise ValueError(
            f"predicted and labels must have one shape, got {predicted.shape} and {labels.shape}"
        )
    return predicted, labels


def _holds(name, value):
    """Return where the entries of an array are not 0, or raise."""
    values = require.array(name, value)
    if values.dtype.kind not in "biufc":
        raise TypeError(f"{name} must hold numbers or bools, got {values.dtype}")
    return values != 0


@checked_by(micro_arguments)
def f1_micro(predicted: Table, labels: Table) -> float:
    """Return 2 TP / (2 TP + FP + FN) over all (node, class) pairs; 0 where there are none.

    The papers' measure of accuracy (JPDC'21 section 7.2). O(s C) time.

    Parameters
    ----------
    predicted, labels : (s, C) arrays of numbers or bools
        A class holds where the entry is not 0. With one class a node in both, this is accuracy.

    Returns
    -------
    float in [0, 1]

    Raises
    ------
    TypeError, ValueError
        If an array holds no numbers, or the shapes differ.

    Examples
    --------
    >>> f1_micro(np.array([[1, 0], [1, 1]]), np.array([[1, 0], [0, 1]]))
    0.8
    """
    predicted, labels = np.asarray(predicted), np.asarray(labels)
    both = np.count_nonzero(np.logical_and(predicted, labels))
    either = np.count_nonzero(predicted) + np.count_nonzero(labels)
    return float(2 * both / either) if either else 0.0
