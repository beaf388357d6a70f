"""Draw random edges: the nodes of a subgraph are their ends."""

import numpy as np

from refimpl.samplers.nodes import node_sample
from refimpl.streams import Stream


def edge(graph, main, *, b, method="direct"):
    """Draw the nodes of a subgraph as the ends of `b` random edges."""
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
