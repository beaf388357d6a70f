"""refimpl/samplers/inclusion.py on kernels."""

import numpy as np

from fastimpl._buffers import empty
from fastimpl.samplers import _inclusion
from refimpl.samplers.normal_quantiles import TABLE


def draw_by_importance(src, pattern, fanout, variates):
    """Return what LABOR-i keeps of a hop that took all neighbours: (sources, pattern).

    A pattern is (row bounds, local ids, positions); the new one has weights as a fourth part.
    """
    bounds, t, where = pattern
    n, sources = len(bounds) - 1, len(src)
    chances, kept = empty((len(t),), np.float64), np.empty(len(t), np.bool_)
    if len(t):
        scratch = (np.empty(length) for length in (sources, sources, n))
        _inclusion.keep(
            bounds, t, src, fanout, variates, TABLE, *scratch, chances, kept.view(np.uint8)
        )
    at = np.flatnonzero(kept)
    used = np.zeros(sources, np.bool_)
    used[:n] = used[t[at]] = True  # destinations are sources
    local = np.cumsum(used, dtype=np.int32) - np.int32(1)
    ends = np.concatenate([[0], np.cumsum(kept)])
    return src[used], (ends[bounds], local[t[at]], where[at], 1 / chances[at])
