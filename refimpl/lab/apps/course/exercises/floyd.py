"""Draw f distinct integers below n, as a set."""

import numpy as np

from refimpl.streams import below


def floyd(key, n, f):
    """Return `f` distinct integers of [0, n), ascending: Floyd's algorithm."""
    chosen = set()
    for c in range(f):
        last = n - f + c
        t = below(key, c, last + 1)
        chosen.add(last if t in chosen else t)
    return np.array(sorted(chosen), np.int32)
