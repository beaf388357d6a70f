"""The nodes of a subgraph by edges, walks and fires; and subgraphs by number."""

from choosing import alias_build, pick_without_replacement
from forms import (
    degree,
    has_one_way_edge,
    is_graph,
    is_integer,
    is_named,
    is_real,
    is_word,
    neighbours,
    node_count,
    node_sample,
)
from frontier_samplers import bucket, check_bucket, check_frontier, frontier
from frontier_samplers_dashboard import check_dashboard, dashboard
from frontier_samplers_pin_tile import check_pin_tile, pin_tile
from streams import below, key, uniform
from structure import induced_subgraph


def edge(graph, main, b, method):
    popped = []
    pushed = []
    draws = 0
    if method == "direct":
        nodes = []
        for v in range(node_count(graph)):
            if degree(graph, v) > 0:
                nodes.append(v)
        for _ in range(b if nodes else 0):
            u = nodes[below(main, draws, len(nodes))]
            v = neighbours(graph, u)[below(main, draws + 1, degree(graph, u))]
            draws += 2
            popped.append(u)
            pushed.append(v)
    else:
        ends, weights = edge_weights(graph)
        table = alias_build(weights) if weights else None
        for _ in range(b if weights else 0):
            i = below(main, draws, len(weights))
            if uniform(main, draws + 1) >= table["prob"][i]:
                i = table["alias"][i]
            draws += 2
            popped.append(ends[i][0])
            pushed.append(ends[i][1])
    return node_sample(graph, {*popped, *pushed}, popped, pushed, draws=draws)


def edge_weights(graph):
    ends = []
    weights = []
    for u in range(node_count(graph)):
        for v in neighbours(graph, u):
            if u <= v:  # each edge once, in the order of `indices`
                ends.append((u, v))
                other = 1.0 / degree(graph, v) if u < v else 0.0  # a loop is one entry
                weights.append(1.0 / degree(graph, u) + other)
    return ends, weights


def random_walk(graph, main, r, h):
    roots = pick_without_replacement(main, 0, node_count(graph), r)  # 8
    return walks(graph, main, roots, [h] * r)


