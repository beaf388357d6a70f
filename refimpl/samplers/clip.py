"""Sample sizes that fill whole cache lines."""

from __future__ import annotations

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.hints import Ids, Int, Integers
from refimpl.streams import pick_without_replacement


def clip_arguments(nodes, unit, k, c):
    """Check `nodes` and `unit` of `clip_nodes`; the stream checks `k` and `c`. Return all."""
    nodes = require.node_set("nodes", nodes, 2**31 - 1)
    return nodes, require.integer("unit", unit, 1, 2**31 - 1), k, c


@checked_by(clip_arguments)
def clip_nodes(nodes: Integers, unit: Int, k: Int, c: Int) -> Ids:
    """Return `nodes` without as many random ones as are over a multiple of `unit`.

    JPDC'21 section 6.2: with rows of features split among cores, a number of nodes that fills
    whole cache lines (8 float64 in 64 bytes) keeps two cores from writing to one line. Fewer
    than `unit` nodes are all kept.

    Parameters
    ----------
    nodes : (s,) integer array, strictly ascending
    unit : int >= 1
    k, c : ints in [0, 2**64)
        Key of a stream and the first draw to use: s % unit draws, if s >= unit.

    Returns
    -------
    (s or s - s % unit,) int32 array, ascending

    Raises
    ------
    TypeError, ValueError
        If an argument is of another type, or out of range.
    """
    s = len(nodes)
    over = s % unit if s >= unit else 0
    return np.delete(np.asarray(nodes, np.int32), pick_without_replacement(k, c, s, over))
