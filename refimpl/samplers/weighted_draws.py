"""Draws from one row in proportion to weights: with replacement and without.

Not in the three papers.
"""

from __future__ import annotations

import numpy as np

from refimpl.samplers.efraimidis_spirakis import efraimidis_spirakis
from refimpl.streams import _uniform

LONG = 2  # a row with more entries than this times the fan-out is drawn from, not scanned


def by_alias(prob, alias, f, stream):
    """Return `f` entries of a row, draw c by draws 2 c and 2 c + 1 of the stream.

    Walker 1977: an entry stays, or is replaced by its alias. O(f) time.

    Parameters
    ----------
    prob, alias : (k,) arrays
        The row's table, which `alias_build` makes of its weights.
    f : int
    stream : Stream
    """
    place, share = stream.uniforms(2 * f).reshape(f, 2).T
    i = (place * len(prob)).astype(np.int64)
    return np.where(share < prob[i], i, alias[i])


def by_inversion(weights, f, stream):
    """Return `f` entries of a row that has no table, draw c by draw c of the stream.

    The first entry whose running sum is above the draw's share of the total (Devroye 1986,
    section III.2.1). O(k + f log k) time.
    """
    sums = np.cumsum(weights)
    last = np.searchsorted(sums, sums[-1])  # where the sum ends: entries behind it have no weight
    x = stream.uniforms(f) * sums[-1]
    return np.minimum(np.searchsorted(sums, x, side="right"), last)


def without_replacement(weights, table, f, stream):
    """Return `f` distinct entries of a row, ascending, or all with a weight if those are fewer.

    Each draw takes one of the entries that are left, in proportion to its weight. In a long row
    with a table, an entry that comes again is not counted. Where 2 f + 8 draws do not find f
    entries, or the row is short, the numbers of Efraimidis and Spirakis choose among the entries
    that are left; that of entry j is draw 4 f + 16 + j. The law is the same in both ways. O(f)
    time for a long row, unless few entries have most of the weight; O(k log k) time otherwise.

    Parameters
    ----------
    weights : (k,) float64 array
    table : pair of (k,) arrays, or None
        As for `by_alias`.
    f : int, at least 1
    stream : Stream
    """
    chosen: set[int] = set()
    draws = 2 * f + 8
    if table is not None and len(weights) > LONG * f:
        prob, alias = table
        for j in by_alias(prob, alias, draws, stream).tolist():
            chosen.add(j)
            if len(chosen) == f:
                return sorted(chosen)
    left = np.array([j for j, w in enumerate(weights) if w > 0 and j not in chosen], np.int64)
    u = 1 - _uniform(stream.k, (2 * draws + left).astype(np.uint64))
    return sorted([*chosen, *left[efraimidis_spirakis(weights[left], f - len(chosen), u)]])
