"""Weighted sampling without replacement by one number an entry: Efraimidis and Spirakis.

Not in the three papers.
"""

from __future__ import annotations

import numpy as np

from refimpl._support.numpy_warnings import quiet
from refimpl.samplers.normal_quantiles import logarithm


@quiet
def efraimidis_spirakis(weights, f, u):
    """Return which `f` entries have the largest ``u ** (1 / weight)``: their places, ascending.

    The chosen entries have the law of `f` draws without replacement, where each draw takes one
    of the entries that are left in proportion to its weight. Equal numbers: the first entry wins.
    O(k log k) time.

    Parameters
    ----------
    weights : (k,) float64 array
        Above 0.
    f : int in [0, k]
    u : (k,) float64 array
        Independent and uniform in (0, 1].

    References
    ----------
    Efraimidis and Spirakis 2006, "Weighted random sampling with a reservoir", Algorithm A.
    """
    scores = -logarithm(u) / weights  # the logarithm of u ** (1 / weight), and its sign turned
    return np.sort(np.argsort(scores, kind="stable")[:f])
