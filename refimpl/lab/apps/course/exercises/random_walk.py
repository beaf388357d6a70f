"""Walk at random from random roots: the nodes of a subgraph are those that are met."""

from refimpl.samplers.nodes import node_sample
from refimpl.streams import Stream


def random_walk(graph, main, *, r, h):
    """Draw the nodes of a subgraph by `r` random walks of `h` steps.

    JPDC'21 Algorithm 5, "RW", in our words: r distinct random roots (line 8) are in the sample
    (9). From each of them in turn (10), a walk begins at the root (11): h times (12) it goes on to
    a random neighbour of where it is (13), which joins the sample (14). All walks begin at their
    own root. A walk from a node without neighbours makes no step, and draws nothing.

    Draws are taken from `Stream(main)` in turn: `pick_without_replacement(number of nodes, r)`,
    then for each step `below(degree of the node where the walk is)`.

    Parameters
    ----------
    graph : Graph
        Undirected; see `frontier`.
    main : int in [0, 2**64)
        Key.
    r, h : int
        Roots, and steps from each.

    Returns
    -------
    NodeSample
        `node_sample(graph, sample, popped, pushed, draws)`: the set of nodes, the list of the
        nodes that each step left and of those it came to, and how many numbers were drawn.
    """
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


# ---- what follows is the course's ----

PAGE = "learn/edge_and_walks"
REFERENCE = "refimpl.samplers.random_walk:random_walk"
BESIDE = "The reference is the same, each line marked with the paper's."
HINTS = (
    "Two loops: over the roots, and over the steps of one walk. `u` is where the walk is.",
    "The graph is undirected, so a walk that begins at a node with neighbours never gets stuck.",
    "Append u to `popped` before the step, and to `pushed` after it.",
)
MISTAKES = (
    (
        "        u = root\n        for _ in range(h if degrees[root] else 0):\n",
        "        for _ in range(h if degrees[root] else 0):\n            u = root\n",
        "begins each step at the root, so that it looks at neighbours of the root only",
        "popped",
    ),
    (
        "main.below(int(degrees[u]))",
        "main.below(int(degrees[root]))",
        "draws below the degree of the root, and not of the node where the walk is",
        "graph has nodes of different degrees",
    ),
    (
        "range(h if degrees[root] else 0)",
        "range(h)",
        "takes steps from a node without neighbours",
        "A walk stands on a node without neighbours",
    ),
    (
        "sample, popped, pushed = set(roots), [], []",
        "sample, popped, pushed = set(), [], []",
        "leaves the roots out of the sample",
        "nodes",
    ),
    (
        "range(h if degrees[root] else 0)",
        "range(h + 1 if degrees[root] else 0)",
        "takes one step too many",
        "The numbers that are wanted stand in front",
    ),
)
