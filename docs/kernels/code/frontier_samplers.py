"""The nodes of a subgraph by a frontier that walks: four samplers with one law."""

from choosing import pick_without_replacement
from forms import (
    degree,
    has_one_way_edge,
    is_graph,
    is_integer,
    is_word,
    neighbours,
    node_count,
)
from streams import below


def frontier(graph, main, probe, m, n, deg_cap, include, states):
    front = pick_without_replacement(main, 0, node_count(graph), m)  # 1
    draws = m  # of `main`, so far
    sample = set(front)  # 2
    popped = []
    pushed = []
    states.append({"frontier": list(front), "sample": sorted(sample)})
    for step in range(n - m):  # 3
        total = 0
        for v in front:
            total += weight(graph, v, deg_cap)
        if total == 0:  # only isolated nodes are left: stop early
            break
        rest = below(probe, step, total)  # 4
        slot = 0
        while rest >= weight(graph, front[slot], deg_cap):
            rest -= weight(graph, front[slot], deg_cap)
            slot += 1
        u = front[slot]
        which = below(main, draws, degree(graph, u))  # 5, of all neighbours: deg_cap is not asked
        draws += 1
        new = neighbours(graph, u)[which]
        front[slot] = new  # 6
        sample.add(new if include == "pushed" else u)  # 7
        popped.append(u)
        pushed.append(new)
        states.append({"frontier": list(front), "sample": sorted(sample)})
    steps = len(popped)
    return node_sample(graph, sample, popped, pushed, draws=draws, probes=steps, rounds=steps)


def weight(graph, v, deg_cap):
    if deg_cap is None:
        return degree(graph, v)
    return min(degree(graph, v), deg_cap)


def node_sample(graph, sample, popped, pushed, **counted):
    counts = counters()
    counts["pops"] = len(popped)
    for v in popped:
        counts["popped_degree_sum"] += degree(graph, v)
    for v in pushed:
        counts["added_degree_sum"] += degree(graph, v)
    counts.update(counted)
    return {"nodes": sorted(sample), "popped": popped, "pushed": pushed, "counters": counts}


def counters():
    return {
        "pops": 0,
        "probes": 0,
        "rounds": 0,
        "cleanups": 0,
        "moved": 0,
        "truncated": 0,
        "popped_degree_sum": 0,
        "added_degree_sum": 0,
        "capacity": 0,
        "draws": 0,
    }


def check_frontier(graph, main, probe, m, n, deg_cap, include):
    no_cap = deg_cap is None
    yield "type", "`graph` is no graph", not is_graph(graph)
    yield (
        "type",
        "`main`, `probe`, `m` or `n` is no integer",
        not all(map(is_integer, (main, probe, m, n))),
    )
    yield "type", "`deg_cap` is neither null nor an integer", not (no_cap or is_integer(deg_cap))
    yield "value", "an edge (u, v) stands without (v, u)", has_one_way_edge(graph)
    yield "value", "`main` or `probe` is not in [0, 2**64)", not (is_word(main) and is_word(probe))
    yield "value", "not 1 <= `m` <= number of nodes", not 1 <= m <= node_count(graph)
    yield "value", "not `m` <= `n` < 2**31", not m <= n < 2**31
    yield "value", "`deg_cap` is not in [1, 2**31)", not (no_cap or 1 <= deg_cap < 2**31)
    yield (
        "value",
        "`include` is not `pushed` or `popped`: another text, a number or null",
        include not in ("pushed", "popped"),
    )
