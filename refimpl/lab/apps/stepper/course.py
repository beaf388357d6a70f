"""The graph that the course shows everything on, and the settings of its worked examples."""

import numpy as np

from refimpl.graph import Graph, as_graph
from refimpl.lab.data.dataset import Dataset

EDGES = ((0, 1), (0, 2), (0, 3), (1, 2), (3, 4), (4, 5))  # a triangle with a tail
PLACES = {0: (1, 1), 1: (0, 0), 2: (0, 1), 3: (2, 1), 4: (3, 1), 5: (4, 1)}
M, N, ETA, SEED = 2, 6, 2.0, 7
FEATURES = np.array([[2.0, 0], [1, 0], [1, 1], [0, 1], [0, 2], [1, 2]])
LABELS = np.array([0, 0, 0, 1, 1, 1])


def six_nodes() -> Graph:
    """Return the graph."""
    return as_graph(EDGES, symmetrize=True)


def tail_dataset() -> Dataset:
    """Return the graph with features and labels; all six nodes train."""
    nobody = np.arange(0)
    return Dataset("tail", six_nodes(), FEATURES, LABELS, np.arange(6), nobody, nobody)
