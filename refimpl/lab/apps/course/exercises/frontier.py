"""Let a frontier walk over a graph: frontier sampling as the papers define it."""

import numpy as np

from refimpl.lab.apps.course.look import look
from refimpl.samplers.nodes import node_sample
from refimpl.streams import Stream


def frontier(graph, main, probe, *, m, n, deg_cap=None, include="pushed"):
    """Draw the nodes of a subgraph by frontier sampling."""
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
