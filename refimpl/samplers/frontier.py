"""Frontier sampling as the papers state it: the law that every dashboard must have."""

from __future__ import annotations

from typing import Literal

import numpy as np

from refimpl._support.argument_checks import checked_by
from refimpl.graph import Graph
from refimpl.hints import Int
from refimpl.samplers.nodes import (
    NodeSample,
    frontier_options,
    node_sample,
    random_neighbour,
    sampler,
    stream_keys,
)
from refimpl.streams import Stream


def frontier_arguments(graph, main, probe, m, n, deg_cap, include):
    """Check the arguments of `frontier`; return them."""
    graph, *options = frontier_options(graph, m, n, deg_cap, include)
    return graph, *stream_keys(main, probe), *options


@sampler
@checked_by(frontier_arguments)
def frontier(
    graph: Graph,
    main: Int,
    probe: Int,
    *,
    m: Int,
    n: Int,
    deg_cap: Int | None = None,
    include: Literal["pushed", "popped"] = "pushed",
) -> NodeSample:
    """Draw the nodes of a subgraph by frontier sampling.

    IPDPS'19 and JPDC'21 Algorithm 2; ``# n`` marks line n, and its last lines are
    `induced_subgraph`. A frontier of m nodes walks over the graph: at each step one is replaced
    by a random neighbour, chosen with probability proportional to its degree. The frontier is a
    list: two of its nodes may meet (E-B3). O(m (n - m)) time.

    Parameters
    ----------
    graph : Graph
        Undirected.
    main, probe : ints in [0, 2**64)
        Keys of two streams: roots and neighbours, and which node to replace.
    m : int
        Frontier size, 1 <= m <= number of nodes.
    n : int
        Node budget, n >= m: there are n - m steps, and at most n distinct nodes (E-B4).
    deg_cap : int, optional
        A node counts as if it had at most this degree when it competes to be replaced.
    include : {"pushed", "popped"}
        Which node of a step joins the sample. The papers print both (E-B1).

    Returns
    -------
    NodeSample
        Of its counters, `probes` and `rounds` equal `pops`, and there is no dashboard.

    Raises
    ------
    TypeError, ValueError
        If the graph is directed or an option is out of range.
    """
    main, probe = Stream(main), Stream(probe)
    deg = graph.degrees()
    weight = deg if deg_cap is None else np.minimum(deg, deg_cap)
    popped, pushed = [], []

    FS = main.pick_without_replacement(graph.n, m)  # 1 E-B5: without replacement
    Vs = set(FS.tolist())  # 2
    for _ in range(n - m):  # 3 E-B4: n - m steps, not n nodes
        cumulative = np.cumsum(weight[FS])
        if cumulative[-1] == 0:  # only isolated nodes are left (E-B26)
            break
        slot = np.searchsorted(cumulative, probe.below(cumulative[-1]), side="right")  # 4
        u = int(FS[slot])  # 4
        u_new = random_neighbour(graph, main, u)  # 5
        FS[slot] = u_new  # 6 E-B3: a list of m slots, not a set
        Vs.add(u_new if include == "pushed" else u)  # 7 E-B1: pushed or popped
        popped.append(u)
        pushed.append(u_new)

    counts = {"probes": len(popped), "rounds": len(popped)}
    return node_sample(graph, Vs, popped, pushed, main.c, **counts)
