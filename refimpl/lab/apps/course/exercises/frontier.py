"""Let a frontier walk over a graph: frontier sampling as the papers define it."""

import numpy as np

from refimpl.lab.apps.course.look import look
from refimpl.samplers.nodes import node_sample
from refimpl.streams import Stream


def frontier(graph, main, probe, *, m, n, deg_cap=None, include="pushed"):
    """Draw the nodes of a subgraph by frontier sampling.

    JPDC'21 Algorithm 2, in our words. The frontier begins as m distinct random nodes, the roots
    (line 1), which are in the sample (2). n - m times (3): choose a frontier node u, each with a
    probability in proportion to its degree (4), and one of its neighbours, all alike (5); the
    neighbour takes u's place in the frontier (6), and joins the sample (7).

    The frontier is a list of m places: two of them may hold the same node, and stay two.

    Randomness comes from two streams, `Stream(main)` and `Stream(probe)`, each with a counter of
    its own, in this order: the roots are `main.pick_without_replacement(number of nodes, m)`. In
    a step, draw a whole number below the sum of the frontier's weights, `probe.below(sum)`; the
    place is the first at which the weights, added up from the left, exceed it. Then
    `main.below(degree of u)` is the number of the neighbour in u's row.

    Parameters
    ----------
    graph : Graph
        Undirected. graph.degrees() are the nodes' degrees, graph.n is how many nodes there are;
        the neighbours of v are graph.indices[graph.indptr[v] : graph.indptr[v + 1]].
    main, probe : ints in [0, 2**64)
        Keys.
    m, n : int
        Places in the frontier; roots and steps together.
    deg_cap : int, optional
        A node weighs min(degree, deg_cap), where it is given. The neighbour is drawn among all.
    include : {"pushed", "popped"}
        Whether the neighbour joins the sample in a step, or u, the node that leaves.

    Returns
    -------
    NodeSample
        `node_sample(graph, sample, popped, pushed, draws, probes=steps, rounds=steps)`: the set
        of nodes, the lists of the nodes that left and that came, one a step, and how many numbers
        were drawn of main (`Stream.c`). A walk ends early if all weights in the frontier are 0.

    Not needed, but `look(frontier=FS, sample=sorted(sample))`, before the first step and after
    each, lets `check` show at which step the frontier went another way.
    """
    main, probe = Stream(main), Stream(probe)
    degrees = graph.degrees()
    weights = degrees if deg_cap is None else np.minimum(degrees, deg_cap)
    FS = main.pick_without_replacement(graph.n, m).tolist()
    sample, popped, pushed = set(FS), [], []
    look(frontier=FS, sample=sorted(sample))
    for _ in range(n - m):
        sums = np.cumsum(weights[FS])
        if sums[-1] == 0:
            break
        draw = probe.below(int(sums[-1]))
        place = int(np.searchsorted(sums, draw, side="right"))
        u = FS[place]
        new = int(graph.indices[graph.indptr[u] + main.below(int(degrees[u]))])
        FS[place] = new
        sample.add(new if include == "pushed" else u)
        popped.append(u)
        pushed.append(new)
        look(frontier=FS, sample=sorted(sample))
    steps = len(popped)
    return node_sample(graph, sample, popped, pushed, main.c, probes=steps, rounds=steps)


# ---- what follows is the course's ----

PAGE = "learn/frontier"
REFERENCE = "refimpl.samplers.frontier:frontier"
BESIDE = (
    "The reference is nearly the same, each line marked with the paper's and its erratum; it "
    "checks its arguments before."
)
STEPPER = ("frontier", "4", "5")
HINTS = (
    "Keep FS as a list. `np.cumsum(weights[FS])` adds the weights up from the left.",
    'The first place whose sum exceeds the draw: `np.searchsorted(sums, draw, side="right")`. With '
    "the other side, a draw equal to a sum goes to the wrong place.",
    "Neighbour number i of u is `graph.indices[graph.indptr[u] + i]`. Weights may be capped; i is "
    "drawn below the degree.",
    "Stop where `sums[-1]` is 0. Count nothing: steps, probes and rounds are `len(popped)`.",
)
MISTAKES = (
    (
        "        draw = probe.below(int(sums[-1]))\n"
        '        place = int(np.searchsorted(sums, draw, side="right"))\n',
        "        place = probe.below(m)\n",
        "chooses each place of the frontier alike, and not in proportion to the degree",
        "another node leaves",
    ),
    (
        'side="right"',
        'side="left"',
        "takes the first place whose sum is at least the draw, where it has to exceed it",
        "another node leaves",
    ),
    (
        "main.below(int(degrees[u]))",
        "main.below(int(weights[u]))",
        "draws the neighbour among the first `deg_cap` ones",
        "A node competes with min(degree, deg_cap)",
    ),
    (
        'sample.add(new if include == "pushed" else u)',
        "sample.add(new)",
        "lets the node that is reached join the sample whatever `include` says",
        "The node that is left joins the sample, not the one that is reached",
    ),
    (
        "        if sums[-1] == 0:\n            break\n",
        "",
        "goes on when only nodes without neighbours are left in the frontier",
        "Only isolated nodes are left in the frontier",
    ),
    (
        "    for _ in range(n - m):",
        "    for _ in range(n):",
        "makes n steps: n nodes in all are the m roots and n - m steps",
        "more",
    ),
    (
        "FS = main.pick_without_replacement(graph.n, m).tolist()",
        "FS = probe.pick_without_replacement(graph.n, m).tolist()",
        "draws the roots from the stream `probe`",
        "",
    ),
    (
        "        FS[place] = new\n",
        "        FS.remove(u)\n        FS.append(new)\n",
        "puts the new node at the end of the list, and not in the place of the old one",
        "",
    ),
)
