"""Draw random edges: the nodes of a subgraph are their ends."""

import numpy as np

from refimpl.samplers.nodes import node_sample
from refimpl.streams import Stream


def edge(graph, main, *, b, method="direct"):
    """Draw the nodes of a subgraph as the ends of `b` random edges.

    JPDC'21 Algorithm 5, "Edge". The edge {u, v} is to have a probability in proportion to
    1 / deg(u) + 1 / deg(v). No table of all edges is needed for it: take a node among those that
    have neighbours, all alike, and one of its neighbours, all alike. Edges may come twice.

    Draws are taken from `Stream(main)` in turn: for each edge `below(how many nodes have
    neighbours)`, which counts these nodes in ascending order, then `below(degree)`.

    Parameters
    ----------
    graph : Graph
        Undirected; see `frontier`. Without edges the sample is empty, and nothing is drawn.
    main : int in [0, 2**64)
        Key.
    b : int
        Edges to draw.
    method : "direct"
        Has no part in this exercise.

    Returns
    -------
    NodeSample
        `node_sample(graph, sample, popped, pushed, draws)`: the set of all ends, the list of the
        nodes drawn first and that of their neighbours, and how many numbers were drawn.
    """
    main = Stream(main)
    degrees = graph.degrees()
    nodes = np.flatnonzero(degrees)
    popped, pushed = [], []
    for _ in range(b if graph.e else 0):
        u = int(nodes[main.below(len(nodes))])
        v = int(graph.indices[graph.indptr[u] + main.below(int(degrees[u]))])
        popped.append(u)
        pushed.append(v)
    return node_sample(graph, {*popped, *pushed}, popped, pushed, main.c)


# ---- what follows is the course's ----

PAGE = "learn/edge_and_walks"
REFERENCE = "refimpl.samplers.edge:edge"
BESIDE = (
    'The reference also has the paper\'s formula as a table of all edges (`method="alias"`); what '
    "you wrote is its `_uniform_node_law`."
)
WITHOUT = ("ALIAS",)
HINTS = (
    "`np.flatnonzero(graph.degrees())` are the nodes that have neighbours, ascending.",
    "Why it is the right law: u is drawn with 1 / N and v as its neighbour with 1 / deg(u); or v "
    "is drawn first. Together 1 / N times (1 / deg(u) + 1 / deg(v)).",
    "The sample is the set of all that stand in `popped` and `pushed`.",
)
MISTAKES = (
    (
        "nodes = np.flatnonzero(degrees)",
        "nodes = np.arange(graph.n)",
        "draws among all nodes, those without neighbours too",
        "graph has a node without neighbours",
    ),
    (
        "        u = int(nodes[main.below(len(nodes))])\n"
        "        v = int(graph.indices[graph.indptr[u] + main.below(int(degrees[u]))])\n",
        "        j = main.below(graph.e)\n"
        '        u = int(np.searchsorted(graph.indptr, j, side="right")) - 1\n'
        "        v = int(graph.indices[j])\n",
        "draws an entry of the graph, so that all edges are equally likely",
        "another node",
    ),
    (
        "b if graph.e else 0",
        "b",
        "draws from a graph without edges",
        "A graph with nodes and no edges",
    ),
    (
        "{*popped, *pushed}",
        "set(pushed)",
        "puts only one end of each edge into the sample",
        "nodes",
    ),
)
