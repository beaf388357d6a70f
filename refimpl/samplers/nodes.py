"""What every sampler takes and gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from refimpl._support import require
from refimpl.graph import Counters
from refimpl.graph.csr import undirected
from refimpl.hints import Ids

KERNELS: dict[str, Callable] = {}  # every sampler by its name
Kernel = TypeVar("Kernel", bound=Callable)


def sampler(kernel: Kernel) -> Kernel:
    """Enter a function of a module of this folder in the table of samplers; return the function.

    Functions of other modules are not entered, and no entry is replaced: a student's file, or a
    test, may run a copy of a sampler's source.

    Raises
    ------
    ValueError
        If another module has a sampler of this name.
    """
    name, module = kernel.__name__, kernel.__module__
    if module.startswith(f"{__package__}."):
        entered = KERNELS.setdefault(name, kernel).__module__
        if entered != module:
            raise ValueError(f"{module} must name its sampler otherwise: {entered} has {name}")
    return kernel


class NodeSample(NamedTuple):
    """The nodes of one subgraph and how they were found.

    What every sampler returns, such as `frontier`.

    Attributes
    ----------
    nodes : (s,) int32, ascending
    popped, pushed : (steps,) int32
        The node that each step left, and the neighbour that it reached. A step that cannot be
        made, at a node without neighbours, is not listed.
    counters : Counters
    """

    nodes: Ids
    popped: Ids
    pushed: Ids
    counters: Counters


def node_sample(graph, nodes, popped, pushed, draws, **counts):
    """Return the NodeSample of the set `nodes` and the steps popped[i] -> pushed[i].

    `draws` and `counts` are counters; the steps and the degrees at their ends are counted here.
    """
    deg = graph.degrees()
    popped, pushed = np.array(popped, np.int32), np.array(pushed, np.int32)
    counters = Counters(
        pops=len(popped),
        popped_degree_sum=int(deg[popped].sum()),
        added_degree_sum=int(deg[pushed].sum()),
        draws=draws,
        **counts,
    )
    return NodeSample(np.array(sorted(nodes), np.int32), popped, pushed, counters)


def random_neighbour(graph, main, u):
    """Return a neighbour of u, each with the same probability: one draw of the Stream `main`."""
    start, end = graph.indptr[u : u + 2].tolist()
    return int(graph.indices[start + main.below(end - start)])


def root_count(graph, name, value):
    """Check how many distinct roots to draw; return it."""
    value = require.integer(name, value, 1)
    if value > graph.n:
        most = f"at most the number of nodes ({graph.n})"
        raise ValueError(f"{name} must be {most}, got {require.shown(value)}")
    return value


def walk_budget(graph, m, n):
    """Check m distinct roots and n >= m nodes in all; return (m, n)."""
    m = root_count(graph, "m", m)
    n = require.integer("n", n, 1, 2**31 - 1)
    if n < m:
        raise ValueError(f"n must be at least m ({m}), got {n}")
    return m, n


def frontier_options(graph, m, n, deg_cap, include):
    """Check what all frontier samplers share; return it, in order."""
    graph = undirected(graph)
    m, n = walk_budget(graph, m, n)
    deg_cap = None if deg_cap is None else require.integer("deg_cap", deg_cap, 1, 2**31 - 1)
    return graph, m, n, deg_cap, require.choice("include", include, ("pushed", "popped"))


def stream_keys(main, probe):
    """Check the keys of the two streams of a frontier sampler; return both."""
    return require.word("main", main), require.word("probe", probe)
