"""Independent random walks with the budget of frontier sampling."""

from __future__ import annotations

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.graph.csr import Graph, undirected
from refimpl.hints import Int
from refimpl.samplers.nodes import NodeSample, node_sample, random_neighbour, sampler, walk_budget
from refimpl.streams import Stream


def walks_arguments(graph, main, m, n):
    """Check the arguments of `multiple_walks`; return them."""
    graph = undirected(graph)
    m, n = walk_budget(graph, m, n)
    return graph, require.word("main", main), m, n


@sampler
@checked_by(walks_arguments)
def multiple_walks(graph: Graph, main: Int, *, m: Int, n: Int) -> NodeSample:
    """Draw the nodes of a subgraph by m independent random walks of n - m steps in all.

    The static sampler next to `frontier`, with the same two parameters: every root walks
    equally far, whatever the degrees. JPDC'21 section 3.3 names it and does not define it
    (E-B29). O(n) time.

    Parameters
    ----------
    graph : Graph
        Undirected.
    main : int in [0, 2**64)
        Key of the stream: all roots, then the steps of the first walk, the second, and so on.
    m : int
        Number of distinct roots, 1 <= m <= number of nodes.
    n : int
        Node budget, n >= m. Each walk has (n - m) // m steps, and the first (n - m) % m walks
        have one more. A walk stays where there is no neighbour, and draws nothing.

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

    roots = main.pick_without_replacement(graph.n, m).tolist()
    each, extra = divmod(n - m, m)
    for i, u in enumerate(roots):
        steps = each + (i < extra)
        for _ in range(steps if deg[u] else 0):
            popped.append(u)
            u = random_neighbour(graph, main, u)
            pushed.append(u)

    return node_sample(graph, {*roots, *pushed}, popped, pushed, main.c)
