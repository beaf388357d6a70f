"""The graph that the course shows everything on, and the settings of its worked examples."""

from refimpl.graph import as_graph

EDGES = ((0, 1), (0, 2), (0, 3), (1, 2), (3, 4), (4, 5))  # a triangle with a tail
PLACES = {0: (1, 1), 1: (0, 0), 2: (0, 1), 3: (2, 1), 4: (3, 1), 5: (4, 1)}
M, N, ETA, SEED = 2, 6, 2.0, 7


def six_nodes():
    """Return the graph."""
    return as_graph(EDGES, symmetrize=True)
