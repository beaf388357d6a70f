"""Transpose a matrix on an undirected graph by moving its values only."""

import numpy as np

from refimpl.graph import Graph


def transpose_perm(graph):
    """Return the permutation that transposes a matrix on the pattern of `graph`.

    JPDC'21 Algorithm 6. A and its transpose have their entries in the same places, as the graph is
    undirected. So only values move: those of the transpose are data[perm], where perm[k] is the
    entry (u, v) if entry k is (v, u).

    The paper's lines, in our words: a pointer for each node, at first where its row begins (3).
    Go through the rows v in order (4), and in each through its entries j (5); entry j is in column
    u (6). It is the next entry of row u of the transpose: note j where u's pointer is (7), and let
    that pointer go one further (8).

    Parameters
    ----------
    graph : Graph
        Undirected. The neighbours of node v are graph.indices[graph.indptr[v] :
        graph.indptr[v + 1]], ascending; graph.n nodes, graph.e entries.

    Returns
    -------
    (e,) int32 array

    Raises
    ------
    TypeError
        If `graph` is no Graph.
    ValueError
        If it is directed: not graph.symmetric.
    """
    if not isinstance(graph, Graph):
        raise TypeError("graph must be a Graph")
    if not graph.symmetric:
        raise ValueError("graph must be undirected")
    perm = np.full(graph.e, -1, np.int32)
    pointer = graph.indptr[:-1].copy()
    for v in range(graph.n):
        for j in range(graph.indptr[v], graph.indptr[v + 1]):
            u = graph.indices[j]
            perm[pointer[u]] = j
            pointer[u] += 1
    return perm


# ---- what follows is the course's ----

PAGE = "learn/transpose"
REFERENCE = "refimpl.graph.transpose:transpose_perm"
BESIDE = "The reference is the same loop, each line marked with the paper's."
REFUSES = True
STEPPER = ("transpose", "7", "7")
HINTS = (
    "The pointers begin as a copy of `graph.indptr` without its last number: "
    "`graph.indptr[:-1].copy()`. Without the copy they cannot be changed.",
    "Two loops: `for v in range(graph.n)`, and in it "
    "`for j in range(graph.indptr[v], graph.indptr[v + 1])`.",
    "Within them: u = graph.indices[j]; perm[pointer[u]] = j; pointer[u] += 1.",
)
MISTAKES = (
    (
        "            pointer[u] += 1\n",
        "",
        "forgets to move the pointer on, line 8",
        "graph has nodes of different degrees",
    ),
    (
        "perm[pointer[u]] = j\n            pointer[u] += 1",
        "perm[pointer[v]] = j\n            pointer[v] += 1",
        "uses the pointer of the row v in the place of the column u",
        "They are the right numbers in another order",
    ),
    (
        "range(graph.indptr[v], graph.indptr[v + 1])",
        "range(graph.indptr[v] + 1, graph.indptr[v + 1])",
        "leaves out the first entry of each row",
        "graph has edges",
    ),
    (
        "            u = graph.indices[j]\n"
        "            perm[pointer[u]] = j\n"
        "            pointer[u] += 1\n",
        "            u = graph.indices[j]\n"
        "            row = graph.indices[graph.indptr[u] : graph.indptr[u + 1]].tolist()\n"
        "            perm[j] = row.index(v)\n",
        "searches for v in row u, and forgets where that row begins",
        "graph has nodes of different degrees",
    ),
    (
        '    if not graph.symmetric:\n        raise ValueError("graph must be undirected")\n',
        "",
        "does not refuse a directed graph, whose transpose has another pattern",
        "edges 0->1",
    ),
)
