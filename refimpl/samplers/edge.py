"""Random edges: the end points of b of them are the sample."""

from __future__ import annotations

from typing import Literal

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.graph.csr import Graph, undirected
from refimpl.hints import Floats, Ids, Int
from refimpl.samplers.alias import alias_build, outcome
from refimpl.samplers.nodes import NodeSample, node_sample, random_neighbour, sampler
from refimpl.streams import Stream


def edge_arguments(graph, main, b, method):
    """Check the arguments of `edge`; return them."""
    graph = undirected(graph)
    b = require.integer("b", b, 1, 2**31 - 1)
    method = require.choice("method", method, ("direct", "alias"))
    return graph, require.word("main", main), b, method


@sampler
@checked_by(edge_arguments)
def edge(
    graph: Graph, main: Int, *, b: Int, method: Literal["direct", "alias"] = "direct"
) -> NodeSample:  # 1 E-B27: b, not m
    """Draw the nodes of a subgraph as the end points of random edges.

    JPDC'21 Algorithm 5, "Edge"; ``# n`` marks line n, and line 5 is `induced_subgraph`. An edge
    {u, v} is drawn with probability proportional to 1 / deg(u) + 1 / deg(v), a loop with
    1 / deg(u). Over all edges this adds up to the number of nodes that are not isolated: the
    law is that of a uniform neighbour of a uniform node among them. O(b) time on top of one
    pass over the nodes ("direct") or the edges ("alias").

    Parameters
    ----------
    graph : Graph
        Undirected. Without edges the sample is empty.
    main : int in [0, 2**64)
        Key of the stream; each edge takes two draws.
    b : int
        Number of edges to draw, with replacement: at most 2 b nodes.
    method : {"direct", "alias"}
        A node and its neighbour, or the paper's formula through `alias_build`: one law, but
        other edges.

    Returns
    -------
    NodeSample
        Its step i is edge i: `popped` the node drawn and `pushed` its neighbour ("direct"), or
        the lower and the higher end ("alias").

    Raises
    ------
    TypeError, ValueError
        If the graph is directed or an option is out of range.
    """
    main = Stream(main)
    draw = {"direct": _uniform_node_law, "alias": _alias_law}[method](graph)  # 2
    Es = [draw(main) for _ in range(b)] if graph.e else []  # 3 E-B27: b edges, with replacement
    Vs = {v for ends in Es for v in ends}  # 4
    return node_sample(graph, Vs, [u for u, _ in Es], [v for _, v in Es], main.c)


def _uniform_node_law(graph):
    """Return a function that draws (node, neighbour)."""
    nodes = np.flatnonzero(graph.degrees())

    def draw(main):
        u = int(nodes[main.below(len(nodes))])
        return u, random_neighbour(graph, main, u)

    return draw


def _alias_law(graph):
    """Return a function that draws (lower end, higher end) from a table of all edges."""
    u, v, weights = edge_weights(graph)
    table = alias_build(weights) if len(weights) else None

    def draw(main):
        e = outcome(table, main)
        return int(u[e]), int(v[e])

    return draw


def edge_weights(graph: Graph) -> tuple[np.ndarray, Ids, Floats[np.float64]]:
    """Return (u, v, weight) of all undirected edges u <= v, in the order of `graph.indices`.

    The weight is 1 / deg(u) + 1 / deg(v). A loop is one entry of the graph, and stands for
    1 / deg(u) only.
    """
    deg = graph.degrees()
    u, v = np.repeat(np.arange(graph.n), deg), graph.indices
    u, v = u[once := u <= v], v[once]
    return u, v, 1.0 / deg[u] + np.where(u < v, 1.0 / deg[v], 0.0)
