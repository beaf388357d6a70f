"""Choose the embeddings whose gradients are smallest."""

import numpy as np


def select_stable(score, ids, p):
    """Return which rows are among the stable ones: a fraction `p`, those of the lowest score."""
    count = int(p * len(score) + 1e-9)
    order = sorted(range(len(score)), key=lambda row: (score[row], ids[row]))
    stable = np.zeros(len(score), np.bool_)
    stable[order[:count]] = True
    return stable
