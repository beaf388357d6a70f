"""The nodes of a subgraph by a frontier that walks, and the same law by buckets of like weights."""

from choosing import pick_without_replacement
from forms import (
    degree,
    has_one_way_edge,
    is_graph,
    is_integer,
    is_word,
    neighbours,
    node_count,
    node_sample,
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
        v = random_neighbour(graph, u, main, draws)  # 5
        draws += 1
        front[slot] = v  # 6
        sample.add(v if include == "pushed" else u)  # 7
        popped.append(u)
        pushed.append(v)
        states.append({"frontier": list(front), "sample": sorted(sample)})
    steps = len(popped)
    return node_sample(graph, sample, popped, pushed, draws=draws, probes=steps, rounds=steps)


def weight(graph, v, deg_cap):
    if deg_cap is None:
        return degree(graph, v)
    return min(degree(graph, v), deg_cap)


def random_neighbour(graph, u, main, draw):
    which = below(main, draw, degree(graph, u))  # among all of them, whatever deg_cap is
    return neighbours(graph, u)[which]


def bucket(graph, main, probe, m, n, deg_cap, include):
    front = pick_without_replacement(main, 0, node_count(graph), m)
    draws = m
    members = [[] for _ in range(64)]  # of class j: slots of weight 2**j to 2**(j + 1) - 1
    sums = [0] * 64  # of the weights in each class
    for slot in range(m):
        join(members, sums, slot, weight(graph, front[slot], deg_cap))
    drawn = 0  # of `probe`
    tries = 0
    sample = set(front)
    popped = []
    pushed = []
    for _ in range(n - m):
        total = sum(sums)
        if total == 0:  # only isolated nodes are left: stop early
            break
        rest = below(probe, drawn, total)
        drawn += 1
        j = 63  # the heaviest class first
        while rest >= sums[j]:
            rest -= sums[j]
            j -= 1
        bound = 2 ** (j + 1)
        accepted = False
        while not accepted:
            x = below(probe, drawn, len(members[j]) * bound)
            drawn += 1
            tries += 1
            slot = members[j][x // bound]
            accepted = x % bound < weight(graph, front[slot], deg_cap)
        u = front[slot]
        leave(members, sums, slot, weight(graph, u, deg_cap))
        v = random_neighbour(graph, u, main, draws)
        draws += 1
        front[slot] = v
        join(members, sums, slot, weight(graph, v, deg_cap))
        sample.add(v if include == "pushed" else u)
        popped.append(u)
        pushed.append(v)
    steps = len(popped)
    return node_sample(graph, sample, popped, pushed, draws=draws, probes=tries, rounds=steps)


def class_of(w):
    j = 0
    while 2 ** (j + 1) <= w:
        j += 1
    return j


def join(members, sums, slot, w):
    if w > 0:  # a slot of weight 0 is in no class
        members[class_of(w)].append(slot)
        sums[class_of(w)] += w


def leave(members, sums, slot, w):
    group = members[class_of(w)]
    place = group.index(slot)  # a table of places finds it at once
    last = group.pop()
    if last != slot:
        group[place] = last  # the last one takes its place
    sums[class_of(w)] -= w


def check_frontier(graph, main, probe, m, n, deg_cap, include):
    no_cap = deg_cap is None
    whole = is_integer(main) and is_integer(probe) and is_integer(m) and is_integer(n)
    yield "type", "`graph` is no graph", not is_graph(graph)
    yield "type", "`main`, `probe`, `m` or `n` is no integer", not whole
    yield "type", "`deg_cap` is neither null nor an integer", not (no_cap or is_integer(deg_cap))
    yield "value", "an edge (u, v) stands without (v, u)", has_one_way_edge(graph)
    yield "value", "`main` or `probe` is not in [0, 2**64)", not (is_word(main) and is_word(probe))
    yield "value", "not 1 <= `m` <= number of nodes", not 1 <= m <= node_count(graph)
    yield "value", "not `m` <= `n` < 2**31", not m <= n < 2**31
    yield "value", "`deg_cap` is not in [1, 2**31)", not (no_cap or 1 <= deg_cap < 2**31)
    either = include in ("pushed", "popped")
    yield "value", "`include` is not `pushed` or `popped`: other text, a number, null", not either


def check_bucket(graph, main, probe, m, n, deg_cap, include):
    yield from check_frontier(graph, main, probe, m, n, deg_cap, include)
    most = 0
    for v in range(node_count(graph)):
        most = max(most, weight(graph, v, deg_cap))
    wide = m * 2 ** most.bit_length() >= 2**53
    yield "value", "`m` times the power of two above the largest weight is 2**53 or more", wide