def multiple_walks(graph, main, m, n):
    roots = pick_without_replacement(main, 0, node_count(graph), m)
    steps = []
    for i in range(m):
        longer = 1 if i < (n - m) % m else 0
        steps.append((n - m) // m + longer)
    return walks(graph, main, roots, steps)


def walks(graph, main, roots, steps):
    popped = []
    pushed = []
    draws = len(roots)
    for i in range(len(roots)):  # 10
        u = roots[i]  # 11
        if degree(graph, u) == 0:
            continue  # the walk stays, makes no step and draws nothing
        for _ in range(steps[i]):  # 12
            popped.append(u)
            u = neighbours(graph, u)[below(main, draws, degree(graph, u))]  # 13
            draws += 1
            pushed.append(u)
    return node_sample(graph, {*roots, *pushed}, popped, pushed, draws=draws)


def forest_fire(graph, main, n, p_f):
    n = min(n, node_count(graph))
    unburned = list(range(node_count(graph)))  # its order decides who is drawn
    place = list(range(node_count(graph)))  # of each node in it
    burned = set()
    popped = []
    pushed = []
    draws = 0
    while len(burned) < n:
        start = unburned[below(main, draws, len(unburned))]
        draws += 1
        remove(unburned, place, start)
        burned.add(start)
        queue = [start]
        while queue and len(burned) < n:
            u = queue.pop(0)  # first in, first out
            near = [v for v in neighbours(graph, u) if v not in burned]
            count = 0
            while count < len(near):
                draws += 1
                if uniform(main, draws - 1) >= p_f:
                    break  # the failure is drawn too
                count += 1
            count = min(count, n - len(burned))
            for i in pick_without_replacement(main, draws, len(near), count):
                remove(unburned, place, near[i])
                burned.add(near[i])
                queue.append(near[i])
                popped.append(u)
                pushed.append(near[i])
            draws += count
    return node_sample(graph, burned, popped, pushed, draws=draws)


def remove(nodes, place, v):
    last = nodes.pop()  # the last one takes the place of the one that goes
    if last != v:
        nodes[place[v]] = last
        place[last] = place[v]


def sample_many(graph, sampler, rng, first, count, domain):
    subgraphs = []
    for q in range(first, first + count):  # 4
        main = key([rng, domain, q, 0])
        options = dict(sampler.options)
        if sampler.name in ("frontier", "pin_tile", "dashboard", "bucket"):
            options["probe"] = key([rng, domain, q, 1])
        sample = draw(sampler.name, graph, main, options)  # 5
        nodes = sample["nodes"]
        if sampler.clip is not None:
            nodes = clipped(nodes, sampler.clip, main, sample["counters"]["draws"])
        subgraph = induced_subgraph(graph, nodes)  # 6
        subgraph["counters"] = sample["counters"]
        subgraphs.append(subgraph)
    return subgraphs


def draw(name, graph, main, options):
    """Call the sampler of a name, with its options by their names."""
    if name in ("frontier", "pin_tile", "dashboard"):
        options["states"] = []  # which nobody asks for here
    return SAMPLERS[name](graph, main, **options)


def clipped(nodes, unit, k, c):
    if len(nodes) < unit:
        return nodes
    dropped = pick_without_replacement(k, c, len(nodes), len(nodes) % unit)
    return [v for i, v in enumerate(nodes) if i not in dropped]


SAMPLERS = {
    "frontier": frontier,
    "dashboard": dashboard,
    "pin_tile": pin_tile,
    "bucket": bucket,
    "edge": edge,
    "random_walk": random_walk,
    "multiple_walks": multiple_walks,
    "forest_fire": forest_fire,
}


def check_graph_and_key(graph, main):
    yield "type", "`graph` is no graph", not is_graph(graph)
    yield "type", "`main` is no integer", not is_integer(main)
    yield "value", "an edge (u, v) stands without (v, u)", has_one_way_edge(graph)
    yield "value", "`main` is not in [0, 2**64)", not is_word(main)


def check_edge(graph, main, b, method):
    yield from check_graph_and_key(graph, main)
    yield "type", "`b` is no integer", not is_integer(b)
    yield "value", "not 1 <= `b` < 2**31", not 1 <= b < 2**31
    yield "value", "`method` is not `direct` or `alias`", method not in ("direct", "alias")


def check_random_walk(graph, main, r, h):
    yield from check_graph_and_key(graph, main)
    yield "type", "`r` or `h` is no integer", not (is_integer(r) and is_integer(h))
    yield "value", "not 1 <= `r` <= number of nodes", not 1 <= r <= node_count(graph)
    yield "value", "`h` is negative, or r (h + 1) is 2**31 or more", h < 0 or r * (h + 1) >= 2**31


def check_multiple_walks(graph, main, m, n):
    yield from check_graph_and_key(graph, main)
    yield "type", "`m` or `n` is no integer", not (is_integer(m) and is_integer(n))
    yield "value", "not 1 <= `m` <= number of nodes", not 1 <= m <= node_count(graph)
    yield "value", "not `m` <= `n` < 2**31", not m <= n < 2**31


def check_forest_fire(graph, main, n, p_f):
    yield from check_graph_and_key(graph, main)
    yield "type", "`n` is no integer", not is_integer(n)
    yield "type", "`p_f` is no number", not is_real(p_f)
    yield "value", "not 1 <= `n` < 2**31", not 1 <= n < 2**31
    yield "value", "`p_f` is not in [0, 1]: NaN is not", not 0 <= p_f <= 1


def check_sample_many(graph, sampler, rng, first, count, domain):
    yield "type", "`graph` is no graph", not is_graph(graph)
    yield (
        "type",
        "`sampler` is no Sampler: its name alone is none",
        not is_named(sampler, "Sampler"),
    )
    whole = all(map(is_integer, (rng, first, count, domain)))
    yield "type", "`rng`, `first`, `count` or `domain` is no integer", not whole
    yield "value", "an edge (u, v) stands without (v, u)", has_one_way_edge(graph)
    yield "value", "`rng` is not in [0, 2**64)", not is_word(rng)
    yield "value", "not 0 <= `first` < 2**63", not 0 <= first < 2**63
    yield "value", "not 0 <= `count` < 2**31", not 0 <= count < 2**31
    yield "value", "`domain` is not 0 or 1", domain not in (0, 1)
    refused = refusal(graph, sampler) if count else None
    yield (
        "type",
        "there are subgraphs to draw, and the sampler's own table says type",
        refused == "type",
    )
    yield "value", "the same, and it says value", refused == "value"


def refusal(graph, sampler):
    """The error that the sampler itself answers to its options, or None."""
    checks = {
        "frontier": check_frontier,
        "dashboard": check_dashboard,
        "pin_tile": check_pin_tile,
        "bucket": check_bucket,
        "edge": check_edge,
        "random_walk": check_random_walk,
        "multiple_walks": check_multiple_walks,
        "forest_fire": check_forest_fire,
    }
    keys = {"main": 0}
    if sampler.name in ("frontier", "pin_tile", "dashboard", "bucket"):
        keys["probe"] = 0
    for kind, _, refused in checks[sampler.name](graph, **keys, **sampler.options):
        if refused:
            return kind
    return None
