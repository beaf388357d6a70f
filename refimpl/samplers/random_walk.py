"""Random walks from random roots."""

from __future__ import annotations

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.graph.csr import Graph, undirected
from refimpl.hints import Int
from refimpl.samplers.nodes import NodeSample, node_sample, random_neighbour, root_count, sampler
from refimpl.streams import Stream


def walk_arguments(graph, main, r, h):
    """Check the arguments of `random_walk`; return them."""
    graph = undirected(graph)
    r = root_count(graph, "r", r)
    h = require.integer("h", h, 0, (2**31 - 1) // r - 1)
    return graph, require.word("main", main), r, h


@sampler
@checked_by(walk_arguments)
def random_walk(graph: Graph, main: Int, *, r: Int, h: Int) -> NodeSample:  # 7
    """Draw the nodes of a subgraph by r random walks of h steps.

    JPDC'21 Algorithm 5, "RW"; ``# n`` marks line n, and line 17 is `induced_subgraph`. O(r h)
    time.

    Parameters
    ----------
    graph : Graph
        Undirected.
    main : int in [0, 2**64)
        Key of the stream: all roots, then the steps of the first walk, the second, and so on.
    r : int
        Number of distinct roots, 1 <= r <= number of nodes.
    h : int
        Steps of each walk, h >= 0 and r (h + 1) < 2**31: at most r (h + 1) nodes. A walk stays
        where there is no neighbour, and draws nothing.

    Returns
    -------
    NodeSample

    Raises
    ------
    TypeError, ValueError
        If the graph is directed or an option is out of range.
    """
    main = Stream(main)
    deg = graph.degrees()
    popped, pushed = [], []

    roots = main.pick_without_replacement(graph.n, r).tolist()  # 8
    Vs = set(roots)  # 9
    for v in roots:  # 10
        u = v  # 11
        for _ in range(h if deg[v] else 0):  # 12 E-B27: the counter is not d
            popped.append(u)
            u = random_neighbour(graph, main, u)  # 13
            pushed.append(u)
            Vs.add(u)  # 14

    return node_sample(graph, Vs, popped, pushed, main.c)
