"""Build a table from which one of k outcomes is drawn in constant time."""

import numpy as np

from refimpl.samplers.alias import AliasTable


def alias_build(weights):
    """Return the table to draw outcome i in proportion to weights[i]: Walker's alias method."""
    weights = weights.astype(np.float64)
    k = len(weights)
    p = (weights / np.cumsum(weights)[-1] * k).tolist()
    prob, alias = np.ones(k), np.arange(k)
    small, large = [], []
    for i in range(k):
        (small if p[i] < 1 else large).append(i)
    while small and large:
        low, high = small.pop(), large.pop()
        prob[low], alias[low] = p[low], high
        p[high] = (p[high] + p[low]) - 1
        (small if p[high] < 1 else large).append(high)
    return AliasTable(prob, alias)
