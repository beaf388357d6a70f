"""Small graphs with a name each, for cases: every one breaks some careless code."""

import numpy as np

from refimpl.graph import Graph, from_edges
from refimpl.hints import Ids
from refimpl.lab.data.generators import power_law
from refimpl.lab.data.karate import karate


def undirected(n: int, *edges: tuple[int, int]) -> Graph:
    """Return the Graph of n nodes with each (u, v) of `edges` in both directions."""
    u, v = np.array(edges, np.int64).reshape(-1, 2).T
    return from_edges(u, v, n, symmetrize=True)


def directed(n: int, *edges: tuple[int, int]) -> Graph:
    """Return the Graph of n nodes with exactly these `edges`."""
    u, v = np.array(edges, np.int64).reshape(-1, 2).T
    return from_edges(u, v, n)


NOTHING = Graph(np.zeros(1, np.int64), np.zeros(0, np.int32))
LONELY = undirected(1)
LOOP = undirected(1, (0, 0))
PAIR = undirected(2, (0, 1))
PATH3 = undirected(3, (0, 1), (1, 2))
PATH6 = undirected(6, *[(v, v + 1) for v in range(5)])
NO_EDGES = undirected(3)
# A triangle with a tail: 0 has the neighbours 1 2, 1 has 0 2, 2 has 0 1 3, and 3 has 2.
PAW = undirected(4, (0, 1), (0, 2), (1, 2), (2, 3))
STAR = undirected(8, *[(0, v) for v in range(1, 8)])
# A path 0 1 2 with loops at 1 and 4, and the isolated nodes 3 and 5.
LOOPS = undirected(6, (0, 1), (1, 1), (1, 2), (4, 4))
# A hub, a triangle and an isolated node: rows of length 6 to 0.
MIXED = undirected(8, *[(1, v) for v in (0, 2, 3, 4, 5, 6)], (2, 3), (4, 4))
ARROWS = directed(4, (0, 1), (0, 3), (1, 2), (3, 0))
# Graphs with edges that have no reverse. A search by bisection would find the place of the reverse
# in front of the last neighbour, or behind it; and each node may have as many edges in as out.
ONE_WAY_INSIDE = directed(3, (0, 1), (1, 2), (2, 1))
ONE_WAY_BEHIND = directed(2, (0, 1))
ONE_WAY_ROUND = directed(3, (0, 1), (1, 2), (2, 0))
KARATE = karate()
LARGE = power_law(2708, 3.9, 1)  # of the size of Cora


def ids(*values: int) -> Ids:
    """Return node ids as kernels do: int32."""
    return np.array(values, np.int32)
