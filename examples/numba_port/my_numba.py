"""A third implementation, in Numba, of `frontier` and `induced_subgraph` (below 2**31 entries).

Its draws are the reference's, made before the walk; the walk and what follows are its own.
What is defined here under a public name of the reference counts as a kernel: helpers have others.
"""

from operator import index

import numpy as np
from numba import njit

from refimpl.graph import Counters, Graph, Subgraph
from refimpl.samplers import NodeSample
from refimpl.streams import pick_without_replacement, uniform


@njit(cache=True)
def walk(indptr, indices, weight, roots, which, where):
    FS, path, total = roots.copy(), np.empty((2, len(which)), np.int32), weight[roots].sum()
    step = 0
    while step < len(which) and total > 0:
        left, slot = int(which[step] * total), 0
        while left >= weight[FS[slot]]:
            left, slot = left - weight[FS[slot]], slot + 1
        u = FS[slot]
        v = indices[indptr[u] + int(where[step] * (indptr[u + 1] - indptr[u]))]
        FS[slot], path[0, step], path[1, step] = v, u, v
        total += weight[v] - weight[u]
        step += 1
    return path[:, :step]


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


def demand(right, rule, value, kind: type[Exception] = ValueError):
    if not right:
        raise kind(f"{rule}, got {value!r}")


def check_graph(graph):
    demand(isinstance(graph, Graph), "graph must be a Graph", graph, TypeError)
    demand(graph.symmetric, "graph must be undirected", graph)


def integer(name, value, low, high=2**31 - 1):
    demand(not isinstance(value, bool), f"{name} must be an integer", value, TypeError)
    demand(low <= index(value) <= high, f"{name} must be in [{low}, {high}]", value)
    return index(value)


def frontier(graph, main, probe, *, m, n, deg_cap=None, include="pushed"):
    check_graph(graph)
    m = integer("m", m, 1, graph.n)
    draws = np.arange(integer("n", n, m), dtype=np.uint64)
    cap = None if deg_cap is None else integer("deg_cap", deg_cap, 1)
    demand(include in ("pushed", "popped"), "include must be 'pushed' or 'popped'", include)
    roots, deg = pick_without_replacement(main, 0, graph.n, m), graph.degrees()
    which, where = uniform(probe, draws[: len(draws) - m]), uniform(main, draws[m:])
    weight = np.clip(deg, 0, cap)
    popped, pushed = walk(graph.indptr, graph.indices, weight, roots, which, where)
    nodes, steps = np.union1d(roots, pushed if include == "pushed" else popped), len(popped)
    sums = {"popped_degree_sum": int(deg[popped].sum()), "added_degree_sum": int(deg[pushed].sum())}
    counters = Counters(pops=steps, probes=steps, rounds=steps, draws=m + steps, **sums)
    return NodeSample(nodes, popped, pushed, counters)


def induced_subgraph(graph, nodes):
    check_graph(graph)
    nodes = np.asarray(nodes, None if np.size(nodes) else np.int32)
    demand(nodes.dtype.kind in "iu", "nodes must be integers", nodes, TypeError)
    ascending = nodes.ndim == 1 and np.all(np.diff(nodes, prepend=-1, append=graph.n) > 0)
    demand(ascending, f"nodes must ascend within [0, {graph.n})", nodes)
    nodes = nodes.astype(np.int32)
    rows, columns, edge_ids, perm = induce(graph.indptr, graph.indices, nodes)
    return Subgraph(nodes, Graph(rows, columns), edge_ids, perm)
