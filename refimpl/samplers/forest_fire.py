"""Forest fire: random spreading, started again until the sample is full."""

from __future__ import annotations

from collections import deque

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.graph.csr import Graph, undirected
from refimpl.hints import Float, Int
from refimpl.samplers.nodes import NodeSample, node_sample, sampler
from refimpl.streams import Stream


def fire_arguments(graph, main, n, p_f):
    """Check the arguments of `forest_fire`; return them."""
    graph = undirected(graph)
    n = require.integer("n", n, 1, 2**31 - 1)
    p_f = require.real("p_f", p_f, 0, high=1)
    return graph, require.word("main", main), n, p_f


@sampler
@checked_by(fire_arguments)
def forest_fire(graph: Graph, main: Int, *, n: Int, p_f: Float = 0.7) -> NodeSample:
    """Draw the nodes of a subgraph by fires that spread from random nodes.

    JPDC'21 section 3.3 names it and does not define it (E-B29); this is the fire of Leskovec
    and Faloutsos 2006 on an undirected graph. A burning node sets fire to a geometric number
    of its unburned neighbours, p_f / (1 - p_f) on average if it has as many. When a fire is out
    before n nodes have burned, another begins at a random unburned node. O(number of nodes +
    sum of the burned nodes' degrees) time.

    Parameters
    ----------
    graph : Graph
        Undirected.
    main : int in [0, 2**64)
        Key of the stream.
    n : int
        Sample size, n >= 1: the sample has exactly min(n, number of nodes) nodes.
    p_f : float in [0, 1]
        Probability to set fire to one more neighbour.

    Returns
    -------
    NodeSample
        `popped` and `pushed` are the node that spread the fire and the neighbour that caught
        it. Nodes at which a fire began are in `nodes` only.

    Raises
    ------
    TypeError, ValueError
        If the graph is directed or an option is out of range.
    """
    main, n = Stream(main), min(n, graph.n)
    unburned = Unburned(graph.n)
    Vs: set[int] = set()
    popped, pushed = [], []
    while len(Vs) < n:
        start = unburned.nodes[main.below(len(unburned.nodes))]
        unburned.remove(start)
        Vs.add(start)
        queue = deque([start])
        while queue and len(Vs) < n:
            u = queue.popleft()
            near = graph.indices[graph.indptr[u] : graph.indptr[u + 1]].tolist()
            U = [v for v in near if v not in Vs]
            k = _geometric(main, p_f, len(U))
            for i in main.pick_without_replacement(len(U), min(k, n - len(Vs))).tolist():
                unburned.remove(U[i])
                Vs.add(U[i])
                queue.append(U[i])
                popped.append(u)
                pushed.append(U[i])
    return node_sample(graph, Vs, popped, pushed, main.c)


def _geometric(main, p_f, most):
    """Return how many successes come before the first failure, at most `most`."""
    k = 0
    while k < most and main.uniform() < p_f:
        k += 1
    return k


class Unburned:
    """The nodes that have not burned, as a list; the last one takes the place of one removed."""

    def __init__(self, n):
        self.nodes, self.place = list(range(n)), list(range(n))

    def remove(self, v):
        last = self.nodes.pop()
        if last != v:
            self.nodes[self.place[v]], self.place[last] = last, self.place[v]
