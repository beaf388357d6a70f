"""A third implementation, in Numba, of `frontier` and `induced_subgraph` (below 2**31 entries).

What is defined here under a public name of the reference counts as a kernel: helpers have others.
"""

from operator import index

import numpy as np
from numba import njit

from refimpl.graph import Counters, Graph, Subgraph
from refimpl.samplers import NodeSample
from refimpl.streams import pick_without_replacement as pick

U = np.uint64  # of a uint64 and an int64 Numba makes a float64: a word meets words only
GOLD, FIRST, SECOND = U(0x9E3779B97F4A7C15), U(0xBF58476D1CE4E5B9), U(0x94D049BB133111EB)


@njit(cache=True)
def draw(k, c, n):
    x = k + GOLD * (U(c) + U(1))
    x = (x ^ (x >> U(30))) * FIRST
    x = (x ^ (x >> U(27))) * SECOND
    return int(float((x ^ (x >> U(31))) >> U(11)) * 2.0**-53 * n)


@njit(cache=True)
def walk(indptr, indices, weight, main, probe, FS, path):
    total = weight[FS].sum()
    for step in range(path.shape[1]):
        if total == 0:
            return step
        left, slot = draw(probe, step, total), 0
        while left >= weight[FS[slot]]:
            left, slot = left - weight[FS[slot]], slot + 1
        u = FS[slot]
        v = indices[indptr[u] + draw(main, len(FS) + step, indptr[u + 1] - indptr[u])]
        FS[slot], path[0, step], path[1, step] = v, u, v
        total += weight[v] - weight[u]
    return path.shape[1]


@njit(cache=True)
def induce(indptr, indices, nodes):
    local, rows = np.full(len(indptr) - 1, -1, np.int32), np.zeros(len(nodes) + 1, np.int64)
    local[nodes] = np.arange(len(nodes))
    edge_ids = np.empty((indptr[nodes + 1] - indptr[nodes]).sum(), np.int64)
    for i, v in enumerate(nodes):
        rows[i + 1] = rows[i]
        for j in range(indptr[v], indptr[v + 1]):
            edge_ids[rows[i + 1]] = j  # stays if the neighbour is in
            rows[i + 1] += local[indices[j]] >= 0
    edge_ids = edge_ids[: rows[-1]].copy()
    columns, free, perm = local[indices[edge_ids]], rows[:-1].copy(), np.empty(rows[-1], np.int32)
    for j, u in enumerate(columns):
        perm[free[u]] = j
        free[u] += 1
    return rows, columns, edge_ids, perm


def undirected(graph):
    if not isinstance(graph, Graph) or not graph.symmetric:
        kind = ValueError if isinstance(graph, Graph) else TypeError
        raise kind(f"graph must be an undirected Graph, got {graph}")


def integer(name, value, low, high):
    if isinstance(value, bool) or not low <= index(value) <= high:
        kind = TypeError if isinstance(value, bool) else ValueError
        raise kind(f"{name} must be an integer in [{low}, {high}], got {value}")
    return index(value)


def frontier(graph, main, probe, *, m, n, deg_cap=None, include="pushed"):
    undirected(graph)
    main, probe = (integer("main and probe", key, 0, 2**64 - 1) for key in (main, probe))
    m = integer("m", m, 1, graph.n)
    path = np.empty((2, integer("n", n, m, 2**31 - 1) - m), np.int32)
    cap = 2**31 - 1 if deg_cap is None else integer("deg_cap", deg_cap, 1, 2**31 - 1)
    if include not in ("pushed", "popped"):
        raise ValueError(f"include must be 'pushed' or 'popped', got {include!r}")
    deg, roots = graph.degrees(), pick(main, 0, graph.n, m)
    given = graph.indptr, graph.indices, np.minimum(deg, cap), U(main), U(probe)
    steps = walk(*given, roots.copy(), path)
    popped, pushed = path[:, :steps].copy()
    nodes = np.union1d(roots, pushed if include == "pushed" else popped)
    sums = {"popped_degree_sum": int(deg[popped].sum()), "added_degree_sum": int(deg[pushed].sum())}
    counters = Counters(pops=steps, probes=steps, rounds=steps, draws=m + steps, **sums)
    return NodeSample(nodes, popped, pushed, counters)


def induced_subgraph(graph, nodes):
    undirected(graph)
    nodes = np.asarray(nodes) if np.size(nodes) else np.empty(np.shape(nodes), np.int32)
    if nodes.dtype.kind not in "iu":
        raise TypeError(f"nodes must be integers, got {nodes.dtype}")
    if nodes.ndim != 1 or np.any(np.diff(nodes, prepend=-1, append=graph.n) <= 0):
        raise ValueError(f"nodes must ascend within [0, {graph.n})")
    nodes = nodes.astype(np.int32)
    rows, columns, edge_ids, perm = induce(graph.indptr, graph.indices, nodes)
    return Subgraph(nodes, Graph(rows, columns), edge_ids, perm)
