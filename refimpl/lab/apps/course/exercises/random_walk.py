"""Walk at random from random roots: the nodes of a subgraph are those that are met."""

from refimpl.samplers.nodes import node_sample
from refimpl.streams import Stream


def random_walk(graph, main, *, r, h):
    """Draw the nodes of a subgraph by `r` random walks of `h` steps."""
    main = Stream(main)
    degrees = graph.degrees()
    roots = main.pick_without_replacement(graph.n, r).tolist()
    sample, popped, pushed = set(roots), [], []
    for root in roots:
        u = root
        for _ in range(h if degrees[root] else 0):
            popped.append(u)
            u = int(graph.indices[graph.indptr[u] + main.below(int(degrees[u]))])
            pushed.append(u)
            sample.add(u)
    return node_sample(graph, sample, popped, pushed, main.c)
