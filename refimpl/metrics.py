"""F1-micro, the papers' measure of accuracy."""

import numpy as np


def predict(scores, multilabel):
    """Return a boolean (s, C) array: which classes the logits `scores` predict.

    Multi-label: every class with a probability above 1/2, that is, a logit above 0.
    Single-label: the class with the largest logit, the smallest such class on a tie.
    """
    if multilabel:
        return scores > 0
    predicted = np.zeros(scores.shape, np.bool_)
    predicted[np.arange(len(scores)), scores.argmax(axis=1)] = True
    return predicted


def f1_micro(predicted, labels):
    """Return 2 TP / (2 TP + FP + FN) over all (node, class) pairs; 0 where there are none.

    Parameters
    ----------
    predicted, labels : (s, C) arrays
        A class holds where the entry is not 0. With one class a node in both, this is accuracy.

    Returns
    -------
    float in [0, 1]

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    predicted, labels = np.asarray(predicted) != 0, np.asarray(labels) != 0
    if predicted.shape != labels.shape:
        raise ValueError(
            f"predicted and labels must have one shape, got {predicted.shape} and {labels.shape}"
        )
    both = np.count_nonzero(predicted & labels)
    either = np.count_nonzero(predicted) + np.count_nonzero(labels)
    return float(2 * both / either) if either else 0.0
