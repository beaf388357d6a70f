"""LABOR-i: chances of the neighbours that are alike for all destinations of a layer.

Balin and Catalyurek 2023. Not in the three papers.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def draw_by_importance(graph, dst, fanout, variates):
    """Return (row bounds, positions in `graph.indices`, weights) of what the nodes `dst` draw.

    An entry is kept if its source's r_t is below its chance; its weight is 1 over the chance.
    """
    taken = dst if fanout else dst[:0]
    rows = [np.arange(*graph.indptr[v : v + 2].tolist()) for v in taken.tolist()]
    bounds = np.cumsum([0, *map(len, rows), *(0 for _ in dst[len(rows) :])])
    at = np.concatenate([np.empty(0, np.int64), *rows])
    nodes, t = np.unique(graph.indices[at], return_inverse=True)
    chances = inclusion_chances(bounds, t, len(nodes), fanout, variates.rounds)
    kept = np.ones(len(at), np.bool_)
    some = chances < 1
    kept[some] = variates.ordering(graph.indices[at[some]]) < variates.bound(chances[some])
    return np.concatenate([[0], np.cumsum(kept)])[bounds], at[kept], 1 / chances[kept]


def inclusion_chances(bounds, t, sources, fanout, rounds):
    """Return min(1, c_s pi_t) of each entry of a layer, after some rounds of LABOR.

    All pi_t are 1 at first. A round solves each c_s, and pi_t becomes pi_t max_s c_s over the
    destinations s of t, the greatest chance of its entries. With these pi_t, c_s = 1 would be
    enough, so no later c_s is above 1. Therefore pi_t stays at most 1 without being scaled, and
    the expected number of distinct sources, the sum of the greatest chances, never grows.

    Parameters
    ----------
    bounds : (rows + 1,) int64 array
        Where the entries of each row begin and end.
    t : (e,) int64 array
        The source of each entry, in [0, sources).
    sources, fanout, rounds : ints
        `fanout` is not 0; below 0 it means all.
    """
    pi, row = np.ones(sources), np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    for left in range(rounds, -1, -1):
        c = np.array([row_scale(pi[t[a:b]], fanout) for a, b in pairwise(bounds.tolist())])
        if left:
            greatest = np.zeros(sources)
            np.maximum.at(greatest, t, c[row])
            pi *= greatest
    return np.minimum(c[row] * pi[t], 1)


def row_scale(pi, fanout):
    """Return c_s: the sum of 1 / min(1, c_s pi_t) over the d neighbours is d**2 / fan-out.

    This is the paper's condition on the variance: the mean of independent features has the
    variance that it has in LABOR-0. The sum of the chances is then at least the fan-out, and
    equals the fan-out where all pi_t are equal. The authors' program (`labor_pick.h` in DGL)
    solves this equation to a tolerance of 1e-4.
    With m certain neighbours, those with c_s pi_t >= 1, the equation is m + (sum of the others'
    1 / pi_t) / c_s = d**2 / fan-out. The loop begins with m = 0; each pass adds the neighbours
    that the last c_s made certain, and c_s grows.
    """
    d = len(pi)
    if fanout < 0 or d <= fanout:  # all are certain: the layer's other rows leave pi_t at 1
        return 1.0
    inverse, certain = 1 / pi, np.zeros(d, np.bool_)
    while True:
        c = np.cumsum(inverse[~certain])[-1] / (float(d) * d / fanout - certain.sum())
        found = inverse < c
        if found.sum() <= certain.sum() or found.all():
            return c
        certain = found
