"""What every sampler takes and gives."""

from typing import NamedTuple

import numpy as np

from refimpl import _check
from refimpl.graph import Counters


class NodeSample(NamedTuple):
    """The nodes of one subgraph and how they were found.

    Attributes
    ----------
    nodes : (s,) int32, ascending
    popped, pushed : (steps,) int32
        The node that each step left, and the neighbour that it reached.
    counters : Counters
    """

    nodes: np.ndarray
    popped: np.ndarray
    pushed: np.ndarray
    counters: Counters


def frontier_options(graph, m, n, deg_cap, include):
    """Check what all frontier samplers share; return (m, n, deg_cap)."""
    _check.symmetric(graph)
    m = _check.integer("m", m, 1)
    if m > graph.n:
        raise ValueError(f"m must be at most the number of nodes ({graph.n}), got {m}")
    n = _check.integer("n", n, 1, 2**31 - 1)
    if n < m:
        raise ValueError(f"n must be at least m ({m}), got {n}")
    deg_cap = None if deg_cap is None else _check.integer("deg_cap", deg_cap, 1, 2**31 - 1)
    _check.choice("include", include, ("pushed", "popped"))
    return m, n, deg_cap
